// Fly a quadrotor through three waypoints: four rotor thrusts over 3 s, found by L-BFGS on the gradient
// through the simulation.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "costate/io/model/load_model.h"
#include "costate/optim/lbfgs.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/rollout.h"

using namespace costate;

int main() {
  // 1. It hovers at 1 m. Position q[0:3], quaternion q[3:7]; waypoints are positions at 1, 2 and 3 s, the
  //    last one at rest.
  rigid::Model model = rigid::load(COSTATE_SCENES "/quadrotor.xml");
  model.options.contact = false;
  const auto system = rigid::make_system<double>(model);
  const Signature& names = system->signature();
  Rollout<double> rollout(system, {.steps = 300, .hold = 10, .keep = 100, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const double waypoints[3][3] = {{0.6, 0.4, 1.5}, {1.2, -0.4, 1.0}, {0, 0, 1.2}};
  std::vector<ObjectivePtr<double>> terms = {loss::final<double>(names, "v", {}, 0.1)};
  for (int i = 0; i < 3; ++i) {
    const double* w = waypoints[i];
    char text[200];
    std::snprintf(text, sizeof text, "5*((q[0] - %g)^2 + (q[1] - %g)^2 + (q[2] - %g)^2)", w[0], w[1], w[2]);
    terms.push_back(loss::expression<double>(names, text, loss::at_steps({100 * (i + 1)})));
  }
  // Thrust that differs from hovering costs a little.
  terms.push_back(
      loss::expression<double>(names,
                               "0.0002*((ctrl[0] - 1.962)^2 + (ctrl[1] - 1.962)^2 + (ctrl[2] - 1.962)^2 + "
                               "(ctrl[3] - 1.962)^2)",
                               loss::each_step()));
  const auto objective = loss::sum<double>(terms);

  // 2. Start from hovering.
  const std::vector<double> hover(at.controls.size(), 1.962);
  const optim::Bounds bounds{std::vector<double>(hover.size(), 0.0), std::vector<double>(hover.size(), 5.0)};
  const auto value = [&](const double* x, double* gradient) {
    at.controls.assign(x, x + hover.size());
    const auto g = rollout.value_and_gradient(at, *objective);
    std::copy(g.controls.begin(), g.controls.end(), gradient);
    return g.value;
  };
  const auto result = optim::minimize(value, hover,
                                      {.memory = 20,
                                       .first_step = 0.05,
                                       .stopping = {.max_iterations = 300, .gradient_tolerance = 1e-5},
                                       .bounds = bounds});

  // 3. How near it came.
  at.controls = result.x;
  const auto flight = rollout.simulate(at);
  double worst = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double *x = flight.states.data() + 13 * (i + 1), *w = waypoints[i];
    const double miss = std::hypot(x[0] - w[0], x[1] - w[1], x[2] - w[2]);
    std::printf("waypoint %zu (%.1f, %.1f, %.1f): %s\n", i + 1, w[0], w[1], w[2],
                miss < 0.03 ? "passed within 3 cm" : "missed");
    worst = std::max(worst, miss);
  }
  return worst < 0.03 ? 0 : 1;
}
