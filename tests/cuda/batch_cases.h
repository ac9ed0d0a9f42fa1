// Batches of worlds for the tests of the GPU backend, and what they should give: plain loops over the
// kernel's step and step_vjp, one world at a time in double precision, every state kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "costate/core/vec.h"
#include "costate/ode/lanes/fixed_step.h"
#include "costate/ode/lanes/problems/lorenz.h"
#include "costate/ode/lanes/problems/pendulum.h"
#include "costate/ode/lanes/velocity_verlet.h"

namespace costate::test {

using LorenzKernel = ode::FixedStep<ode::Lorenz, ode::Rk4>;
using PendulumKernel = ode::FixedStep<ode::Pendulum, ode::Verlet>;

// Arrays lie as [index][world], controls as [knot][index][world].
template <class Real>
struct BatchCase {
  std::int64_t worlds;
  int steps, hold;
  std::vector<Real> x0, controls, parameters;

  int knots() const { return (steps + hold - 1) / hold; }
};

// A number drawn uniformly from [low, high] for every world.
struct Interval {
  double low, high;
};

template <class Real>
std::vector<Real> rows(std::int64_t worlds, const std::vector<Interval>& intervals, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Real> r;
  for (const Interval& i : intervals) {
    std::uniform_real_distribution<double> draw(i.low, i.high);
    for (std::int64_t w = 0; w < worlds; ++w) r.push_back(Real(draw(random)));
  }
  return r;
}

// With 200 steps most of a time unit of a chaotic flow, on one wing of the attractor: long enough to bend,
// short enough that rounding errors grow little.
template <class Real>
BatchCase<Real> lorenz_case(std::int64_t worlds, int steps) {
  return {worlds, steps,
          1,      rows<Real>(worlds, {{4, 12}, {4, 12}, {20, 30}}, 1),
          {},     rows<Real>(worlds, {{9, 11}, {20, 30}, {2.5, 2.8}, {0.003, 0.005}}, 2)};
}

template <class Real>
BatchCase<Real> pendulum_case(std::int64_t worlds, int steps, int hold) {
  const int knots = (steps + hold - 1) / hold;
  return {worlds,
          steps,
          hold,
          rows<Real>(worlds, {{-1, 1}, {-1, 1}}, 3),
          rows<Real>(worlds, std::vector<Interval>(std::size_t(knots), {-1, 1}), 4),
          rows<Real>(worlds, {{9, 10}, {0.8, 1.2}, {0.8, 2}, {0.009, 0.011}}, 5)};
}

// End of the rollout, and the gradient of |x_end|^2 / 2.
template <class Real>
struct BatchResult {
  std::vector<Real> x_end, x0_bar, controls_bar, parameters_bar;
};

template <class Kernel, class Real>
BatchResult<double> reference(const BatchCase<Real>& c) {
  constexpr int nx = Kernel::states, nu = Kernel::controls, np = Kernel::parameters;
  const auto at = [&](std::int64_t i, std::int64_t w) { return std::size_t(i * c.worlds + w); };
  BatchResult<double> r;
  r.x_end.resize(c.x0.size());
  r.x0_bar.resize(c.x0.size());
  r.controls_bar.resize(c.controls.size());
  r.parameters_bar.resize(c.parameters.size());
  std::vector<Vec<double, nx>> x(std::size_t(c.steps) + 1);
  for (std::int64_t w = 0; w < c.worlds; ++w) {
    Vec<double, np> p, p_bar = Vec<double, np>::zero();
    for (int i = 0; i < np; ++i) p[i] = double(c.parameters[at(i, w)]);
    for (int i = 0; i < nx; ++i) x[0][i] = double(c.x0[at(i, w)]);
    const auto controls = [&](int k) {
      Vec<double, nu> u = Vec<double, nu>::zero();
      for (int i = 0; i < nu; ++i) u[i] = double(c.controls[at(k / c.hold * nu + i, w)]);
      return u;
    };
    for (int k = 0; k < c.steps; ++k)
      x[std::size_t(k) + 1] =
          Kernel::template step<double>(StepContext{k, w, 0}, x[std::size_t(k)], controls(k), p);
    Vec<double, nx> x_bar = x[std::size_t(c.steps)];
    for (int i = 0; i < nx; ++i) r.x_end[at(i, w)] = x_bar[i];
    for (int k = c.steps - 1; k >= 0; --k) {
      Vec<double, nu> u_bar = Vec<double, nu>::zero();
      x_bar = Kernel::template step_vjp<double>(StepContext{k, w, 0}, x[std::size_t(k)], controls(k), p,
                                                x_bar, u_bar, p_bar);
      for (int i = 0; i < nu; ++i) r.controls_bar[at(k / c.hold * nu + i, w)] += u_bar[i];
    }
    for (int i = 0; i < nx; ++i) r.x0_bar[at(i, w)] = x_bar[i];
    for (int i = 0; i < np; ++i) r.parameters_bar[at(i, w)] = p_bar[i];
  }
  return r;
}

// The largest error, relative to the number itself or, where it is smaller, to the root mean square of its
// row (the same quantity in all worlds). Infinite where a number is missing or is not finite.
template <class Real>
double worst_error(const std::vector<Real>& got, const std::vector<double>& expected, std::int64_t row) {
  if (got.size() != expected.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t begin = 0; begin < got.size(); begin += std::size_t(row)) {
    double squares = 0;
    for (std::size_t i = begin; i < begin + std::size_t(row); ++i) squares += expected[i] * expected[i];
    const double scale = std::sqrt(squares / double(row));
    for (std::size_t i = begin; i < begin + std::size_t(row); ++i) {
      const double size = std::max(std::abs(expected[i]), scale);
      const double difference = std::abs(double(got[i]) - expected[i]);
      if (!std::isfinite(difference)) return HUGE_VAL;
      if (difference > 0) worst = std::max(worst, difference / size);
    }
  }
  return worst;
}

}  // namespace costate::test
