// Swing a cart-pole up: 40 control knots found by L-BFGS on the gradient through 200 steps of simulation.
#include <cmath>
#include <cstdio>
#include <numbers>

#include "costate/io/model/load_model.h"
#include "costate/optim/lbfgs.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"

using namespace costate;

int main() {
  // 1. The pole hangs (angle pi); after 2 s it should stand (0) at rest in the middle of the rail.
  rigid::Model model = rigid::load(COSTATE_SCENES "/cart_pole.xml");
  model.options.contact = false;
  const auto system = rigid::make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 200, .hold = 5, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0, std::numbers::pi, 0, 0};
  const auto objective = loss::sum<double>({loss::final<double>(system->signature(), "q", {0, 0}, 10.0),
                                            loss::final<double>(system->signature(), "v", {0, 0}, 1.0),
                                            loss::effort<double>(system->signature(), 1e-4)});

  // 2. Start from a push to and fro; the motor's range bounds the search.
  std::vector<double> u(at.controls.size());
  for (std::size_t k = 0; k < u.size(); ++k) u[k] = 0.5 * std::sin(0.35 * double(k));
  const optim::Bounds bounds{std::vector<double>(u.size(), -1.0), std::vector<double>(u.size(), 1.0)};
  const auto value = [&](const double* x, double* gradient) {
    at.controls.assign(x, x + u.size());
    const auto g = rollout.value_and_gradient(at, *objective);
    std::copy(g.controls.begin(), g.controls.end(), gradient);
    return g.value;
  };
  const auto result = optim::minimize(value, u,
                                      {.memory = 20,
                                       .first_step = 0.2,
                                       .stopping = {.max_iterations = 400, .gradient_tolerance = 1e-6},
                                       .bounds = bounds});

  // 3. What it does.
  at.controls = result.x;
  const auto end = rollout.simulate(at).final_state;
  const bool up =
      std::abs(end[0]) < 0.05 && std::abs(end[1]) < 0.02 && std::abs(end[2]) < 0.1 && std::abs(end[3]) < 0.1;
  std::printf("after 2 s %s\n", up ? "the pole stands in the middle of the rail" : "the pole is not up");
  return up ? 0 : 1;
}
