// A soft robot learns to walk: a body on two legs, each leg with a front and a back muscle. The
// two-dimensional task of DiffTaichi's diffmpm (Hu et al., ICLR 2020), from the equations; the controller and
// the descent are those of creature.h.
//
//   mpm_walker [iterations] [picture.svg]
#include <cstdio>
#include <cstdlib>

#include "examples/creature.h"

using namespace costate;

int main(int argc, char** argv) {
  // 1. The robot: a slab of passive jelly on two legs of muscle, each leg split into a front and a back.
  // [robot]
  creature::Task task{.counted = {0, 1}, .steps = 600, .hold = 5, .period = 0.15, .rate = 0.15};
  mpm::Model& model = task.model;
  model.dimension = 2;
  model.nodes = {96, 40, 1};
  model.dx = 1.0 / 64;
  model.dt = 1e-3;
  model.materials = {
      {.name = "body", .kind = mpm::MaterialKind::fixed_corotated, .density = 1000, .E = 2e4, .nu = 0.25},
      {.name = "leg",
       .kind = mpm::MaterialKind::muscle,
       .density = 1000,
       .E = 2e4,
       .nu = 0.25,
       .strength = 4e3}};
  model.walls[2] = {mpm::Contact::coulomb, 3, 0.8};
  const double spacing = model.dx / 2, floor = 3 * model.dx;
  mpm::fill(model, mpm::Shape::box(0.15, 0.04), {0.4, floor + 0.14}, spacing, 0);
  for (int part = 0; part < 4; ++part) {
    const double x = (part < 2 ? 0.275 : 0.475) + (part % 2 == 0 ? 0 : 0.05);
    creature::add_muscle(model, {0.025, 0.05, 1}, {x, floor + 0.05, 0}, spacing, 1, part);
  }
  // [/robot]

  // 2. Learn, and say how far it gets.
  task.iterations = argc > 1 ? std::atoi(argv[1]) : 12;
  const creature::Result result = creature::learn(task);
  std::printf("%lld particles, %d muscles: at first it moves %.1f cm in %.1f s, after learning %.1f cm\n",
              static_cast<long long>(mpm::particle_count(model)), model.actuators, 100 * result.first,
              double(task.steps) * model.dt, 100 * result.best);
  if (argc > 2) creature::draw(task, result, argv[2]);
  return result.best > 0.05 ? 0 : 1;
}
