// A motion with two parameters and two piecewise controls, that every part of a loss sees; for
// controls_test.cpp.
#pragma once

#include <cmath>
#include <functional>
#include <random>

#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/fields/lambda_field.h"
#include "costate/ode/solve.h"

namespace costate::ode::test {

struct Inputs {
  double t0 = 0, t1 = 0;
  std::vector<double> y0, p, u;
};

inline Inputs moved(Inputs at, const Inputs& d, double e) {
  at.t0 += e * d.t0;
  at.t1 += e * d.t1;
  for (std::size_t i = 0; i < at.y0.size(); ++i) at.y0[i] += e * d.y0[i];
  for (std::size_t i = 0; i < at.p.size(); ++i) at.p[i] += e * d.p[i];
  for (std::size_t i = 0; i < at.u.size(); ++i) at.u[i] += e * d.u[i];
  return at;
}

inline double stencil(const std::function<double(double)>& f, double step = 1e-3) {
  return (45 * (f(step) - f(-step)) - 9 * (f(2 * step) - f(-2 * step)) + (f(3 * step) - f(-3 * step))) /
         (60 * step);
}

// A cost of the states and controls at samples, to see that samples meet the controls of their time.
class ControlledSample final : public SampleCost {
 public:
  explicit ControlledSample(std::vector<double> times) : times_(std::move(times)) {}
  const std::vector<double>& times() const override { return times_; }
  double value(std::size_t k, const double* x, const double* p) const override {
    return 0.5 * x[0] * x[0] * p[2] + x[1] * p[0] * double(k + 1);
  }
  void gradient(std::size_t k, const double* x, const double* p, double* x_bar,
                double* p_bar) const override {
    x_bar[0] += x[0] * p[2];
    x_bar[1] += p[0] * double(k + 1);
    p_bar[2] += 0.5 * x[0] * x[0];
    p_bar[0] += x[1] * double(k + 1);
  }
  void gradient_jvp(std::size_t k, const double* x, const double* p, const double* x_dot, const double* p_dot,
                    double* x_bar_dot, double* p_bar_dot) const override {
    const double zero[4] = {};
    if (!p_dot) p_dot = zero;
    if (!x_dot) x_dot = zero;
    x_bar_dot[0] += x_dot[0] * p[2] + x[0] * p_dot[2];
    x_bar_dot[1] += p_dot[0] * double(k + 1);
    p_bar_dot[2] += x[0] * x_dot[0];
    p_bar_dot[0] += x_dot[1] * double(k + 1);
  }

 private:
  std::vector<double> times_;
};

// |<J v, w> - <v, J' w>| / (|J v| |w|) for random v and w.
inline double dot_product_error(const Solution& s, const std::vector<double>& times, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> draw;
  const auto fill = [&](std::size_t n) {
    std::vector<double> v(n);
    for (double& e : v) e = draw(generator);
    return v;
  };
  const auto inner = [](std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  const ParameterRows& rows = s.trajectory().parameters;
  InputTangent v{.y0 = fill(2), .p = fill(rows.parameters()), .controls = fill(rows.control_values())};
  v.t0 = draw(generator);
  v.t1 = draw(generator);
  OutputCotangents w{.final = fill(2),
                     .integral = s.trajectory().quadrature ? draw(generator) : 0.0,
                     .end_time = draw(generator),
                     .sample_times = times,
                     .samples = fill(2 * times.size()),
                     .event_times = fill(s.events.size())};
  const OutputTangent jv = sensitivities(s, {v}, times)[0];
  const Gradient g = gradient(s, w);
  const double left = inner(jv.final, w.final) + jv.integral * w.integral + jv.end_time * w.end_time +
                      inner(jv.samples, w.samples) + inner(jv.event_times, w.event_times);
  const double right = inner(g.x0, v.y0) + inner(g.parameters["p"], v.p) + inner(g.controls, v.controls) +
                       g.t0 * v.t0 + g.t1 * v.t1;
  const double size_jv = inner(jv.final, jv.final) + jv.integral * jv.integral + jv.end_time * jv.end_time +
                         inner(jv.samples, jv.samples) + inner(jv.event_times, jv.event_times);
  const double size_w = inner(w.final, w.final) + w.integral * w.integral + w.end_time * w.end_time +
                        inner(w.samples, w.samples) + inner(w.event_times, w.event_times);
  return std::abs(left - right) / std::sqrt(size_jv * size_w);
}

// (q, v) with parameters (p0, p1, u0, u1): q'' = -p0 sin q + u0 cos(p1 t) + u1^2 q / 4.
class ControlledProblem {
 public:
  ControlledProblem(const std::string& method, Controls::Interpolation interpolation, bool backwards)
      : method_(method),
        interpolation_(interpolation),
        backwards_(backwards),
        second_order_(method == "verlet" || method == "yoshida4") {}

  // Forty steps, which fill each of the intervals.
  Inputs inputs() const {
    Inputs in{.t0 = 0.2,
              .t1 = 2.2,
              .y0 = {1.1, -0.4},
              .p = {1.3, 0.9},
              .u = {0.4, 0.5, -0.6, 0.9, 1.1, -0.2, 0.3, 0.8}};
    if (interpolation_ == Controls::Interpolation::linear) in.u.insert(in.u.end(), {-0.5, 0.6});
    if (backwards_) std::swap(in.t0, in.t1);
    return in;
  }
  Inputs direction() const {
    Inputs d{.t0 = 0.2,
             .t1 = -0.3,
             .y0 = {0.3, -0.4},
             .p = {0.5, 0.2},
             .u = {0.3, -0.1, 0.2, 0.5, -0.4, 0.1, 0.7, -0.2, 0.6, 0.3}};
    d.u.resize(inputs().u.size());
    return d;
  }
  Options options(const Inputs& in) const {
    return {.method = method_,
            .rtol = 1e-13,
            .atol = {1e-13},
            .dt = std::abs(in.t1 - in.t0) / 40,
            .running = second_order_ ? nullptr : running_,
            .controls = {.values = in.u, .fractions = {0.2, 0.5, 0.6}, .interpolation = interpolation_}};
  }
  Solution run(const Inputs& in, const Options& options) const {
    return solve(*field_, {in.t0, in.t1}, in.y0, in.p, options);
  }
  Solution run(const Inputs& in) const { return run(in, options(in)); }
  Loss loss() const {
    const std::vector<double> times = {0.33, 0.713, 0.732, 1.92};
    return {.final = final_,
            .integral_weight = 0.5,
            .samples = std::make_shared<ControlledSample>(
                backwards_ ? std::vector<double>(times.rbegin(), times.rend()) : times)};
  }

 private:
  static constexpr auto f = [](auto t, auto x, auto p) {
    using std::cos, std::sin;
    return std::array{1.0 * x[1], p[2] * cos(p[1] * t) - p[0] * sin(x[0]) + 0.25 * p[3] * p[3] * x[0]};
  };

  std::string method_;
  Controls::Interpolation interpolation_;
  bool backwards_, second_order_;
  std::shared_ptr<const VectorField> field_ =
      std::make_shared<decltype(make_field<2, 4>(f))>(make_field<2, 4>(f));
  std::shared_ptr<const Function> running_ = make_function<2, 4>(
      [](auto t, auto x, auto p) { return x[0] * x[0] * p[0] + t * x[1] * p[3] + 0.5 * p[2] * p[2]; });
  std::shared_ptr<const Function> final_ = make_function<2, 4>(
      [](auto t, auto x, auto p) { return x[0] * x[1] + p[2] * x[0] + 0.3 * t * x[1] + p[3] * p[3]; });
};

}  // namespace costate::ode::test
