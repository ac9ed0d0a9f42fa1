// A cart that keeps an estimate of its own mass while it moves, and notices when it is loaded.
//
//   control_twin
#include <costate/costate.h>

#include <cmath>
#include <cstdio>

#include "costate/control/filter/twin.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"

using namespace costate;

int main() {
  Signature fields;
  fields.state("x", 1, "m").state("v", 1, "m/s").control("force", 1, "N").parameter("mass", 1.0, "kg");
  const auto cart = equations_system<double>(fields, "x_dot = v; v_dot = (force - 0.5*v)/mass", rk4(0.02));

  // [twin]
  // 1. What is measured, how noisy, what is not known, and how fast it may change.
  control::TwinProblem problem;
  problem.system = cart;
  problem.parameters = Parameters<double>(cart->signature());
  problem.measured = {loss::expression<double>(cart->signature(), "x")};
  problem.measurement_noise = {1e-6};  // 1 mm, squared
  problem.process_noise = {1e-10, 0, 0, 1e-8};
  problem.x0 = {0, 0}, problem.P0 = {1e-4, 0, 0, 1e-4};
  problem.tuned = {{.name = "mass", .deviation = 0.2, .drift = 0.02, .lower = 0.1, .upper = 10}};
  control::Twin twin(problem);
  // [/twin]

  // 2. The real cart, 50 times a second. After 4 s it is loaded with another half kilogram.
  Rollout<double> step(cart, {.steps = 1});
  Arguments<double> real = step.arguments();
  real.x0 = {0, 0};
  for (int k = 0; k < 350; ++k) {
    // [stream]
    const double force = 3 * std::sin(0.1 * k) + 2 * std::sin(0.31 * k);
    real.controls = {force};
    real.parameters.set("mass", k < 200 ? 1.0 : 1.5);
    real.x0 = step.simulate(real).final_state;
    const double measured = real.x0[0] + 1e-3 * normal<double>(1, 0, std::uint64_t(k), 0);
    twin.step({force}, {measured});
    // [/stream]
    if (k == 199 || k == 349)
      std::printf("after %d s: %.1f kg, %s 0.1\n", (k + 1) / 50, twin.values()[0],
                  twin.deviations()[0] < 0.1 ? "known to better than" : "not known to");
  }
  return std::fabs(twin.values()[0] - 1.5) < 0.1 ? 0 : 1;
}
