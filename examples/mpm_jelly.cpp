// A jelly learns to jump: a cube of muscle with four vertical strands squats and stretches; the loss is minus
// its height at the end.
//
//   mpm_jelly [iterations] [picture.svg]
#include <cstdio>
#include <cstdlib>

#include "examples/creature.h"

using namespace costate;

int main(int argc, char** argv) {
  // [jelly]
  creature::Task task{.axis = 1, .counted = {0}, .steps = 350, .hold = 5, .period = 0.35, .rate = 0.3};
  mpm::Model& model = task.model;
  model.dimension = 2;
  model.nodes = {50, 40, 1};
  model.dx = 1.0 / 50;
  model.dt = 1e-3;
  model.materials = {{.name = "jelly",
                      .kind = mpm::MaterialKind::muscle,
                      .density = 1000,
                      .E = 3e4,
                      .nu = 0.3,
                      .strength = 1e4}};
  model.walls[2] = {mpm::Contact::coulomb, 3, 0.5};
  for (int strand = 0; strand < 4; ++strand) {
    creature::add_muscle(model, {0.03, 0.1, 1}, {0.41 + 0.06 * strand, 3 * model.dx + 0.1, 0}, model.dx / 2,
                         0, strand);
  }
  // [/jelly]
  task.iterations = argc > 1 ? std::atoi(argv[1]) : 20;
  const creature::Result result = creature::learn(task);
  std::printf(
      "jelly, %lld particles, %d muscles: at first it rises %.1f cm, after learning %.1f cm in %.2f s\n",
      static_cast<long long>(mpm::particle_count(model)), model.actuators, 100 * result.first,
      100 * result.best, double(task.steps) * model.dt);
  if (argc > 2) creature::draw(task, result, argv[2]);
  return result.best > 0.05 ? 0 : 1;
}
