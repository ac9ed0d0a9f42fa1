// Balance a cart-pole: a regulator for any System, the gains along a plan, and the derivative of a
// controller's cost with respect to what it was told.
#include <costate/costate.h>

#include <cmath>
#include <cstdio>

using namespace costate;

int main() {
  // [regulator]
  // 1. A step, linearised where the pole stands.
  rigid::Model model = rigid::load(COSTATE_SCENES "/cart_pole.xml");
  model.options.contact = false;
  const auto system = rigid::make_system<double>(model);
  const control::Plant plant(system, Parameters<double>(system->signature()), control::space_of(model));
  const std::vector<double> upright = {0, 0, 0, 0}, rest = {0};
  control::Regulator regulator{.states = 4,
                               .controls = 1,
                               .A = std::vector<double>(16),
                               .B = std::vector<double>(4),
                               .Q = {1, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0.1, 0, 0, 0, 0, 0.1},
                               .R = {1}};
  plant.linearise(0, upright.data(), rest.data(), regulator.A.data(), regulator.B.data(), *plant.take());

  // 2. The feedback u = -K x, and what it costs to start with the pole 0.1 rad off.
  const control::RegulatorSolution found = control::solve(regulator);
  std::printf("u = -(%.3f %.3f %.3f %.3f) x\n", found.K[0], found.K[1], found.K[2], found.K[3]);
  std::printf("cost from 0.1 rad: %.4f\n", 0.5 * 0.01 * found.P[5]);

  // 3. The derivative of that cost with respect to every number of the problem.
  std::vector<double> P_bar(16);
  P_bar[5] = 0.5 * 0.01;
  const control::Regulator bar = control::solve_vjp(regulator, found, P_bar, {});
  std::printf("it changes by %.4f per unit of the price of control\n", bar.R[0]);
  // [/regulator]

  // 4. The real, nonlinear pole under this feedback.
  auto block = plant.take();
  std::vector<double> x = {0, 0.1, 0, 0}, y(4), u(1);
  for (int k = 0; k < 500; ++k) {
    u[0] = 0;
    for (std::size_t i = 0; i < 4; ++i) u[0] -= found.K[i] * x[i];
    plant.step(k, x.data(), u.data(), y.data(), *block);
    x = y;
  }
  const bool up = std::fabs(x[1]) < 1e-3;
  std::printf("after 5 s the pole %s\n", up ? "stands" : "has fallen");
  return up ? 0 : 1;
}
