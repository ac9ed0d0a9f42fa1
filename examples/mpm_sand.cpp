// A column of sand collapses. How far it runs out tells its friction angle: find the angle from the shape of
// the heap.
//
//   mpm_sand
#include <costate/costate.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace costate;

int main() {
  // 1. The scene: a column 0.2 m wide and 0.3 m high on a rough floor, held for an instant and let go.
  mpm::Model model;
  model.dimension = 2;
  model.nodes = {72, 32, 1};
  model.dx = 0.02;
  model.dt = 5e-4;
  model.materials = {{.name = "sand",
                      .kind = mpm::MaterialKind::drucker_prager,
                      .density = 1600,
                      .E = 4e5,
                      .nu = 0.3,
                      .friction_angle = 0.45}};
  model.walls[2] = {mpm::Contact::coulomb, 3, 0.6};
  mpm::fill(model, mpm::Shape::box(0.1, 0.15), {0.7, 0.21}, 0.01, 0);
  const auto system = mpm::system<double>(model);
  Rollout rollout(system,
                  {.steps = 700, .checkpoints = segments(), .active = {"material/sand/friction_angle"}});
  Arguments<double> at = rollout.arguments();
  at.x0 = mpm::initial_state<double>(model);

  // 2. The heap that was seen: friction angle 0.7 rad.
  const auto heap_of = [&](double angle) {
    at.parameters.set("material/sand/friction_angle", angle);
    return rollout.simulate(at).final_state;
  };
  const std::int64_t n = mpm::particle_count(model);
  const auto width = [&](const std::vector<double>& state) {  // root mean square distance from the middle
    double sum = 0;
    for (std::int64_t p = 0; p < n; ++p) sum += std::pow(state[std::size_t(2 * p)] - 0.7, 2) / double(n);
    return std::sqrt(sum);
  };
  std::vector<double> seen = heap_of(0.7);
  std::printf("the heap: friction angle 0.30 spreads to %.2f m, 0.50 to %.2f m, 0.70 to %.2f m\n",
              width(heap_of(0.3)), width(heap_of(0.5)), width(seen));
  seen.resize(std::size_t(2 * n));

  // 3. Descend on the distance between particles.
  const auto error = loss::final<double>(system->signature(), "particle/x", seen, 1e3 / double(n));
  const auto objective = [&](const double* z, double* gradient) {
    at.parameters.set("material/sand/friction_angle", z[0]);
    const auto g = rollout.value_and_gradient(at, *error);
    gradient[0] = g.parameters["material/sand/friction_angle"][0];
    return g.value;
  };
  const auto found = optim::minimize(
      objective, {0.45},
      optim::LbfgsOptions{
          .first_step = 0.05, .stopping = {.max_iterations = 15, .target = 1e-6}, .bounds = {{0.1}, {1.2}}});
  std::printf("friction angle %.2f rad (from 0.45; the truth is 0.70)\n", found.x[0]);
  return std::abs(found.x[0] - 0.7) < 0.03 ? 0 : 1;
}
