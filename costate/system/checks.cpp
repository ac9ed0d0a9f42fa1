#include "costate/system/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/core/text.h"

namespace costate::check {
namespace {

template <class Real>
constexpr double gate_of(double for_double, double for_float) {
  return sizeof(Real) == 8 ? for_double : for_float;
}

// f(a, b) for every number of two things with x0, controls and parameters of equal shape.
template <class A, class B, class F>
void for_each_number(A& a, const B& b, const F& f) {
  const auto pair = [&](auto&& x, auto&& y) {
    for (std::size_t i = 0; i < x.size(); ++i) f(x[i], y[i]);
  };
  pair(a.x0, b.x0);
  pair(a.controls, b.controls);
  const std::size_t fields = a.parameters.signature().fields(Role::parameter).size();
  for (std::size_t k = 0; k < fields; ++k) pair(a.parameters.values(k), b.parameters.values(k));
}

// Streams of random numbers that do not overlap: one per kind of array.
enum Stream : std::uint32_t { kX, kU, kP, kW };

template <class Real>
void randomise(std::span<Real> to, std::uint64_t seed, Stream stream, std::uint32_t part = 0) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<Real>(2 * uniform(seed, stream, i, part) - 1);
}

}  // namespace

std::string Result::to_text() const {
  return std::string(skipped    ? "skip  "
                     : passed() ? "pass  "
                                : "FAIL  ") +
         name + ": " + scientific(error) + " (gate " + scientific(gate) + ")" +
         (detail.empty() ? "" : "  " + detail);
}

template <class Real>
Arguments<Real> random_direction(const Rollout<Real>& rollout, const Arguments<Real>& at,
                                 std::uint64_t seed) {
  Arguments<Real> d{std::vector<Real>(at.x0.size()), std::vector<Real>(at.controls.size()),
                    at.parameters.zeros()};
  const auto fill = [&](std::span<Real> to, std::span<const Real> around, Stream stream) {
    randomise(to, seed, stream);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] *= std::max(Real(1), std::abs(around[i]));
  };
  fill(d.x0, at.x0, kX);
  fill(d.controls, at.controls, kU);
  const auto active = rollout.system().signature().match(Role::parameter, rollout.options().active);
  for (std::size_t f = 0; f < active.size(); ++f) {
    if (!active[f]) continue;
    // A parameter moves in proportion to itself: a mass of 1e-3 may not become negative.
    const auto around = at.parameters.values(f);
    randomise(d.parameters.values(f), seed, kP, static_cast<std::uint32_t>(f));
    for (std::size_t i = 0; i < around.size(); ++i)
      d.parameters.values(f)[i] *= around[i] != 0 ? std::abs(around[i]) : Real(1);
  }
  return d;
}

template <class Real>
double inner(const Gradient<Real>& gradient, const Arguments<Real>& direction) {
  double sum = 0;
  for_each_number(gradient, direction, [&](Real g, Real d) { sum += double(g) * double(d); });
  return sum;
}

template <class Real>
Arguments<Real> moved(const Arguments<Real>& at, const Arguments<Real>& direction, double h) {
  Arguments<Real> result = at;
  for_each_number(result, direction,
                  [&](Real& x, Real d) { x = static_cast<Real>(double(x) + h * double(d)); });
  return result;
}

template <class Real>
Result step_dot_product(const System<Real>& system, const Arguments<Real>& at, const Options& options) {
  Result result{"dot product of one step", 0, gate_of<Real>(1e-13, 1e-5), {}};
  RolloutOptions one{.steps = 1, .worlds = 1};
  // A rollout of one step is the step; the system is borrowed for the call.
  Rollout<Real> rollout(std::shared_ptr<const System<Real>>(std::shared_ptr<void>(), &system), one);
  Result inner_result = dot_product(rollout, at, options);
  result.error = inner_result.error;
  return result;
}

template <class Real>
Result dot_product(Rollout<Real>& rollout, const Arguments<Real>& at, const Options& options) {
  Result result{"dot product <Jv, w> = <v, J'w>", 0, gate_of<Real>(1e-13, 1e-5), {}};
  const Signature& signature = rollout.system().signature();
  const std::size_t size = signature.states() * rollout.options().worlds;
  for (int trial = 0; trial < options.directions; ++trial) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(trial);
    const Arguments<Real> v = random_direction(rollout, at, seed);
    std::vector<Real> w(size);
    randomise<Real>(w, seed, kW);
    const Tangent<Real> forward = rollout.jvp(at, v);
    double jv_w = 0, jv2 = 0, w2 = 0;
    for (std::size_t i = 0; i < size; ++i) {
      jv_w += double(forward.final_state_dot[i]) * double(w[i]);
      jv2 += double(forward.final_state_dot[i]) * double(forward.final_state_dot[i]);
      w2 += double(w[i]) * double(w[i]);
    }
    const auto objective = loss::cotangents<Real>(signature, {rollout.options().steps}, {w});
    const Gradient<Real> back = rollout.value_and_gradient(at, *objective);
    const double v_jw = inner(back, v);
    const double scale = std::sqrt(jv2 * w2);
    result.error = std::max(result.error, scale > 0 ? std::abs(jv_w - v_jw) / scale : std::abs(jv_w - v_jw));
  }
  return result;
}

