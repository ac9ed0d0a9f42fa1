// Each kind of input by itself, compared with six-point differences: nothing hides behind a larger
// derivative.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "costate/system/check/checks.h"
#include "costate/system/rollout.h"

namespace costate::coupled::test {

struct Inputs {
  std::vector<std::string> states, parameters;
  double step = 1e-6, control_step = 1e-5;
  double rounding = 1e-13;  // of the loss, relative
};

inline void expect_each_by_itself(Rollout<double>& rollout, const Arguments<double>& at,
                                  const Objective<double>& loss, const Inputs& inputs) {
  const auto gradient = rollout.value_and_gradient(at, loss);
  const Arguments<double> all = check::random_direction(rollout, at, 7);
  const auto zero = check::moved(at, at, -1.0);  // of this shape, all zero
  const auto expect = [&](const std::string& what, const Arguments<double>& d, double h) {
    const auto f = [&](int i) { return rollout.value(check::moved(at, d, i * h), loss); };
    const double exact = check::inner(gradient, d),
                 stencil = (45 * (f(1) - f(-1)) - 9 * (f(2) - f(-2)) + (f(3) - f(-3))) / (60 * h);
    EXPECT_NE(exact, 0.0) << what;
    EXPECT_NEAR(stencil, exact, 1e-8 * std::abs(exact) + inputs.rounding * std::abs(gradient.value) / h)
        << what;
  };
  for (const std::string& name : inputs.states) {
    const Field& f = rollout.system().signature().find(Role::state, name);
    Arguments<double> d = zero;
    for (std::int64_t i = f.offset; i < f.offset + f.size; ++i) d.x0[std::size_t(i)] = all.x0[std::size_t(i)];
    expect(name, d, inputs.step);
  }
  Arguments<double> d = zero;
  d.controls = all.controls;
  expect("controls", d, inputs.control_step);
  for (const std::string& name : inputs.parameters) {
    d = zero;
    for (std::size_t i = 0; i < d.parameters[name].size(); ++i)
      d.parameters[name][i] = all.parameters[name][i];
    expect(name, d, inputs.step);
  }
}

}  // namespace costate::coupled::test
