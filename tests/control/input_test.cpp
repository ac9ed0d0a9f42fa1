// What nothing can be made of is said before anything is computed: a measurement of more than one state, a
// state of another size, covariances and numbers that are none.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/control/filter/estimation.h"
#include "costate/control/filter/twin.h"
#include "costate/control/identify/identify.h"
#include "costate/control/plan/ddp.h"
#include "costate/control/plan/mpc.h"
#include "costate/control/quadratic/lq.h"
#include "costate/control/quadratic/lqr.h"
#include "costate/core/interrupt.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;

std::shared_ptr<const System<double>> pendulum() {
  Signature fields;
  fields.state("angle").state("rate").control("torque").parameter("damping", 0.1);
  return equations_system<double>(
      fields, "angle_dot = rate; rate_dot = torque - 9.81*sin(angle) - damping*rate", rk4(0.05));
}
ObjectivePtr<double> angle(const std::shared_ptr<const System<double>>& system) {
  return loss::expression<double>(system->signature(), "angle");
}
Problem upright() {
  Problem p;
  p.system = pendulum();
  p.parameters = Parameters<double>(p.system->signature());
  p.steps = 5, p.x0 = {0, 0};
  p.objective = loss::expression<double>(p.system->signature(), "(angle - 3)^2");
  return p;
}
Estimation of_an_angle() {
  Estimation e;
  e.system = pendulum();
  e.parameters = Parameters<double>(e.system->signature());
  e.measured = {angle(e.system)};
  e.process_noise = {1e-4, 0, 0, 1e-4}, e.measurement_noise = {1e-2}, e.x0 = {0, 0}, e.P0 = {1, 0, 0, 1};
  return e;
}
const std::vector<double> kSeen(5, 0.1);

TEST(Input, AMeasurementSeesOneState) {
  Estimation e = of_an_angle();
  e.measured = {loss::expression<double>(e.system->signature(), "torque^2", loss::each_step())};
  expect_error([&] { return filter(e, kSeen); }, "not a loss of the final state",
               "one state and no controls");
  TwinProblem t;
  t.system = e.system, t.parameters = e.parameters, t.measured = e.measured;
  t.process_noise = e.process_noise, t.measurement_noise = {1e-2}, t.x0 = e.x0, t.P0 = e.P0;
  expect_error([&] { return Twin(t).x(); }, "not a loss of the final state", "one state and no controls");
}

TEST(Input, ACovarianceIsSymmetricAndNotNegative) {
  Estimation e = of_an_angle();
  e.P0 = {1, 0.5, 0, 1};
  expect_error([&] { return filter(e, kSeen); }, "P0 is not symmetric", "give a covariance");
  e = of_an_angle();
  e.process_noise[3] = -1;
  expect_error([&] { return filter(e, kSeen); }, "process_noise has the variance", "not negative");
  e = of_an_angle();
  expect_error([&] { return filter(e, {0.1, INFINITY}); }, "a measurement is infinite", "write NaN");
}

TEST(Input, AControllerActsOnAStateOfItsSystem) {
  Mpc mpc(upright(), {0});
  mpc.update({0, 0});
  expect_error([&] { return mpc.control({0}); }, "the state has 1 numbers instead of 2", "");
  expect_error([&] { return mpc.control({0, 0}, -1); }, "ahead is -1", "");
  expect_error([&] { return Mpc(upright(), {0}, {.ddp = {.budget_s = -1}}).late(); }, "budget is negative",
               "0");
}

TEST(Input, APlanIsOfFiniteNumbers) {
  Problem p = upright();
  p.objective = loss::final<double>(p.system->signature(), "angle", {NAN});
  expect_error([&] { return plan(p, {0}); }, "the loss of the trajectory to start from is not finite",
               "logarithm");
  p = upright();
  expect_error(
      [&] {
        return reach(p.system->signature(), p.space, {NAN, 0});
      },
      "the target is not finite", "");
  expect_error([&] { return plan(upright(), {0}, {.iterations = -1}); }, "negative number of iterations", "");
  const std::vector<double> one = {1};
  expect_error([&] { return solve(Regulator{1, 1, {NAN}, one, one, one, {}}); }, "not finite", "");
  expect_error(
      [&] {
        return solve(LinearQuadratic{
            .states = 1, .controls = 1, .steps = 2, .A = one, .B = one, .Q = one, .R = one, .x0 = {NAN}});
      },
      "not finite", "");
}

TEST(Input, AnIdentificationNeedsDeviationsAndNumbers) {
  Identification i;
  i.system = pendulum();
  i.parameters = Parameters<double>(i.system->signature());
  i.measured = {angle(i.system)}, i.sigma = {1};
  i.recordings = {{.y = kSeen, .controls = {}, .x0 = {0, 0}}}, i.unknowns = {{.name = "damping"}};
  Identification wrong = i;
  wrong.sigma = {0};
  expect_error([&] { return identify(wrong); }, "a sigma is 0", "positive");
  wrong = i, wrong.segment = -1;
  expect_error([&] { return identify(wrong); }, "segment is negative", "0 for no pieces");
  wrong = i, wrong.robust = Robust::huber, wrong.robust_width = -1;
  expect_error([&] { return identify(wrong); }, "robust_width is -1", "positive");
  wrong = i, wrong.recordings[0].y.assign(5, NAN);
  expect_error([&] { return identify(wrong); }, "nothing was measured", "give measurements");
}

// Ctrl-C reaches each of them between steps or iterations.
TEST(Input, LongWorkCanBeInterrupted) {
  struct Interrupted {};
  static int calls;
  const auto interrupts = [](const auto& work) {
    calls = 0;
    set_interrupt_test([] {
      if (++calls > 2) throw Interrupted{};
    });
    EXPECT_THROW(work(), Interrupted);
    set_interrupt_test(nullptr);
  };
  const Estimation e = of_an_angle();
  interrupts([&] { return filter(e, kSeen); });
  interrupts([&] { return likelihood_gradient(e, {0.1, 0.1}); });  // two steps there, and two back
  interrupts([&] { return plan(upright(), {0}, {.gradient_tolerance = 0}); });
  Identification i;
  i.system = pendulum();
  i.parameters = Parameters<double>(i.system->signature());
  i.measured = {angle(i.system)}, i.sigma = {1};
  i.recordings = {{.y = kSeen, .controls = {}, .x0 = {0.1, 0}}}, i.unknowns = {{.name = "damping"}};
  interrupts([&] { return identify(i); });
}

}  // namespace
}  // namespace costate::control
