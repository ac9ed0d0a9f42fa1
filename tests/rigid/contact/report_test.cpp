// What a report says of contacts that begin without a cut, or at once.
#include <gtest/gtest.h>

#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/check/checks.h"
#include "costate/system/rollout.h"

namespace costate::rigid {
namespace {

GradientReport report_of(const std::string& world, const SystemOptions& options, std::vector<double> v,
                         std::int64_t steps, const std::string& option = "") {
  const Model model = compile(io::parse_mjcf("<mujoco><option timestep='0.002' " + option + "/><worldbody>" +
                                             world + "</worldbody></mujoco>"));
  const auto system = make_system<double>(model, options);
  Rollout<double> rollout(system, {.steps = steps});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state(model);
  std::copy(v.begin(), v.end(), at.x0.begin() + model.nq);
  return rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {})).report;
}

bool says(const GradientReport& report, const std::string& words) {
  return report.to_text().find(words) != std::string::npos;
}

const char* const kBallOnFloor =
    "<geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 0.11'><freejoint/>"
    "<geom name='ball' type='sphere' size='0.1'/></body>";
const char* const kSpringFloor =
    "<geom name='floor' type='plane' size='1 1 1' solref='-10000 0' solimp='0.9 0.9 0.001'/>"
    "<body pos='0 0 0.11'><freejoint/>"
    "<geom name='ball' type='sphere' size='0.1' solref='-10000 0' solimp='0.9 0.9 0.001'/></body>";
const char* const kDrumOnTable =
    "<geom name='table' type='box' size='1 1 0.1'/><body pos='0 0 0.21'><freejoint/>"
    "<geom name='drum' type='cylinder' size='0.1 0.1'/></body>";

TEST(ContactReport, AnImpactThatIsNotCutMakesTheGradientThatOfTheTimeGrid) {
  const auto none = report_of(kBallOnFloor, {.onset = Onset::none}, {0, 0, -1}, 40);
  EXPECT_EQ(none.label, "time grid") << none.to_text();
  EXPECT_TRUE(says(none, "\"floor\" and \"ball\"") && says(none, "use onset = automatic or split"))
      << none.to_text();
  const auto cut = report_of(kSpringFloor, {}, {0, 0, -1}, 40, "integrator='RK4'");
  EXPECT_EQ(cut.label, "exact") << cut.to_text();
  EXPECT_FALSE(cut.mode_switches.empty());
  // Nothing meets.
  EXPECT_EQ(report_of(kBallOnFloor, {.onset = Onset::none}, {0, 0, 1}, 40).label, "exact");
}

// A ball at 1 m/s crosses the millimetre of the default solimp in half a step, and the force of a damped
// contact ends before its gap opens: parts of a step resolve both, with every integrator.
TEST(ContactReport, AnImpactWhoseForceIsResolvedIsExact) {
  for (const char* integrator : {"integrator='RK4'", "integrator='Euler'", "integrator='implicitfast'"}) {
    const auto r = report_of(kBallOnFloor, {}, {0, 0, -1}, 40, integrator);
    EXPECT_EQ(r.label, "exact") << r.to_text();
    EXPECT_FALSE(r.mode_switches.empty());
  }
}

// Ten feet, one after the other, within a step of 2 ms.
TEST(ContactReport, AStepWithTooManyContactsIsThatOfTheTimeGrid) {
  std::string feet = "<geom type='plane' size='1 1 1'/><body pos='0 0 0.105'><freejoint/>";
  for (int i = 0; i < 10; ++i)
    feet += "<geom type='sphere' size='0.1' pos='" + std::to_string(0.3 * (i - 4.5)) + " 0 " +
            std::to_string(1e-5 * i) + "'/>";
  const auto r = report_of(feet + "</body>", {}, {0, 0, -1}, 8);
  EXPECT_EQ(r.label, "time grid") << r.to_text();
  EXPECT_TRUE(says(r, "8 contacts that begin or end, or 48 parts") && says(r, "take a smaller dt"))
      << r.to_text();
}

// Springs, too: their force does not jump, but a stiff one is over within a few steps.
TEST(ContactReport, SpringsThatBeginAtTheTimeGridAreNamed) {
  const auto none =
      report_of(kBallOnFloor, {.onset = Onset::none, .contact = ContactModel::penalty}, {0, 0, -1}, 40);
  EXPECT_EQ(none.label, "time grid") << none.to_text();
  EXPECT_TRUE(says(none, "\"floor\" and \"ball\"")) << none.to_text();
  EXPECT_EQ(report_of(kBallOnFloor, {.contact = ContactModel::penalty}, {0, 0, -1}, 40).label, "exact");
}

// Robots take MuJoCo's steps, and their gradients say so.
TEST(ContactReport, ModelsWithActuatorsAreLeftToTheTimeGridUnlessSplitIsAskedFor) {
  const std::string hammer =
      "<geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 0.12'><joint name='z' type='slide' "
      "axis='0 0 1'/>"
      "<geom name='head' type='sphere' size='0.1'/></body></worldbody><actuator><motor joint='z'/></actuator>"
      "<worldbody>";
  const auto left = report_of(hammer, {}, {-1}, 40);
  EXPECT_EQ(left.label, "time grid") << left.to_text();
  EXPECT_TRUE(says(left, "\"floor\" and \"head\"") && says(left, "models with actuators") &&
              says(left, "onset = split"))
      << left.to_text();
  const auto cut = report_of(hammer, {.onset = Onset::split}, {-1}, 40, "integrator='RK4'");
  EXPECT_FALSE(cut.mode_switches.empty());
  EXPECT_FALSE(says(cut, "models with actuators")) << cut.to_text();
}

