// Ties of hard contact: the report says where a rounding has chosen between two slopes, and names the geoms;
// it says nothing where every mode is clear. A stack at rest has no ties: each of its boxes carries the next.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/io/model/load_model.h"
#include "costate/rigid/contact/hard_law.h"
#include "tests/rigid/contact/rigid_impacts.h"

namespace costate::rigid {
namespace {

// A block of 1 kg under 1 m/s^2 with mu = 0.5: one step of 0.1 s stops what slides at up to 0.05 m/s.
Model block(const std::string& gravity) {
  return compile(
      io::parse_mjcf("<mujoco><option timestep='0.1' gravity='0 0 " + gravity +
                     "'/><worldbody><geom name='floor' type='plane' size='3 3 0.1' friction='0.5'/>"
                     "<body pos='0 0 0.05'><freejoint/><geom name='block' type='box' "
                     "size='0.1 0.1 0.05' mass='1' friction='0.5'/></body></worldbody></mujoco>"));
}

GradientReport report_of(const Model& model, const std::vector<double>& x0, std::int64_t steps) {
  const auto system = make_system<double>(model, {.contact = ContactModel::hard});
  Rollout<double> rollout(system, {.steps = steps, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = x0;
  return rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {})).report;
}

std::string label_of_sliding(double speed) {
  const Model model = block("-1");
  std::vector<double> x0 = initial_state(model);
  x0[7] = speed;
  return report_of(model, x0, 1).label;
}

TEST(HardTie, BetweenStickingAndSlippingIsSaidAndNothingElseIs) {
  EXPECT_EQ(label_of_sliding(0), "exact");
  EXPECT_EQ(label_of_sliding(0.02), "exact");
  EXPECT_EQ(label_of_sliding(0.05), "tie");
  EXPECT_EQ(label_of_sliding(0.05 + 1e-6), "exact");
  EXPECT_EQ(label_of_sliding(0.1), "exact");
}

TEST(HardTie, BetweenTouchingAndPartingNamesTheGeoms) {
  const Model model = block("0");
  std::vector<double> x0 = initial_state(model);
  x0[7] = 0.05;  // along the floor, which neither presses nor leaves it
  const GradientReport report = report_of(model, x0, 1);
  EXPECT_EQ(report.label, "tie");
  std::string text;
  for (const std::string& line : report.advice) text += line;
  EXPECT_NE(text.find("\"floor\" and \"block\""), std::string::npos) << text;
  EXPECT_NE(text.find("move the start a little"), std::string::npos) << text;
}

// A corner that lies on the floor while three others carry the block is held by them: that is not a tie.
TEST(HardTie, ACornerThatCarriesNothingIsNotOne) {
  HardProblem<double> p;
  const double corner[4][3] = {{1, 1, 1}, {1, -1, 1}, {1, -1, -1}, {1, 1, -1}};
  for (int i = 0; i < 4; ++i) p.add_point(1);
  p.make_room();
  for (int i = 0; i < 4; ++i) {
    p.mu[std::size_t(i)] = 1;
    const double load[3] = {1, 0.6, -0.6};  // outside of the middle: corner 3 is the farthest from it
    for (int k = 0; k < 3; ++k) {
      p.b[std::size_t(i)] -= corner[i][k] * load[k];
      for (int j = 0; j < 4; ++j) p.a(i, j) += corner[i][k] * corner[j][k];
    }
  }
  HardSolver solver;
  EXPECT_LT(solver.solve(p), 1e-12);
  solver.note_ties(p);
  int open = 0;
  for (const auto& at : p.points) {
    open += at.mode == HardMode::open;
    EXPECT_FALSE(at.tied);
  }
  EXPECT_EQ(open, 1);
}

// Four boxes at rest: the same slope whatever a rounding does to the start, and no tie.
TEST(HardTie, ARoundingOfTheStartDecidesNothingInAStackAtRest) {
  const Model model = load(std::string(COSTATE_SCENES) + "/box_stack.xml");
  const auto system = make_system<double>(model, {.contact = ContactModel::hard});
  Rollout<double> rollout(system, {.steps = 20, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state(model);
  const std::vector<double> start = at.x0;
  const auto objective = loss::final<double>(system->signature(), "q", {});
  const Gradient<double> plain = rollout.value_and_gradient(at, *objective);
  EXPECT_EQ(plain.report.label, "exact");
  for (int trial = 1; trial <= 4; ++trial) {
    for (std::size_t i = 0; i < start.size(); ++i)
      at.x0[i] = start[i] * (1 + 2e-16 * trial * std::sin(double(7 * i) + trial));
    const Gradient<double> moved = rollout.value_and_gradient(at, *objective);
    for (std::size_t i = 0; i < start.size(); ++i) EXPECT_NEAR(moved.x0[i], plain.x0[i], 1e-8) << i;
  }
}

// Boxes fall together before the lowest one is stopped: the upper ones are carried within the same step.
TEST(HardTie, AStackAtRestStays) {
  const Model model = load(std::string(COSTATE_SCENES) + "/box_stack.xml");
  const auto system = make_system<double>(model, {.contact = ContactModel::hard});
  Rollout<double> rollout(system, {.steps = 200, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state(model);
  const std::vector<double> end = rollout.simulate(at).final_state;
  for (std::size_t i = 0; i < end.size(); ++i) EXPECT_NEAR(end[i], at.x0[i], 1e-12) << i;
}

}  // namespace
}  // namespace costate::rigid
