// Every material, dropped from the same height onto the same bar.
//
//   mpm_materials docs/images      also draws docs/images/materials_1.svg to materials_4.svg
#include <costate/costate.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "examples/figure.h"

using namespace costate;
using figure::Figure;
using mpm::MaterialKind;

// [drop]
std::vector<double> drop(const mpm::Material& material) {
  mpm::Model model;
  model.dimension = 2;
  model.nodes = {60, 40, 1};
  model.dx = 0.02;
  model.dt = 4e-4;
  model.materials = {material};
  model.walls[2] = {mpm::Contact::coulomb, 3, 0.5};
  model.colliders = {
      {.name = "bar", .shape = mpm::Shape::sphere(0.06), .friction = 0.3, .position = {0.56, 0.17, 0}}};
  mpm::fill(model, mpm::Shape::box(0.16, 0.12), {0.6, 0.42}, 0.01, 0, {0, -1});
  model.actuators = 1;
  if (material.kind == MaterialKind::muscle)
    for (int& a : model.particles.actuator) a = 0;
  Rollout rollout(mpm::system<double>(model), {.steps = 800});
  Arguments<double> at = rollout.arguments();
  at.x0 = mpm::initial_state<double>(model);
  for (std::size_t k = 0; k < at.controls.size(); ++k) at.controls[k] = std::sin(0.03 * double(k));
  std::vector<double> end = rollout.simulate(at).final_state;
  end.resize(std::size_t(2 * mpm::particle_count(model)));
  return end;
}
// [/drop]

int main(int argc, char** argv) {
  const std::vector<mpm::Material> materials = {
      {.name = "liquid", .kind = MaterialKind::liquid, .bulk_modulus = 2e5, .viscosity = 0.5},
      {.name = "fixed corotated", .kind = MaterialKind::fixed_corotated, .E = 2e4},
      {.name = "neo-Hookean", .kind = MaterialKind::neo_hookean, .E = 5e4},
      {.name = "StVK-Hencky", .kind = MaterialKind::stvk_hencky, .E = 1e5},
      {.name = "von Mises", .kind = MaterialKind::von_mises, .E = 4e5, .yield_stress = 2e3},
      {.name = "Drucker-Prager sand",
       .kind = MaterialKind::drucker_prager,
       .density = 1600,
       .E = 4e5,
       .friction_angle = 0.55},
      {.name = "snow", .kind = MaterialKind::snow, .density = 400, .E = 1.4e5, .nu = 0.2, .hardening = 7},
      {.name = "muscle", .kind = MaterialKind::muscle, .E = 3e4, .strength = 1e4},
  };
  const char* colours[] = {figure::kBlue, figure::kGreen, figure::kPink, figure::kOrange};
  Figure pictures[4];
  for (std::size_t m = 0; m < materials.size(); ++m) {
    const std::vector<double> x = drop(materials[m]);
    double left = 1e9, right = -1e9, top = 0;
    std::vector<figure::Point> dots;
    for (std::size_t p = 0; p < x.size(); p += 2) {
      left = std::min(left, x[p]), right = std::max(right, x[p]), top = std::max(top, x[p + 1]);
      dots.push_back({x[p], x[p + 1]});
    }
    std::printf("%-20s ends %.2f m wide and %.2f m high\n", materials[m].name.c_str(), right - left,
                top - 0.06);
    auto& panel = pictures[m / 2].panel(materials[m].name, "");
    panel.y_range(0, 0.6);
    panel.dots(dots, colours[m % 4], "", 1.2);
    std::vector<figure::Point> circle;
    for (int i = 0; i <= 40; ++i)
      circle.push_back(
          {0.56 + 0.06 * std::cos(0.157079632679 * i), 0.17 + 0.06 * std::sin(0.157079632679 * i)});
    panel.line(circle, figure::kGrey);
    panel.line({{0.05, 0.04}, {1.15, 0.04}}, figure::kGrey);
  }
  if (argc > 1)
    for (int i : {0, 1, 2, 3})
      pictures[i].write(std::string(argv[1]) + "/materials_" + std::to_string(i + 1) + ".svg");
  return 0;
}