TEST(ContactReport, SlowImpactsDoNotCount) {
  const char* const afloat = "gravity='0 0 0'";
  EXPECT_EQ(report_of(kBallOnFloor, {.onset = Onset::none}, {0, 0, -0.009}, 600, afloat).label, "exact");
  EXPECT_EQ(report_of(kBallOnFloor, {.onset = Onset::none}, {0, 0, -0.011}, 600, afloat).label, "time grid");
}

TEST(ContactReport, NamesTheShapesThatCannotBeFollowed) {
  const auto r = report_of(kDrumOnTable, {}, {0, 0, -1, 0.1, 0.2}, 40);
  EXPECT_EQ(r.label, "time grid") << r.to_text();
  EXPECT_TRUE((says(r, "\"table\" and \"drum\"") || says(r, "\"drum\" and \"table\"")) &&
              says(r, "any shape on a plane"))
      << r.to_text();
}

// The simplest scene of all.
TEST(ContactReport, ATossedBoxIsCutAtItsCornersAndSlowImpactsAreCounted) {
  const std::string floor = "<geom name='floor' type='plane' size='1 1 1'/>",
                    box = "<freejoint/><geom name='box' type='box' size='0.1 0.08 0.06'/></body>";
  const auto cut = report_of(floor + "<body pos='0 0 0.2'>" + box, {}, {0, 0, -1, 2, -1, 3}, 100);
  EXPECT_EQ(cut.label, "exact") << cut.to_text();
  EXPECT_FALSE(cut.mode_switches.empty());
  const auto slow = report_of(floor + "<body pos='0 0 0.061'>" + box, {}, {0, 0, -0.008, 0.002, 0.001, 0},
                              200, "gravity='0 0 0'");
  EXPECT_EQ(slow.label, "time grid") << slow.to_text();
  EXPECT_TRUE(says(slow, "slower than 1 cm/s were not cut") && says(slow, "end the rollout before"))
      << slow.to_text();
}

// A brick that tips over the edge of a post: another pair of faces or edges is nearest, and points appear
// that have not touched before. Reverse mode still is the transpose of forward mode.
TEST(ContactReport, PointsThatComeByALeapAreLeftToTheTimeGrid) {
  const Model model =
      compile(io::parse_mjcf("<mujoco><option integrator='RK4' timestep='0.002'/><worldbody>"
                             "<geom type='box' size='0.1 0.1 0.3' pos='0 0 0.3'/><body><freejoint/>"
                             "<geom type='box' size='0.1 0.08 0.06' mass='1'/></body></worldbody></mujoco>"));
  const auto look = [&]<class Real>(Real gate) {
    const auto system = make_system<Real>(model);
    Rollout<Real> rollout(system, {.steps = 120});
    Arguments<Real> at = rollout.arguments();
    const double x0[] = {0.0035, 0.135,   0.72, 0.1966, -0.775,  0.5385, 0.2655,
                         0.1966, -0.0545, -1,   0.2976, -2.8346, 1.521};
    at.x0.assign(std::begin(x0), std::end(x0));
    const auto objective = loss::final<Real>(system->signature(), "q", {});
    const auto report = rollout.value_and_gradient(at, *objective).report;
    EXPECT_EQ(report.label, "time grid") << report.to_text();
    EXPECT_TRUE(says(report, "with another pair of faces or edges")) << report.to_text();
    const auto dot = check::dot_product(rollout, at, {.directions = 5});
    EXPECT_LT(dot.error, double(gate)) << dot.to_text();
  };
  look(1e-12);
  look(1e-4f);
}

// A box that rolls on a ball: each segment of a checkpointed rollout is looked at from its end to its start.
TEST(ContactReport, SaysTheSameThroughEverySchedule) {
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option timestep='0.002'/><worldbody><geom name='ball' type='sphere' size='2' pos='0 0 -2'/>"
      "<body pos='0 0 0.2'><freejoint/><geom name='box' type='box' size='0.1 0.08 0.06'/></body></worldbody>"
      "</mujoco>"));
  const auto system = make_system<double>(model);
  const auto report = [&](const Checkpoints& checkpoints) {
    Rollout<double> rollout(system, {.steps = 100, .checkpoints = checkpoints});
    Arguments<double> at = rollout.arguments();
    at.x0 = {0, 0, 0.2, 0.9, 0.3, 0.2, 0.1, 0.5, 0.1, -1, 2, -1, 3};
    return rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {})).report;
  };
  const auto all = report(store_all());
  EXPECT_EQ(all.label, "time grid");
  EXPECT_TRUE(says(all, "flat faces or straight sides roll on round bodies (\"box\" on \"ball\")"))
      << all.to_text();
  for (const Checkpoints& checkpoints : {segments(7), binomial(3)}) {
    const auto other = report(checkpoints);
    EXPECT_EQ(other.advice, all.advice) << other.to_text();
    EXPECT_EQ(other.mode_switches, all.mode_switches);
  }
}

TEST(ContactReport, TwoContactsAtOnceAreATie) {
  const std::string two =
      "<geom type='plane' size='1 1 1' solref='-10000 0' solimp='0.9 0.9 0.001'/>"
      "<body pos='0 0 0.11'><freejoint/>"
      "<geom type='sphere' size='0.1' pos='-0.3 0 0' solref='-10000 0' solimp='0.9 0.9 0.001'/>"
      "<geom type='sphere' size='0.1' pos='0.3 0 0' solref='-10000 0' solimp='0.9 0.9 0.001'/></body>";
  const char* const rk4 = "integrator='RK4'";
  EXPECT_EQ(report_of(two, {}, {0, 0, -1}, 20, rk4).label, "tie");
  EXPECT_EQ(report_of(two, {}, {0, 0, -1, 0, 0.1}, 20, rk4).label, "exact");  // one after the other
}

}  // namespace
}  // namespace costate::rigid
