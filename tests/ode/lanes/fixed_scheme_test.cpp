#include "costate/ode/lanes/fixed_scheme.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/ode/fields/lambda_field.h"
#include "costate/ode/solve.h"
#include "costate/system/program/program_system.h"
#include "costate/system/rollout.h"

namespace costate::ode {
namespace {

// x' = y cos t, y' = -a sin x, as text and as a lambda.
const auto field = make_field<2, 1>([](auto t, auto x, auto p) {
  using std::cos, std::sin;
  return std::array{x[1] * cos(t), -p[0] * sin(x[0])};
});

TEST(FixedScheme, StepsAreThoseOfTheSolver) {
  for (const std::string& method : fixed_scheme_names()) {
    Signature s;
    s.state("x").state("y").parameter("a", 1.3);
    const auto system =
        equations_system<double>(s, "x_dot = y*cos(t); y_dot = -a*sin(x)", fixed_scheme(method, 0.1), 1);
    Rollout<double> rollout(system, {.steps = 20});
    Arguments<double> start = rollout.arguments();
    start.x0 = {0.4, -0.2};
    const std::vector<double> x = rollout.simulate(start).final_state;
    const Solution solution = solve(field, {0, 2}, {0.4, -0.2}, {1.3}, {.method = method, .dt = 0.1});
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(x[i], solution.final_state()[i], 1e-14) << method;
  }
}

TEST(FixedScheme, AnUnknownMethodIsAnErrorThatNamesTheOthers) {
  try {
    fixed_scheme("radau5", 0.1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("dopri5"), std::string::npos);
  }
}

}  // namespace
}  // namespace costate::ode
