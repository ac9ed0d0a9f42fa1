#include "costate/grid/shallow_water.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using grid::ShallowWaterOptions;
using test::expect_error;

// A bump over an uneven bottom. On walls, velocities start at 0: what lies there is not part of the flow.
template <class Real>
Arguments<Real> bump(const Rollout<Real>& rollout, const ShallowWaterOptions& o) {
  Arguments<Real> a = rollout.arguments();
  const std::int64_t n = o.nx * o.ny;
  for (std::int64_t c = 0; c < n; ++c) {
    const double i = double(c % o.nx), j = double(c / o.nx);
    a.x0[std::size_t(c)] = Real(0.1 * std::sin(0.7 * i + 0.4 * j));
    a.x0[std::size_t(n + c)] = Real(o.periodic_x || i > 0 ? 0.1 * std::cos(0.3 * i - j) : 0);
    a.x0[std::size_t(2 * n + c)] = Real(o.periodic_y || j > 0 ? 0.1 * std::sin(0.2 * i * j) : 0);
    a.parameters["depth"][std::size_t(c)] = Real(1 + 0.3 * std::cos(0.5 * i * j));
  }
  for (std::size_t k = 0; k < a.controls.size(); ++k) a.controls[k] = Real(0.2 * std::cos(0.9 * double(k)));
  return a;
}

template <class Real>
void contract(const ShallowWaterOptions& o) {
  const auto system = grid::shallow_water<Real>(o);
  test::expect_contract<Real>(system,
                              {.states = [&](const auto& rollout, unsigned) { return bump(rollout, o); },
                               .objective = loss::final<Real>(system->signature(), "eta", {}),
                               .steps = 30,
                               .hold = 5,
                               .stencil_step = 3e-4});
}

TEST(ShallowWater, MeetsTheContractBetweenWallsAndAroundTheWorld) {
  contract<double>({.nx = 9, .ny = 7, .drag = 0.3, .rotation = 0.8, .sources = {11, 30}});
  contract<double>({.nx = 8, .ny = 5, .drag = 0.1, .periodic_x = true});
  contract<double>({.nx = 5, .ny = 10, .periodic_y = true});
  contract<double>(
      {.nx = 6, .ny = 6, .rotation = -0.5, .periodic_x = true, .periodic_y = true, .sources = {7}});
  contract<float>({.nx = 19, .ny = 6, .drag = 0.3, .rotation = 0.8, .sources = {11}});
}
TEST(ShallowWater, MeetsTheContractAcrossSlabs) { contract<double>({.nx = 129, .ny = 280}); }

// cos(kx x) cos(ky y) between walls is a mode of the linear scheme, with 2 sin(w dt / 2) = c dt/dx K, K^2 =
// (2 sin(kx dx / 2))^2 + (2 sin(ky dx / 2))^2, c^2 = g depth. Velocities are half a step behind the level:
// eta_m = cos(w (m + 1/2) dt) / cos(w dt / 2) from still water.
TEST(ShallowWater, SmallWavesHaveTheDispersionOfTheScheme) {
  const std::int64_t nx = 16, ny = 12;
  const double dt = 0.08, depth = 1.3, gravity = 9.81, small = 1e-7;
  const int steps = 200;
  const auto system = grid::shallow_water<double>({.nx = nx, .ny = ny, .dt = dt, .depth = depth});
  for (const auto& [m, n] : {std::pair{1, 0}, {0, 1}, {2, 1}, {5, 7}}) {
    const double kx = std::numbers::pi * m / double(nx), ky = std::numbers::pi * n / double(ny);
    const double K = 2 * std::hypot(std::sin(kx / 2), std::sin(ky / 2));
    const double w = 2 / dt * std::asin(std::sqrt(gravity * depth) * dt * K / 2);
    Rollout<double> rollout(system, {.steps = steps});
    Arguments<double> a = rollout.arguments();
    const auto mode = [&](std::int64_t c) {
      return std::cos(kx * (double(c % nx) + 0.5)) * std::cos(ky * (double(c / nx) + 0.5));
    };
    for (std::int64_t c = 0; c < nx * ny; ++c) a.x0[std::size_t(c)] = small * mode(c);
    const auto end = rollout.simulate(a).final_state;
    const double amplitude = std::cos(w * (steps + 0.5) * dt) / std::cos(w * dt / 2);
    for (const std::int64_t c : {0, 17, 100, 191})
      EXPECT_NEAR(end[std::size_t(c)], small * amplitude * mode(c), 2e-4 * small) << m << " " << n;
  }
}

