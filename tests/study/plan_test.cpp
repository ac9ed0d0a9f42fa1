#include "costate/study/plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/io/scene/load_study.h"
#include "tests/expect_error.h"

namespace costate::study {
namespace {

using costate::test::expect_error;

const std::string kScenes = COSTATE_SOURCE "/scenes/";

TEST(Plan, SwingsUpBetterThanFortyHeldPushes) {
  const auto study = io::load_study(kScenes + "swing_up.toml");
  const Planned planned = plan(*study, {.iterations = 60});
  EXPECT_LT(planned.plan.value, 0.05 * planned.start_value);
  ASSERT_EQ(planned.plan.u.size(), 200u);
  EXPECT_EQ(planned.controls, std::vector<std::string>{"ctrl"});
  for (const double u : planned.plan.u) EXPECT_LE(std::fabs(u), 1);  // the motor's range
  // The study that comes out is the plan.
  EXPECT_NEAR(planned.study->value({}), planned.plan.value, 1e-10);
}

TEST(Plan, SaysWhatItCannotPlan) {
  const auto equations = io::load_study(COSTATE_SOURCE "/examples/soft_landing.toml");
  expect_error([&] { return plan(*equations, {}).start_value; }, "in steps of equal length",
               "costate optimize");
  const auto arm = io::load_study(kScenes + "swing_up.toml");
  arm->choose({});
  expect_error([&] { return plan(*arm, {}).start_value; }, "no control is among the variables",
               "variables = [\"controls.NAME\"]");
}

}  // namespace
}  // namespace costate::study
