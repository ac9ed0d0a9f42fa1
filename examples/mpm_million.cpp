// A jug pours coffee into a mug, and a gradient says where to move the jug. Any number of particles: two
// thousand on the CPU, a million on a GPU.
//
//   mpm_million                          2,000 particles, 0.2 s, on the CPU
//   mpm_million cuda:0 1000000 1.0       a million, a whole second, on a GPU: docs/cuda.md has its times
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "costate/core/error.h"
#include "costate/mpm/system.h"
#include "costate/system/rollout.h"

using namespace costate;
using mpm::Shape;
using mpm::Vector;

namespace {

const Vector kLip = {0.12, 0.25, 0.075}, kMug = {0.205, 0.0125, 0.075};
constexpr double kPivot[2] = {0.044, 0.125};  // of the lip, in the jug's own axes

// About `particles` of coffee in a jug, eight per cell, and a mug beside it.
mpm::Model pour(double particles) {
  mpm::Model m;
  const double volume = 3.1415926535 * 0.038 * 0.038 * 0.056, spacing = std::cbrt(volume / particles);
  m.dx = 2 * spacing;
  m.nodes = {int(0.29 / m.dx) + 1, int(0.29 / m.dx) + 1, int(0.15 / m.dx) + 1};
  m.dt = 0.5 * m.dx / 7;  // sound travels 5 m/s in this coffee, which itself moves less than 2 m/s
  m.materials = {{.name = "coffee",
                  .kind = mpm::MaterialKind::liquid,
                  .density = 1000,
                  .bulk_modulus = 25e3,
                  .viscosity = 0.1}};
  m.colliders = {
      {.name = "jug",
       .shape = Shape::shell(
           {{0, 0}, {0.034, 0}, {0.055, 0.022}, {0.055, 0.06}, {0.04, 0.095}, {0.044, 0.125}}, 0.0225),
       .friction = 0.05,
       .moves = true},
      {.name = "mug",
       .shape = Shape::shell({{0, 0}, {0.042, 0}, {0.06, 0.018}, {0.06, 0.1}}, 0.0225),
       .friction = 0.1,
       .position = kMug}};
  fill(m, Shape::cylinder(0.038, 0.028), {kLip[0] - kPivot[0], kLip[1] - kPivot[1] + 0.046, kLip[2]}, spacing,
       0);
  return m;
}

// The jug turns about its lip, by two radians within 0.8 s.
void tilt(const mpm::Model& m, const Signature& s, std::int64_t hold, std::vector<float>& controls) {
  const std::int64_t nu = s.controls(), knots = std::int64_t(controls.size()) / nu;
  const auto place = [&](const char* name) {
    return s.find(Role::control, std::string("collider/jug/") + name).offset;
  };
  for (std::int64_t k = 0; k < knots; ++k) {
    const double share = std::min(1.0, double(k * hold) * m.dt / 0.8);
    const double angle = 2 * share * share * (3 - 2 * share),
                 rate = share < 1 ? 2 * 6 * share * (1 - share) / 0.8 : 0;
    const double c = std::cos(angle), d = std::sin(angle);
    const double to_lip[2] = {c * kPivot[0] + d * kPivot[1], -d * kPivot[0] + c * kPivot[1]};
    float* const at = controls.data() + k * nu;
    for (int a = 0; a < 3; ++a)
      at[place("position") + a] = float(kLip[std::size_t(a)] - (a < 2 ? to_lip[a] : 0));
    at[place("rotation") + 2] = float(-angle);
    at[place("angular_velocity") + 2] = float(-rate);
    at[place("velocity")] = float(-rate * to_lip[1]);
    at[place("velocity") + 1] = float(rate * to_lip[0]);
  }
}

int run(const std::string& device, double particles, double duration) {
  const mpm::Model model = pour(particles);
  const auto n = std::size_t(particle_count(model));
  const auto system = mpm::system<float>(model);
  const auto steps = std::int64_t(duration / model.dt), hold = std::int64_t(10);
  // [rollout]
  Rollout<float> rollout(
      system, {.steps = steps, .checkpoints = segments(), .hold = hold, .active = {}, .device = device});
  Arguments<float> at = rollout.arguments();
  at.x0 = mpm::initial_state<float>(model);
  tilt(model, system->signature(), hold, at.controls);
  std::vector<float> middle;  // of the mug, for each particle
  for (std::size_t p = 0; p < n; ++p) middle.insert(middle.end(), {float(kMug[0]), 0.05f, float(kMug[2])});
  const auto loss = loss::final<float>(system->signature(), "particle/x", middle, 1.0 / double(n));
  const Gradient<float> gradient = rollout.value_and_gradient(at, *loss);
  // [/rollout]
  double shift = 0;
  const std::int64_t x = system->signature().find(Role::control, "collider/jug/position").offset;
  for (std::size_t i = std::size_t(x); i < gradient.controls.size();
       i += std::size_t(system->signature().controls()))
    shift += double(gradient.controls[i]);
  std::printf("%zu particles on %d x %d x %d nodes, %lld steps\n", n, model.nodes[0], model.nodes[1],
              model.nodes[2], static_cast<long long>(steps));
  std::printf("root mean square distance to the mug: %.3f m\n", std::sqrt(2 * gradient.value));
  std::printf("to bring the coffee nearer, move the jug to the %s\n", shift < 0 ? "right" : "left");
  if (device == "cpu") return 0;
  for (const bool back : {false, true}) {
    const auto begin = std::chrono::steady_clock::now();
    if (back)
      rollout.value_and_gradient(at, *loss);
    else
      rollout.value(at, *loss);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%s: %.2f s, %.3g particle-steps/s\n", back ? "gradient" : "simulation", seconds,
                double(n) * double(steps) / seconds);
  }
  std::printf("memory: %.1f GB\n", 1e-9 * double(gradient.report.memory_bytes));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "cpu", argc > 2 ? std::atof(argv[2]) : 2000,
               argc > 3 ? std::atof(argv[3]) : 0.2);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
