// Swing a cart-pole up by differential dynamic programming: bounds on the motor, an end that must be met, and
// feedback gains that keep to the plan when the start is not quite where it should be.
//
//   control_swing_up [replay.html]
#include <costate/costate.h>

#include <cmath>
#include <cstdio>
#include <numbers>

#include "costate/view/replay.h"
#include "examples/contact_task.h"

using namespace costate;

int main(int argc, char** argv) {
  // [plan]
  // 1. The system: the pole hangs (angle pi), the motor pushes with at most 10 N.
  rigid::Model model = rigid::load(COSTATE_SCENES "/cart_pole.xml");
  model.options.contact = false;
  control::Problem problem;
  problem.system = rigid::make_system<double>(model);
  problem.parameters = Parameters<double>(problem.system->signature());
  problem.steps = 200;  // 2 s
  problem.x0 = {0, std::numbers::pi, 0, 0};
  problem.lower = {-1}, problem.upper = {1};

  // 2. Little effort, and at the end the pole stands at rest in the middle of the rail.
  problem.objective = loss::effort<double>(problem.system->signature(), 0.01);
  problem.constraints = control::reach(problem.system->signature(), problem.space, {0, 0, 0, 0});

  // 3. Plan, from a push to and fro.
  std::vector<double> guess;
  for (int k = 0; k < 200; ++k) guess.push_back(0.5 * std::sin(0.07 * k));
  const control::Plan plan =
      control::plan(problem, guess, {.method = control::Method::ddp, .iterations = 500});
  // [/plan]
  std::printf("%s, effort %.3f\n", plan.converged() ? "planned" : plan.reason.c_str(), plan.value);

  // 4. Follow the plan from a start that is 0.05 rad off: with the plan's feedback, and without.
  const control::Plant plant(problem.system, problem.parameters, problem.space);
  auto block = plant.take();
  std::vector<double> followed;
  const auto angle_at_end = [&](bool feedback) {
    std::vector<double> x = problem.x0, y(4), u(1);
    x[1] += 0.05;
    for (std::size_t k = 0; k < 200; ++k) {
      u[0] = plan.u[k];
      for (std::size_t i = 0; feedback && i < 4; ++i) u[0] += plan.K[4 * k + i] * (x[i] - plan.x[4 * k + i]);
      u[0] = std::fmin(1, std::fmax(-1, u[0]));
      plant.step(std::int64_t(k), x.data(), u.data(), y.data(), *block);
      x = y;
      if (feedback && k % 2 == 0) followed.insert(followed.end(), x.begin(), x.end());
    }
    return x[1];
  };
  const double alone = angle_at_end(false), corrected = angle_at_end(true);
  std::printf("started 0.05 rad off: with feedback the pole %s, without it %s\n",
              std::fabs(corrected) < 0.1 ? "stands" : "is not up",
              std::fabs(alone) < 0.1 ? "stands" : "is not up");
  if (argc > 1)
    view::write_replay(
        argv[1], {task::record(model, "Swing-up with feedback", followed, 0.02, {})},
        {.title = "A cart-pole swings up: DDP, then feedback from a start that is 0.05 rad off"});
  return plan.converged() && std::fabs(corrected) < 0.1 ? 0 : 1;
}