// A standing wave of the box (2 pi/10)(3, 1), 32 x 32 cells, depth 2, steps of 0.02: its frequency and the
// derivatives with respect to depth and gravity, by the phase after 50 steps.
TEST(ShallowWater, FrequencyAndItsDerivativesAreThoseOfTheScheme) {
  const std::int64_t n = 32, steps = 50;
  const double dx = 10.0 / double(n), dt = 0.02, small = 1e-9;
  const double omega = 8.696537142840915, by_depth = 2.179631892633020, by_gravity = by_depth * 2 / 9.81;
  const auto system = grid::shallow_water<double>(
      {.nx = n, .ny = n, .dx = dx, .dt = dt, .depth = 2.0, .periodic_x = true, .periodic_y = true});
  Rollout<double> rollout(system, {.steps = steps});
  Arguments<double> at = rollout.arguments();
  std::vector<double> weights(at.x0.size(), 0.0);
  const double k = 2 * std::numbers::pi / 10;
  for (std::int64_t c = 0; c < n * n; ++c) {
    const double wave = std::cos(3 * k * dx * double(c % n) + k * dx * double(c / n));
    at.x0[std::size_t(c)] = small * wave;
    weights[std::size_t(c)] = wave * 2 / (small * double(n * n));
  }
  const auto g =
      rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {steps}, {weights}));
  // cos(w (m + 1/2) dt) / cos(w dt / 2), as above, and its derivative with respect to w.
  const double late = (double(steps) + 0.5) * dt, half = dt / 2;
  const double value = std::cos(omega * late) / std::cos(omega * half),
               slope = value * (half * std::tan(omega * half) - late * std::tan(omega * late));
  EXPECT_NEAR(g.value, value, 1e-7);
  double by_depths = 0;
  for (const double d : g.parameters["depth"]) by_depths += d;
  EXPECT_NEAR(by_depths, slope * by_depth, 1e-6 * std::abs(slope * by_depth));
  EXPECT_NEAR(g.parameters["gravity"][0], slope * by_gravity, 1e-6 * std::abs(slope * by_gravity));
}

// The limit of ever smaller steps, of numbers that were computed with `steps` doubled each time: the error is
// a power series in dt.
double limit(std::vector<double> numbers) {
  for (double halvings = 2; numbers.size() > 1; halvings *= 2) {
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i)
      numbers[i] = (halvings * numbers[i + 1] - numbers[i]) / (halvings - 1);
    numbers.pop_back();
  }
  return numbers[0];
}

// The same wave on a ground that turns, with f = 0.5: omega^2 = (f c)^2 + g H K^2, c the cosine that a mean
// of four faces has, K the wave number of differences. The projection of the flow onto the wave that it
// began as is cos(omega t); its derivatives are those of omega.
TEST(ShallowWater, OnTurningGroundFrequencyAndDerivativesAreThoseOfTheGrid) {
  const std::int64_t n = 32;
  const double dx = 10.0 / double(n), gravity = 9.81, depth = 2, f = 0.5, small = 1e-9, time = 1;
  const double k = 2 * std::numbers::pi / 10, kx = 2 / dx * std::sin(1.5 * k * dx),
               ky = 2 / dx * std::sin(0.5 * k * dx),
               turn = f * std::cos(1.5 * k * dx) * std::cos(0.5 * k * dx),
               omega = std::sqrt(turn * turn + gravity * depth * (kx * kx + ky * ky));
  EXPECT_NEAR(omega, 8.698621883827624, 1e-13);
  const double scale = gravity / (omega * omega - turn * turn);
  std::vector<double> wave, weights;
  double square = 0;
  for (const int field : {0, 1, 2})
    for (std::int64_t c = 0; c < n * n; ++c) {
      const double i = double(c % n) + (field == 1 ? 0 : 0.5), j = double(c / n) + (field == 2 ? 0 : 0.5),
                   phase = k * dx * (3 * i + j);
      const double real = field == 0 ? 1 : scale * omega * (field == 1 ? kx : ky),
                   imaginary = field == 0 ? 0 : scale * turn * (field == 1 ? ky : -kx);
      wave.push_back(real * std::cos(phase) - imaginary * std::sin(phase));
      weights.push_back((field == 0 ? gravity : depth) * wave.back());  // its energy
      square += wave.back() * weights.back();
    }
  for (double& w : weights) w /= small * square;
  std::vector<double> value, by_gravity, by_depth, by_rotation;
  for (std::int64_t steps = 60; steps <= 60 * 32; steps *= 2) {
    const auto system = grid::shallow_water<double>({.nx = n,
                                                     .ny = n,
                                                     .dx = dx,
                                                     .dt = time / double(steps),
                                                     .depth = depth,
                                                     .rotation = f,
                                                     .periodic_x = true,
                                                     .periodic_y = true});
    Rollout<double> rollout(system, {.steps = steps});
    Arguments<double> at = rollout.arguments();
    for (std::size_t i = 0; i < wave.size(); ++i) at.x0[i] = small * wave[i];
    const auto g =
        rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {steps}, {weights}));
    value.push_back(g.value);
    by_gravity.push_back(g.parameters["gravity"][0]);
    by_rotation.push_back(g.parameters["rotation"][0]);
    by_depth.push_back(0);
    for (const double d : g.parameters["depth"]) by_depth.back() += d;
  }
  const double slope = -time * std::sin(omega * time);
  EXPECT_NEAR(limit(value), std::cos(omega * time), 1e-10);
  EXPECT_NEAR(limit(by_gravity) / slope, 0.442026317356584, 1e-9);
  EXPECT_NEAR(limit(by_depth) / slope, 2.168139086634043, 1e-9);
  EXPECT_NEAR(limit(by_rotation) / slope, 0.052131074582908, 1e-9);
}