template <class Real>
Result stencil(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
               const Options& options) {
  Result result{"six-point stencil", 0, gate_of<Real>(1e-9, 1e-2), {}};
  const Gradient<Real> gradient = rollout.value_and_gradient(at, objective);
  for (int trial = 0; trial < options.directions; ++trial) {
    const Arguments<Real> d = random_direction(rollout, at, options.seed + static_cast<std::uint64_t>(trial));
    const auto f = [&](int i) { return rollout.value(moved(at, d, i * options.step), objective); };
    const double f1 = f(1) - f(-1), f2 = f(2) - f(-2), f3 = f(3) - f(-3);
    const double difference = (45 * f1 - 9 * f2 + f3) / (60 * options.step);
    const double exact = inner(gradient, d);
    double scale = 0;  // of the terms that make up <g, d>, so that a cancelling direction is no alarm
    for_each_number(gradient, d,
                    [&](Real g, Real x) { scale += double(g) * double(g) * double(x) * double(x); });
    scale = std::max(std::sqrt(scale), std::abs(exact));
    const double error = scale > 0 ? std::abs(difference - exact) / scale : std::abs(difference);
    if (error >= result.error) {
      result.error = error;
      result.detail = "gradient " + scientific(exact) + ", difference " + scientific(difference);
    }
  }
  return result;
}

template <class Real>
Result taylor(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
              const Options& options) {
  // error: distance of the slope from 2.
  Result result{"Taylor remainder, |slope - 2|", 0, 0.05, "the remainders are rounding: a linear objective"};
  result.skipped = true;
  const Gradient<Real> gradient = rollout.value_and_gradient(at, objective);
  for (int trial = 0; trial < options.directions; ++trial) {
    const Arguments<Real> d = random_direction(rollout, at, options.seed + static_cast<std::uint64_t>(trial));
    const double slope1 = inner(gradient, d);
    std::vector<double> x, y;
    double h = options.step;
    for (int i = 0; i < 7; ++i, h /= 2) {
      const double remainder =
          std::abs(rollout.value(moved(at, d, h), objective) - gradient.value - h * slope1);
      const double rounding = 1e3 * std::numeric_limits<Real>::epsilon() * std::abs(gradient.value);
      if (remainder <= rounding) break;  // a (nearly) linear objective: nothing left to measure
      x.push_back(std::log(h));
      y.push_back(std::log(remainder));
    }
    if (x.size() < 4) continue;
    result.skipped = false;
    double mx = 0, my = 0, sxx = 0, sxy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) mx += x[i] / double(x.size()), my += y[i] / double(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      sxx += (x[i] - mx) * (x[i] - mx), sxy += (x[i] - mx) * (y[i] - my);
    const double slope = sxy / sxx;
    if (std::abs(slope - 2) >= result.error) {
      result.error = std::abs(slope - 2);
      result.detail = "slope " + std::to_string(slope);
    }
  }
  return result;
}

template <class Real>
TimeStepChange time_step_change(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                                const Arguments<Real>& at, const Objective<Real>& objective) {
  const Field& dt = system->signature().find(Role::parameter, "dt");
  if (objective.next(0, options.steps) != options.steps) {
    throw Error("the time-step check needs an objective of the final state only");
  }
  // dt itself is left out: it means something else after halving.
  std::vector<std::string> active;
  const auto chosen = system->signature().match(Role::parameter, options.active);
  for (std::size_t f = 0; f < chosen.size(); ++f) {
    const Field& field = system->signature().fields(Role::parameter)[f];
    if (chosen[f] && field.name != dt.name) active.push_back(field.name);
  }
  options.active = active;
  options.spot_check = options.time_step_check = false;
  Rollout<Real> coarse(system, options);
  const Gradient<Real> g1 = coarse.value_and_gradient(at, objective);
  options.steps *= 2;
  options.hold *= 2;
  Arguments<Real> half = at;
  for (Real& value : half.parameters["dt"]) value /= 2;
  Rollout<Real> fine(system, options);
  const Gradient<Real> g2 = fine.value_and_gradient(half, objective);

  double difference = 0, scale = 0;
  for_each_number(g1, Arguments<Real>{g2.x0, g2.controls, g2.parameters}, [&](Real a, Real b) {
    difference += (double(a) - double(b)) * (double(a) - double(b));
    scale += double(b) * double(b);
  });
  return {scale > 0 ? std::sqrt(difference / scale) : std::sqrt(difference),
          std::abs(g1.value - g2.value) / std::max(std::abs(g2.value), 1e-300)};
}

template <class Real>
Result time_step(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                 const Arguments<Real>& at, const Objective<Real>& objective) {
  const TimeStepChange change = time_step_change(std::move(system), std::move(options), at, objective);
  Result result{"gradient at dt against dt/2", change.gradient, 0.05, {}};
  result.detail = "loss changes by " + scientific(change.loss);
  if (!result.passed() && change.loss < 0.5 * result.error) {
    result.detail +=
        ": the gradient is discretisation-dominated; reduce dt, or split steps at contact onset (onset = "
        "split)";
  }
  return result;
}

#define COSTATE_INSTANTIATE(Real)                                                                          \
  template Arguments<Real> random_direction(const Rollout<Real>&, const Arguments<Real>&, std::uint64_t);  \
  template double inner(const Gradient<Real>&, const Arguments<Real>&);                                    \
  template Arguments<Real> moved(const Arguments<Real>&, const Arguments<Real>&, double);                  \
  template Result step_dot_product(const System<Real>&, const Arguments<Real>&, const Options&);           \
  template Result dot_product(Rollout<Real>&, const Arguments<Real>&, const Options&);                     \
  template Result stencil(Rollout<Real>&, const Arguments<Real>&, const Objective<Real>&, const Options&); \
  template Result taylor(Rollout<Real>&, const Arguments<Real>&, const Objective<Real>&, const Options&);  \
  template TimeStepChange time_step_change(std::shared_ptr<const System<Real>>, RolloutOptions,            \
                                           const Arguments<Real>&, const Objective<Real>&);                \
  template Result time_step(std::shared_ptr<const System<Real>>, RolloutOptions, const Arguments<Real>&,   \
                            const Objective<Real>&);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate::check
