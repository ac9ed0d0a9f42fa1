// A soft robot on four legs learns to walk in three dimensions: each leg has four muscles, front and back,
// upper and lower. The task of DiffTaichi's diffmpm3d (Hu et al., ICLR 2020), from the equations. With
// "liquid" it carries a block of liquid on its back: DiffTaichi's liquid.
//
//   mpm_walker_3d [walker|liquid] [iterations] [picture.svg]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "examples/creature.h"

using namespace costate;

int main(int argc, char** argv) {
  const bool liquid = argc > 1 && std::string(argv[1]) == "liquid";
  // 1. The robot: three blocks of jelly in a row, and a leg of four muscles at each corner.
  // [robot]
  creature::Task task{.counted = {0, 1}, .steps = 300, .hold = 4, .period = 0.15, .rate = 0.25};
  mpm::Model& model = task.model;
  model.nodes = {44, 24, 24};
  model.dx = 1.0 / 40;
  model.dt = 2e-3;
  model.materials = {
      {.name = "body", .kind = mpm::MaterialKind::neo_hookean, .density = 1000, .E = 2e4, .nu = 0.25},
      {.name = "leg",
       .kind = mpm::MaterialKind::muscle,
       .density = 1000,
       .E = 2e4,
       .nu = 0.25,
       .strength = 4e3}};
  model.walls[2] = {mpm::Contact::coulomb, 3, 1.5};
  const double spacing = model.dx / 2, floor = 3 * model.dx, block = 0.1, height = 0.075;
  for (int i = 0; i < 3; ++i) {
    mpm::fill(model, mpm::Shape::box(block / 2, height / 2, block / 2),
              {0.15 + block * (i + 0.5), floor + height / 2, 0.3}, spacing, 0);
  }
  int actuator = 0;
  for (int leg = 0; leg < 4; ++leg) {
    for (int part = 0; part < 4; ++part) {
      creature::add_muscle(model, {block / 4, height / 4, block / 2},
                           {0.15 + 2 * block * (leg / 2) + block / 2 * (part / 2) + block / 4,
                            floor + height / 2 * (part % 2) + height / 4, 0.2 + 2 * block * (leg % 2)},
                           spacing, 1, actuator++);
    }
  }
  // [/robot]
  if (liquid) {
    // [liquid]
    model.materials.push_back({.name = "liquid",
                               .kind = mpm::MaterialKind::liquid,
                               .density = 1000,
                               .bulk_modulus = 4e4,
                               .viscosity = 1});
    mpm::fill(model, mpm::Shape::box(0.1, 0.025, 0.05), {0.3, floor + height + 0.04, 0.3}, spacing, 2);
    // [/liquid]
  }

  // 2. Learn, and say how far it gets.
  task.iterations = argc > 2 ? std::atoi(argv[2]) : 10;
  const creature::Result result = creature::learn(task);
  std::printf("%s, %lld particles, %d muscles: at first it moves %.1f cm in %.1f s, after learning %.1f cm\n",
              liquid ? "robot with liquid" : "robot", static_cast<long long>(mpm::particle_count(model)),
              model.actuators, 100 * result.first, double(task.steps) * model.dt, 100 * result.best);
  if (argc > 3) creature::draw(task, result, argv[3]);
  return result.best > 0.03 && result.best > 3 * result.first ? 0 : 1;
}
