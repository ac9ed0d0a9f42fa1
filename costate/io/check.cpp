#include "costate/io/check.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/io/run.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"

namespace costate::io {
namespace {

constexpr int kDirections = 3;
constexpr double kExactGate = 1e-10;  // two ways to the same derivative
constexpr double kDifferenceGate =
    1e-8;  // against differences of losses; implicit methods are less smooth in their inputs
constexpr double kContinuousGate = 1e-6;  // another discretisation, to its tolerance

double inner(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The larger of two errors. NaN is the largest: std::max would lose it.
void take_worse(double& worst, double error) {
  if (!(error <= worst)) worst = error;
}

class Checker {
 public:
  Checker(const Problem& problem, std::uint64_t seed)
      : problem_(tight(problem)),
        seed_(seed),
        solution_(solve(problem_)),
        gradient_(gradient(problem_, solution_)) {}

  std::vector<CheckResult> run() {
    return {dot_product(),
            stencil(),
            taylor(),
            against("forward", kExactGate),
            against("interpolating", kContinuousGate),
            against("cvodes", kContinuousGate)};
  }

 private:
  static bool implicit(const Problem& problem) {
    return problem.options.method == "rodas5p" || problem.options.method == "radau5";
  }
  // Implicit methods meet the rounding of their linear solves sooner.
  static Problem tight(const Problem& problem) {
    Problem t = problem;
    t.options.rtol = std::min(t.options.rtol, implicit(t) ? 1e-9 : 1e-11);
    for (double& a : t.options.atol) a = std::min(a, implicit(t) ? 1e-10 : 1e-12);
    t.options.max_steps *= 10;
    return t;
  }

  // Uniform in (-1, 1).
  double random() {
    const auto draw = philox4x32<std::uint64_t>({{count_++, 0, 0, 0}}, seed_);
    return 2 * (double(draw.word[0]) + 0.5) / 4294967296.0 - 1;
  }
  std::vector<double> random_like(const std::vector<double>& values) {
    std::vector<double> v;
    for (const double value : values) v.push_back(random() * (value == 0 ? 1.0 : std::abs(value)));
    return v;
  }
  // Algebraic states follow from the others.
  ode::InputTangent random_direction() {
    ode::InputTangent d{.y0 = random_like(problem_.y0),
                        .p = random_like(problem_.p),
                        .controls = random_like(problem_.options.controls.values)};
    for (const int i : problem_.algebraic) d.y0[std::size_t(i)] = 0;
    return d;
  }
  double slope(const ode::InputTangent& d) const {
    return inner(gradient_.x0, d.y0) + inner(gradient_.parameters["p"], d.p) +
           inner(gradient_.controls, d.controls);
  }
  double scale(
      const ode::InputTangent& d) const {  // |g||d|, term by term: what cancellation is measured against
    double sum = 0;
    for (std::size_t i = 0; i < d.y0.size(); ++i) sum += std::abs(gradient_.x0[i] * d.y0[i]);
    for (std::size_t i = 0; i < d.p.size(); ++i) sum += std::abs(gradient_.parameters["p"][i] * d.p[i]);
    for (std::size_t i = 0; i < d.controls.size(); ++i)
      sum += std::abs(gradient_.controls[i] * d.controls[i]);
    return std::max(sum, 1e-300);
  }
  // NaN where the step leaves the region in which the equations can be solved.
  double loss(const ode::InputTangent& d, double h) const {
    Problem moved = problem_;
    for (std::size_t i = 0; i < moved.y0.size(); ++i) moved.y0[i] += h * d.y0[i];
    for (std::size_t i = 0; i < moved.p.size(); ++i) moved.p[i] += h * d.p[i];
    for (std::size_t i = 0; i < d.controls.size(); ++i) moved.options.controls.values[i] += h * d.controls[i];
    try {
      return ode::evaluate(solve(moved), moved.loss).value;
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::numerics) throw;
      return std::numeric_limits<double>::quiet_NaN();
    }
  }

  CheckResult dot_product() {
    CheckResult result{"dot product", 0, 1e-12, "forward against reverse, random directions"};
    for (int k = 0; k < kDirections; ++k) {
      ode::InputTangent v = random_direction();
      v.t0 = random();
      v.t1 = random();
      ode::OutputCotangents w;
      w.final.resize(problem_.y0.size());
      for (double& e : w.final) e = random();
      w.integral = problem_.options.running ? random() : 0.0;
      for (std::size_t i = 0; i < solution_.events.size(); ++i) w.event_times.push_back(random());
      const ode::OutputTangent jv = ode::sensitivities(solution_, {v})[0];
      const ode::Gradient jw = ode::gradient(solution_, w);
      const double left =
          inner(jv.final, w.final) + jv.integral * w.integral + inner(jv.event_times, w.event_times);
      const double right = inner(jw.x0, v.y0) + inner(jw.parameters["p"], v.p) +
                           inner(jw.controls, v.controls) + jw.t0 * v.t0 + jw.t1 * v.t1;
      const double size = std::sqrt(
          (inner(jv.final, jv.final) + jv.integral * jv.integral + inner(jv.event_times, jv.event_times)) *
          (inner(w.final, w.final) + w.integral * w.integral + inner(w.event_times, w.event_times)));
      take_worse(result.error, std::abs(left - right) / std::max(size, 1e-300));
    }
    return result;
  }

  CheckResult stencil() {
    CheckResult result{"stencil", 0, implicit(problem_) ? 100 * kDifferenceGate : kDifferenceGate,
                       "six-point differences of the loss"};
    for (int k = 0; k < kDirections; ++k) {
      const ode::InputTangent d = random_direction();
      double best = std::numeric_limits<double>::infinity();
      for (const double h : {1e-2, 1e-3, 1e-4, 1e-5}) {  // too long: other branches; too short: rounding
        const double difference = (45 * (loss(d, h) - loss(d, -h)) - 9 * (loss(d, 2 * h) - loss(d, -2 * h)) +
                                   (loss(d, 3 * h) - loss(d, -3 * h))) /
                                  (60 * h);
        const double error = std::abs(difference - slope(d)) / scale(d);
        if (error < best) best = error;
      }
      take_worse(result.error, best);
    }
    return result;
  }

  CheckResult taylor() {
    CheckResult result{"Taylor", 0, 0.1, ""};
    const ode::InputTangent d = random_direction();
    const double start = ode::evaluate(solution_, problem_.loss).value;
    // The remainder falls like h^2 until it meets the error of the solution.
    const double floor = 1e-9 * std::max(std::abs(start), scale(d));
    double before = 0, worst = 0;
    int halvings = 0, points = 0;
    for (int k = 0; k < 10; ++k) {
      const double h = 1e-2 / double(1 << k);
      const double remainder = std::abs(loss(d, h) - start - h * slope(d));
      if (!std::isfinite(remainder)) continue;
      ++points;
      if (remainder < floor) break;
      if (before > 0) {
        worst = std::abs(std::log2(before / remainder) - 2);  // of the shortest step above the floor
        ++halvings;
      }
      before = remainder;
    }
    result.skipped = points == 0;
    result.error = worst;
    result.detail = halvings > 0
                        ? "order of the remainder - 2, after " + std::to_string(halvings) + " halvings"
                        : "the loss is linear to rounding";
    return result;
  }

  CheckResult against(const std::string& adjoint, double gate) {
    CheckResult result{"discrete against " + adjoint, 0, gate, ""};
    try {
      const ode::Gradient other = gradient(problem_, solution_, adjoint);
      take_worse(result.error, difference(gradient_.x0, other.x0));
      take_worse(result.error, difference(gradient_.parameters["p"], other.parameters["p"]));
      take_worse(result.error, difference(gradient_.controls, other.controls));
      result.detail = other.report.estimator;
    } catch (const Error& error) {
      result.skipped = true;
      result.detail = "does not apply: " + error.message().what;
    }
    return result;
  }
  // Largest difference, relative to the largest entry.
  static double difference(std::span<const double> a, std::span<const double> b) {
    double most = 0, size = 1e-300;
    for (std::size_t i = 0; i < a.size(); ++i) {
      take_worse(most, std::abs(a[i] - b[i]));
      size = std::max(size, std::abs(a[i]));
    }
    return most / size;
  }

  Problem problem_;
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
  ode::Solution solution_;
  ode::Gradient gradient_;
};

}  // namespace

std::vector<CheckResult> check(const Problem& problem, std::uint64_t seed) {
  return Checker(problem, seed).run();
}

}  // namespace costate::io
