#include "costate/study/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "costate/control/plan/collocation.h"
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

// A hanging pole for 0.4 s: one minimum, which both find.
TEST(Plan, CollocationIsThePlanOfDdp) {
  if (!control::has_ipopt()) GTEST_SKIP() << "built without Ipopt (coinor-libipopt-dev)";
  const auto study = io::load_study(kScenes + "swing_up.toml", {.settings = {{"run.duration", "0.4"}}});
  const Planned ddp = plan(*study, {.method = "ddp"}), found = plan(*study, {.method = "collocation"});
  EXPECT_TRUE(found.plan.converged()) << found.plan.reason;
  EXPECT_EQ(found.plan.reason.find("L-BFGS"), std::string::npos);  // angles of joints have second derivatives
  EXPECT_EQ(found.method, "collocation");
  EXPECT_NEAR(found.plan.value, ddp.plan.value, 1e-9);
  for (std::size_t k = 0; k < ddp.plan.u.size(); ++k) EXPECT_NEAR(found.plan.u[k], ddp.plan.u[k], 1e-5) << k;
  EXPECT_NEAR(found.study->value({}), found.plan.value, 1e-8);
}

std::unique_ptr<Study> with_a_plan(const std::string& table) {
  std::ifstream file(kScenes + "swing_up.toml");
  std::stringstream text;
  text << file.rdbuf() << "\n[plan]\n" << table;
  return io::parse_study(text.str(), kScenes + "swing_up.toml", {.settings = {{"run.duration", "1.2"}}});
}

double fastest(const Planned& p) {
  double most = 0;
  for (std::size_t k = 2; k < p.plan.x.size(); k += 4) most = std::max(most, p.plan.x[k]);
  return most;
}

// The cart is to stand 10 cm away, the pole at rest, and must not move faster than 0.15 m/s on the way.
TEST(Plan, EndsWhereTheFileSaysAndKeepsBetweenItsBounds) {
  const std::string end = "end = {\"position.slide\" = 0.1, \"velocity.*\" = 0}\n",
                    slow = "upper = {\"velocity.slide\" = 0.15}\n";
  const Planned free = plan(*with_a_plan(end));
  EXPECT_GT(fastest(free), 0.2);
  for (const std::string method : {"ilqr", "ddp", "collocation"}) {
    if (method == "collocation" && !control::has_ipopt()) continue;
    const Planned found = plan(*with_a_plan("method = \"" + method + "\"\niterations = 400\n" + end + slow));
    EXPECT_EQ(found.method, method);
    EXPECT_TRUE(found.plan.converged()) << method << ": " << found.plan.reason;
    EXPECT_LT(found.plan.violation, 1e-8) << method;
    EXPECT_LT(fastest(found), 0.15 + 1e-8) << method;
    EXPECT_NEAR(found.plan.value, 43.41697288, 1e-6) << method;  // what three ways to solve it agree on
    EXPECT_GT(found.plan.value, free.plan.value);
    const double* const last = found.plan.x.data() + found.plan.x.size() - 4;
    EXPECT_NEAR(last[0], 0.1, 1e-8) << method;
    for (const int i : {2, 3}) EXPECT_NEAR(last[i], 0, 1e-8) << method;
  }
}

TEST(Plan, MistakesInTheFileAreToldAtTheirPlace) {
  expect_error([] { return with_a_plan("end = {\"positon.slide\" = 0}"); },
               "no state is called 'positon.slide'", "did you mean 'position.slide'?");
  expect_error([] { return with_a_plan("method = \"newton\""); }, "newton");
  expect_error([] { return with_a_plan("goal = {}"); }, "goal");
  expect_error([] { return with_a_plan("lower = {\"velocity.*\" = 1}\nupper = {\"velocity.*\" = -1}"); },
               "lies above its upper bound");
  expect_error([] { return plan(*with_a_plan(""), {.method = "newton"}).start_value; },
               "no method of planning is called newton", "ilqr, ddp or collocation");
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