// Water that moves as one turns in circles, and neither gains nor loses over thousands of steps.
TEST(ShallowWater, InertialCirclesKeepTheirSpeed) {
  const std::int64_t steps = 5000;
  const double dt = 0.02, f = 0.5;
  Rollout<double> rollout(
      grid::shallow_water<double>(
          {.nx = 4, .ny = 4, .dt = dt, .rotation = f, .periodic_x = true, .periodic_y = true}),
      {.steps = steps});
  Arguments<double> at = rollout.arguments();
  std::fill_n(at.x0.begin() + 16, 16, 0.1);
  const auto end = rollout.simulate(at).final_state;
  const double turned = double(steps) * std::atan2(f * dt, 1 - f * f * dt * dt / 2);
  EXPECT_NEAR(end[16], 0.1 * std::cos(turned), 1e-6);
  EXPECT_NEAR(end[32], -0.1 * std::sin(turned), 1e-6);
}

TEST(ShallowWater, StillWaterStaysStillOverAnyBottom) {
  const ShallowWaterOptions o{.nx = 13, .ny = 9};
  const auto system = grid::shallow_water<double>(o);
  Rollout<double> rollout(system, {.steps = 100});
  Arguments<double> a = bump(rollout, o);
  std::fill(a.x0.begin(), a.x0.end(), 0.0);
  std::fill_n(a.x0.begin(), 13 * 9, 0.25);  // a level, whatever it is
  EXPECT_EQ(rollout.simulate(a).final_state, a.x0);
}

TEST(ShallowWater, WallsAndWrappingKeepTheWater) {
  for (const bool wraps : {false, true}) {
    const ShallowWaterOptions o{.nx = 21, .ny = 8, .periodic_x = wraps, .periodic_y = wraps};
    Rollout<double> rollout(grid::shallow_water<double>(o), {.steps = 400});
    const Arguments<double> a = bump(rollout, o);
    const auto end = rollout.simulate(a).final_state;
    double before = 0, after = 0;
    for (std::size_t c = 0; c < 21 * 8; ++c) before += a.x0[c], after += end[c];
    EXPECT_NEAR(after, before, 1e-12);
  }
}

TEST(ShallowWater, NonsenseIsRefused) {
  expect_error([] { return grid::shallow_water<double>({.depth = -1.0}); }, "the depth of cell 0 is -1",
               "it must be positive");
  expect_error([] { return grid::shallow_water<double>({.dt = 0.5}); },
               "the Courant number sqrt(g depth) dt / dx = 1.56605 exceeds 0.707",
               "reduce dt below 0.225762");
  expect_error([] { return grid::shallow_water<double>({.gravity = 0.0}); }, "gravity > 0");
  const auto system = grid::shallow_water<double>({.nx = 4, .ny = 4});
  Rollout<double> rollout(system, {.steps = 3});
  Arguments<double> a = rollout.arguments();
  a.parameters["depth"][5] = 9;
  expect_error([&] { return rollout.simulate(a); }, "the depth of cell 5 is 9", "reduce dt below 0.0752539");
}

}  // namespace
}  // namespace costate
