// Problems with known answers, as generic lambdas.
#pragma once

#include <array>
#include <cmath>

#include "costate/ode/fields/lambda_field.h"

namespace costate::ode::test {

inline constexpr auto lotka_volterra = [](auto, auto x, auto p) {
  return std::array{p[0] * x[0] - p[1] * x[0] * x[1], p[3] * x[0] * x[1] - p[2] * x[1]};
};
inline const std::vector<double> kLotkaVolterraParameters = {1.5, 1, 3, 1};

inline constexpr auto lorenz = [](auto, auto x, auto p) {
  return std::array{p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]};
};

inline constexpr auto van_der_pol = [](auto, auto x, auto p) {
  return std::array{1.0 * x[1], p[0] * (1.0 - x[0] * x[0]) * x[1] - x[0]};
};

// (y, v) with p = (b, m, g)
inline constexpr auto quadratic_drag = [](auto, auto x, auto p) {
  return std::array{1.0 * x[1], -p[2] - p[0] / p[1] * x[1] * x[1]};
};

// (height, velocity) with p = (e, g)
inline constexpr auto falling = [](auto t, auto x, auto p) { return std::array{1.0 * x[1], 0.0 * t - p[1]}; };
inline constexpr auto height = [](auto, auto x, auto) { return 1.0 * x[0]; };
inline constexpr auto bounce = [](auto, auto x, auto p) { return std::array{1.0 * x[0], -p[0] * x[1]}; };

// Time enters, and three parameters: a check on every input of a step.
inline constexpr auto driven_pendulum = [](auto t, auto x, auto p) {
  using std::cos, std::sin;
  return std::array{1.0 * x[1], p[2] * cos(p[1] * t) - p[0] * sin(x[0]) - 0.1 * x[1]};
};

}  // namespace costate::ode::test
