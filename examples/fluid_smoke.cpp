// Smoke to a target: three plumes rise from three places and are to end where a fourth one does. The
// velocities that the air begins with are found by gradients through 20 steps of a closed box (the example of
// Thuerey et al., Physics-based Deep Learning, 2021, "Differentiable fluid simulations").
//
//   fluid_smoke
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "costate/fluid/flow.h"
#include "costate/optim/adam.h"
#include "costate/system/rollout.h"

using namespace costate;

namespace {

constexpr std::int64_t kNx = 32, kNy = 40, kSteps = 20;

// [plume]
// 1. A closed box, into which smoke flows in a disc around (x, y). Smoke rises, and pulls the air along.
Rollout<double> plume(double x, double y) {
  fluid::FlowOptions options{.cells = {kNx, kNy}, .dt = 1, .viscosity = 0.0};
  options.scheme = fluid::Scheme::semi_lagrangian;
  for (std::size_t side = 0; side < 4; ++side) options.sides[side] = fluid::wall();
  std::vector<double> inflow;
  for (int j = 0; j < kNy; ++j)
    for (int i = 0; i < kNx; ++i) inflow.push_back(std::hypot(i + 0.5 - x, j + 0.5 - y) < 3 ? 1.0 / 3 : 0.0);
  options.scalars = {{.name = "smoke",
                      .diffusivity = 0,
                      .source = inflow,
                      .buoyancy = {0, 1, 0},
                      .carried = fluid::Scalar::Carried::mac_cormack}};
  return {fluid::flow<double>(options), {.steps = kSteps, .active = {}}};
}
// [/plume]

}  // namespace

int main() {
  Rollout<double> aim = plume(16, 5);
  const Signature& fields = aim.system().signature();
  const auto smoke = fields.find(Role::state, "smoke").offset;
  const auto end = aim.simulate(aim.arguments()).final_state;
  const std::vector<double> target(end.begin() + smoke, end.end());
  Rollout<double> plumes[] = {plume(12, 4), plume(13, 6), plume(14, 5)};

  // [descend]
  // 2. Half the squared distance of each plume from the target, and its derivative with respect to all
  //    velocities at the start. Variables are the velocities of the three plumes, one after the other.
  const auto faces = std::size_t(smoke);
  const auto distance = loss::final<double>(fields, "smoke", target);
  const auto objective = [&](const double* speeds, double* gradient) {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      auto at = plumes[k].arguments();
      std::copy_n(speeds + k * faces, faces, at.x0.begin());
      const auto g = plumes[k].value_and_gradient(at, *distance);
      std::copy_n(g.x0.begin(), faces, gradient + k * faces);
      sum += g.value;
    }
    return sum;
  };

  // 3. The book's descent: 80 steps down the gradient, with a rate of 0.001. Then Adam, which suits a loss
  //    with corners better than methods that build on its curvature.
  std::vector<double> speeds(3 * faces, 0.0), gradient(speeds.size());
  double descended = 1e9;
  for (int iteration = 0; iteration < 80; ++iteration) {
    const double sum = objective(speeds.data(), gradient.data());
    if (iteration == 0) std::printf("no wind at the start         %.4f\n", sum);
    descended = std::min(descended, sum);
    for (std::size_t i = 0; i < speeds.size(); ++i) speeds[i] -= 1e-3 * gradient[i];
  }
  const auto found = optim::minimize(objective, std::vector<double>(3 * faces, 0.0),
                                     optim::AdamOptions{.rate = 0.1, .stopping = {.max_iterations = 40}});
  // [/descend]
  std::printf("80 steps down the gradient   %s 170\n", descended < 170 ? "below" : "not below");
  std::printf("40 iterations of Adam        %s 60\n", found.value < 60 ? "below" : "not below");
  return descended < 170 && found.value < 60 ? 0 : 1;
}
