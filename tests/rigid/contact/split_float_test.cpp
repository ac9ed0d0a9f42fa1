// Cut steps in float: both modes take the parts that the step has taken (split_step_tangent.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "costate/system/check/checks.h"
#include "tests/rigid/contact/tumbling.h"

namespace costate::rigid {
namespace {

struct Case {
  const char* name;
  Integrator integrator;
  SystemOptions options;
};
const Case kCases[] = {
    {"split", Integrator::rk4, {.onset = Onset::split}},
    {"event", Integrator::euler, {.contact = ContactModel::event, .impact = {.restitution = 0.5}}}};

// Where a force has its corner within rounding of a stage, the two modes may take its two sides: in a few of
// 200 states, up to 1e-3 apart.
TEST(SplitInFloat, ReverseModeIsTheTransposeOfForwardModeExceptAtCorners) {
  for (const Case& c : kCases) {
    const Model model = test::over_a_floor(c.integrator);
    Rollout<float> rollout(make_system<float>(model, c.options), {.steps = 1});
    std::vector<double> errors;
    for (unsigned seed = 1; seed <= 200; ++seed) {
      const auto at = test::tumbling(model, rollout, seed);
      errors.push_back(check::dot_product(rollout, at, {.seed = seed, .directions = 2}).error);
    }
    std::sort(errors.begin(), errors.end());
    EXPECT_LT(errors[100], 2e-6) << c.name;
    EXPECT_LT(errors[190], 1e-5) << c.name;
    EXPECT_LT(errors.back(), c.options.contact == ContactModel::event ? 2e-5 : 2e-3) << c.name;
  }
}

// A state in which forward mode took other parts than the step, and was 1e-2 off.
TEST(SplitInFloat, TangentsAreThoseOfTheStepThatWasTaken) {
  const Case& split = kCases[0];
  const Model model = test::over_a_floor(split.integrator);
  Rollout<float> single(make_system<float>(model, split.options), {.steps = 1});
  Rollout<double> twice(make_system<double>(model, split.options), {.steps = 1});
  const auto at = test::tumbling(model, single, 165);
  auto exact = test::tumbling(model, twice, 165);
  exact.x0.assign(at.x0.begin(), at.x0.end());
  for (unsigned direction = 0; direction < 5; ++direction) {
    const auto got = single.jvp(at, check::random_direction(single, at, direction)).final_state_dot;
    const auto truth = twice.jvp(exact, check::random_direction(twice, exact, direction)).final_state_dot;
    double off = 0, size = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      off += (got[i] - truth[i]) * (got[i] - truth[i]);
      size += truth[i] * truth[i];
    }
    EXPECT_LT(std::sqrt(off / size), 3e-3) << direction;
  }
}

}  // namespace
}  // namespace costate::rigid
