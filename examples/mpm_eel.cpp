// A soft eel learns to swim: a strip of muscle in liquid, upper and lower half in four segments each. Nothing
// pushes off but the wave that runs along it.
//
//   mpm_eel [iterations] [picture.svg]
#include <cstdio>
#include <cstdlib>

#include "examples/creature.h"

using namespace costate;

int main(int argc, char** argv) {
  // [eel]
  creature::Task task{.counted = {0}, .steps = 600, .hold = 6, .period = 0.3, .rate = 0.3};
  mpm::Model& model = task.model;
  model.dimension = 2;
  model.nodes = {60, 34, 1};
  model.dx = 1.0 / 50;
  model.dt = 1.5e-3;
  model.gravity = {0, 0, 0};
  model.materials = {{.name = "eel",
                      .kind = mpm::MaterialKind::muscle,
                      .density = 1000,
                      .E = 5e4,
                      .nu = 0.3,
                      .strength = 4e3,
                      .fibre = {1, 0, 0}},
                     {.name = "liquid",
                      .kind = mpm::MaterialKind::liquid,
                      .density = 1000,
                      .bulk_modulus = 4e4,
                      .viscosity = 0.5}};
  for (mpm::Wall& wall : model.walls) wall.contact = mpm::Contact::slip;
  const double spacing = model.dx / 2, length = 0.36, thickness = 0.08;
  const mpm::Vector centre = {0.8, 0.34, 0};
  for (int part = 0; part < 8; ++part) {
    creature::add_muscle(
        model, {length / 8, thickness / 4, 1},
        {centre[0] + length / 4 * (part / 2 - 1.5), centre[1] + thickness / 2 * (part % 2 - 0.5), 0}, spacing,
        0, part);
  }
  // The pool, less the eel.
  mpm::Model pool = model;
  pool.particles = {};
  mpm::fill(pool, mpm::Shape::box(0.54, 0.28), {0.6, 0.34}, spacing, 1);
  for (std::size_t p = 0; p < pool.particles.x.size(); p += 2) {
    const double x = pool.particles.x[p], y = pool.particles.x[p + 1];
    if (std::abs(x - centre[0]) < length / 2 && std::abs(y - centre[1]) < thickness / 2) continue;
    model.particles.x.insert(model.particles.x.end(), {x, y});
    model.particles.v.insert(model.particles.v.end(), {0, 0});
    model.particles.volume.push_back(spacing * spacing);
    model.particles.material.push_back(1);
    model.particles.actuator.push_back(-1);
  }
  // [/eel]
  task.iterations = argc > 1 ? std::atoi(argv[1]) : 8;
  const creature::Result result = creature::learn(task);
  std::printf(
      "eel, %lld particles, %d muscles: at first it swims %.1f cm in %.1f s, after learning %.1f cm\n",
      static_cast<long long>(mpm::particle_count(model)), model.actuators, 100 * result.first,
      double(task.steps) * model.dt, 100 * result.best);
  if (argc > 2) creature::draw(task, result, argv[2]);
  return result.best > 0.015 && result.best > 3 * result.first ? 0 : 1;
}
