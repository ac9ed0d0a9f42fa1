// A soft block falls on the floor. From where its particles were at a few instants, find its Young's modulus
// and Poisson's ratio.
//
//   mpm_identify
#include <costate/costate.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace costate;

int main() {
  // 1. The scene: a block of 36 x 24 particles, a quarter of a metre above the floor.
  // [scene]
  mpm::Model model;
  model.dimension = 2;
  model.nodes = {48, 40, 1};
  model.dx = 0.025;
  model.dt = 1e-3;
  model.materials = {
      {.name = "jelly", .kind = mpm::MaterialKind::neo_hookean, .density = 1000, .E = 4000, .nu = 0.2}};
  mpm::fill(model, mpm::Shape::box(0.225, 0.15), {0.6, 0.35}, 0.0125, 0, {0.3, -1});
  const auto system = mpm::system<double>(model);
  Rollout rollout(
      system, {.steps = 400, .checkpoints = segments(), .active = {"material/jelly/E", "material/jelly/nu"}});
  Arguments<double> at = rollout.arguments();
  at.x0 = mpm::initial_state<double>(model);
  // [/scene]

  // 2. What was seen: the same block with E = 9000 Pa, nu = 0.35, every twentieth of a second.
  Arguments<double> truth = at;
  truth.parameters.set("material/jelly/E", 9000.0).set("material/jelly/nu", 0.35);
  Rollout camera(system, {.steps = 400, .keep = 50});
  const auto film = camera.simulate(truth);
  const auto& x = system->signature().find(Role::state, "particle/x");
  const std::size_t states = std::size_t(system->signature().states());
  std::vector<double> seen;
  for (std::size_t i = 0; i < film.kept.size(); ++i)
    seen.insert(seen.end(), film.states.begin() + std::ptrdiff_t(i * states),
                film.states.begin() + std::ptrdiff_t(i * states) + x.size);
  // [fit]
  const auto error =
      loss::track<double>(system->signature(), "particle/x", film.kept, seen, 1e3 / double(seen.size()));

  // 3. Descend in (log E, nu): one backward pass gives both derivatives.
  const auto objective = [&](const double* z, double* gradient) {
    at.parameters.set("material/jelly/E", std::exp(z[0])).set("material/jelly/nu", z[1]);
    const auto g = rollout.value_and_gradient(at, *error);
    gradient[0] = g.parameters["material/jelly/E"][0] * std::exp(z[0]);
    gradient[1] = g.parameters["material/jelly/nu"][0];
    return g.value;
  };
  const auto found = optim::minimize(
      objective, {std::log(4000.0), 0.2},
      optim::LbfgsOptions{.first_step = 0.05,
                          .stopping = {.max_iterations = 40, .gradient_tolerance = 1e-9, .target = 1e-10},
                          .bounds = {{std::log(1000.0), 0.0}, {std::log(50000.0), 0.45}}});
  // [/fit]
  std::printf("E = %.0f Pa, nu = %.3f (from 4000 and 0.200; the truth is 9000 and 0.350)\n",
              std::exp(found.x[0]), found.x[1]);
  return std::abs(std::exp(found.x[0]) - 9000) < 50 && std::abs(found.x[1] - 0.35) < 0.01 ? 0 : 1;
}
