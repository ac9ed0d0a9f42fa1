// Plans for what is observed of a robot: sites, the centre of mass, sensors, contact forces.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/control/plan/ddp.h"
#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/observer.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/rollout.h"

namespace costate::control {
namespace {

rigid::Model arm() {
  return rigid::compile(
      io::parse_mjcf(R"(<mujoco><option timestep="0.02" integrator="Euler" gravity="0 0 -9.81"/>
    <worldbody><body name="upper"><joint name="shoulder" axis="0 1 0" damping="0.3"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.4 0 0" mass="1"/>
      <body name="lower" pos="0.4 0 0"><joint name="elbow" axis="0 1 0" damping="0.3"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="0.5"/>
        <site name="tip" pos="0.3 0 0"/></body></body></worldbody>
    <actuator><motor joint="shoulder" gear="8"/><motor joint="elbow" gear="4"/></actuator>
    <sensor><gyro name="spin" site="tip"/><accelerometer name="felt" site="tip"/></sensor></mujoco>)"));
}

struct Asked {
  std::vector<rigid::Quantity> quantities;
  const char* formula;
};

// What is asked for before every step, where a control is known and so are forces, and at the end.
Problem problem_of(const rigid::Model& model, std::int64_t steps, const Asked& each_step,
                   const Asked& at_end) {
  Problem p;
  p.system = rigid::make_system<double>(model);
  p.parameters = Parameters<double>(p.system->signature());
  p.steps = steps, p.x0 = rigid::initial_state(model);
  const auto term = [&](const Asked& asked, const loss::When& when) {
    const rigid::Observer observer(model, p.system->signature(), asked.quantities);
    return observer.objective(loss::expression<double>(observer.signature(), asked.formula, when));
  };
  p.objective = loss::sum<double>({term(each_step, loss::each_step()), term(at_end, loss::at_end())});
  return p;
}

// No control makes the loss smaller: its gradient by the rollout, which knows nothing of planners.
double gradient_of_rollout(const Problem& p, const Plan& plan) {
  Rollout<double> rollout(p.system, {.steps = p.steps, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = p.x0, at.controls = plan.u;
  double largest = 0;
  for (const double g : rollout.value_and_gradient(at, *p.objective).controls)
    largest = std::max(largest, std::abs(g));
  return largest;
}

// With exact second derivatives of what is seen DDP ends like Newton's method; iLQR, without those of the
// steps, creeps to the same.
TEST(Observed, DdpReachesASiteLikeNewtonsMethod) {
  const Problem p =
      problem_of(arm(), 40,
                 {{{"com", "subtree/world"}, {"spin", "sensor/spin"}, {"felt", "sensor/felt"}},
                  "1e-2*(ctrl[0]^2 + ctrl[1]^2) + 1e-3*spin[1]^2 + 1e-5*(felt[0]^2 + felt[2]^2) + "
                  "1e-2*(com[2] - 0.1)^2"},
                 {{{"tip", "site/tip"}, {"speed", "site/tip/velocity"}, {"com", "subtree/world"}},
                  "50*((tip[0] - 0.4)^2 + (tip[2] - 0.3)^2) + 0.5*(speed[0]^2 + speed[2]^2) + com[0]^2"});
  std::vector<double> norms;
  const auto note = [&](const PlanProgress& progress) {
    norms.push_back(progress.gradient_norm);
    return true;
  };
  const Plan found = plan(p, {0, 0}, {.method = Method::ddp, .gradient_tolerance = 1e-10, .callback = note});
  ASSERT_TRUE(found.converged()) << found.reason;
  EXPECT_LT(gradient_of_rollout(p, found), 1e-8);
  ASSERT_GT(norms.size(), 3u);
  EXPECT_LT(found.gradient_norm, 1e-3 * norms.back());  // before the last iteration
  const Plan slow = plan(p, {0, 0}, {.iterations = found.iterations, .gradient_tolerance = 1e-10});
  EXPECT_GT(slow.gradient_norm, 10 * found.gradient_norm);
  EXPECT_NEAR(slow.value, found.value, 1e-3 * found.value);
}

// A ball of 1 kg on the floor is to press with 25 N: the motor has to add 25 N - m g.
TEST(Observed, ABallPressesWithTheForceThatIsAskedFor) {
  const rigid::Model ball =
      rigid::compile(io::parse_mjcf(R"(<mujoco><option timestep="0.005" integrator="Euler"/><worldbody>
        <geom name="floor" type="plane" size="5 5 1"/>
        <body name="ball" pos="0 0 0.0995"><joint name="z" type="slide" axis="0 0 1"/>
          <geom type="sphere" size="0.1" mass="1"/></body></worldbody>
        <actuator><motor joint="z" gear="10"/></actuator></mujoco>)"));
  const Problem p =
      problem_of(ball, 40, {{{"force", "body/ball/contact"}}, "1e-3*(force[2] - 25)^2 + 1e-9*ctrl^2"},
                 {{{"speed", "body/ball/velocity"}}, "0.1*speed[2]^2"});
  const Plan found = plan(p, {0}, {.iterations = 400, .gradient_tolerance = 1e-7});
  EXPECT_LT(gradient_of_rollout(p, found), 1e-6) << found.reason;
  for (std::size_t k = 20; k < 38; ++k) EXPECT_NEAR(10 * found.u[k], 9.81 - 25, 0.05) << k;
}

}  // namespace
}  // namespace costate::control
