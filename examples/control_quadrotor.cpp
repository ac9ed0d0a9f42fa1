// Model predictive control of a quadrotor: it flies to a point, is pushed on the way, and arrives all the
// same.
//
//   control_quadrotor [replay.html]
#include <costate/costate.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "costate/system/program/program_objective.h"
#include "costate/view/replay.h"
#include "examples/contact_task.h"

using namespace costate;

int main(int argc, char** argv) {
  // [mpc]
  // 1. Half a second ahead in 25 steps: near the goal, level, slow, with thrusts near hovering.
  rigid::Model model = rigid::load(COSTATE_SCENES "/quadrotor.xml");
  model.options.contact = false;
  model.options.integrator = rigid::Integrator::euler;  // one evaluation per step, which StepJacobian needs
  model.options.timestep = 0.02;
  control::Problem problem;
  problem.system = rigid::make_system<double>(model, {.onset = rigid::Onset::none});
  problem.parameters = Parameters<double>(problem.system->signature());
  problem.space = control::space_of(model);
  problem.jacobians = control::rigid_jacobians(model, {.onset = rigid::Onset::none}, problem.parameters);
  problem.steps = 25;
  problem.lower = std::vector<double>(4, 0.0), problem.upper = std::vector<double>(4, 5.0);
  const Signature& names = problem.system->signature();
  const char* near =
      "2*((q[0] - 1)^2 + (q[1] + 0.5)^2 + (q[2] - 1.5)^2) + q[4]^2 + q[5]^2 + q[6]^2"
      " + 0.3*(v[0]^2 + v[1]^2 + v[2]^2) + 0.02*(v[3]^2 + v[4]^2 + v[5]^2)";
  const char* thrust =
      "0.01*((ctrl[0] - 1.962)^2 + (ctrl[1] - 1.962)^2 + (ctrl[2] - 1.962)^2 + (ctrl[3] - 1.962)^2)";
  problem.objective = loss::sum<double>({loss::expression<double>(names, near, loss::each_step()),
                                         loss::expression<double>(names, thrust, loss::each_step()),
                                         loss::expression<double>(names, "10*(" + std::string(near) + ")")});

  // 2. A planner that starts from hovering and improves its plan by two iterations per step.
  control::Mpc mpc(problem, std::vector<double>(4, 1.962), {.ddp = {.iterations = 2}});
  // [/mpc]

  // 3. Fly for 4 s; after 1.2 s something hits the frame.
  const control::Plant plant(problem.system, problem.parameters, problem.space);
  auto block = plant.take();
  std::vector<double> x = {0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, y(13), flight;
  double tilt = 0;
  for (int k = 0; k < 200; ++k) {
    mpc.update(x, k == 0 ? 0 : 1);
    const std::vector<double> u = mpc.control(x);
    plant.step(k, x.data(), u.data(), y.data(), *block);
    x = y;
    if (k == 60) x[7] -= 2, x[10] += 4;  // m/s to the left, rad/s about its own x axis
    flight.insert(flight.end(), x.begin(), x.end());
    tilt = std::max(tilt, 2 * std::asin(std::fmin(1, std::hypot(x[4], x[5]))));
  }
  const double miss = std::hypot(x[0] - 1, x[1] + 0.5, x[2] - 1.5);
  std::printf("after 4 s it is %s the goal, having tilted by %s 20 degrees\n",
              miss < 0.02 ? "within 2 cm of" : "away from", tilt > 20 * 0.01745 ? "more than" : "less than");
  if (argc > 1)
    view::write_replay(argv[1], {task::record(model, "Quadrotor under MPC", flight, 0.02, {{1, -0.5, 1.5}})},
                       {.title = "A quadrotor under model predictive control, hit after 1.2 s"});
  return miss < 0.02 ? 0 : 1;
}
