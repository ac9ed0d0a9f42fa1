// A soft robot learns to walk: a body on two legs, each leg with a front and a back muscle, driven by sine waves whose amplitudes are learned by the gradient of
// how far it gets. The two-dimensional task of DiffTaichi's diffmpm (Hu et al., ICLR 2020), from the equations.
//
//   mpm_walker [iterations]
#include <costate/costate.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace costate;

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 12;
  // 1. The robot: a slab of passive jelly on two legs of muscle, each leg split into a front and a back.
  // [robot]
  mpm::Model model;
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
  model.actuators = 4;
  for (int leg = 0; leg < 4; ++leg) {
    const std::int64_t before = mpm::particle_count(model);
    const double x = (leg < 2 ? 0.275 : 0.475) + (leg % 2 == 0 ? 0 : 0.05);
    mpm::fill(model, mpm::Shape::box(0.025, 0.05), {x, floor + 0.05}, spacing, 1);
    for (std::int64_t p = before; p < mpm::particle_count(model); ++p)
      model.particles.actuator[std::size_t(p)] = leg;
  }
  const auto system = mpm::system<float>(model);
  // [/robot]

  // 2. The controller: every muscle is a sum of four sine waves of one period, its amplitudes are to be learned.
  const std::int64_t steps = 600, hold = 5;
  Rollout rollout(system, {.steps = steps, .checkpoints = segments(), .hold = hold, .active = {}});
  Arguments<float> at = rollout.arguments();
  at.x0 = mpm::initial_state<float>(model);
  const auto wave = [&](std::int64_t knot, int w) {
    return std::sin(2 * 3.14159265358979 * (double(knot * hold) * model.dt / 0.15 + 0.25 * w));
  };
  const std::int64_t n = mpm::particle_count(model);
  // The loss: minus the mean distance covered.
  std::vector<float> pull(std::size_t(system->signature().states()), 0.0f);
  for (std::int64_t p = 0; p < n; ++p) pull[std::size_t(2 * p)] = -1.0f / float(n);
  const auto objective = loss::cotangents<float>(system->signature(), {steps}, {pull});
  double start = 0;
  for (std::int64_t p = 0; p < n; ++p) start += double(at.x0[std::size_t(2 * p)]) / double(n);

  const auto value = [&](const double* z, double* gradient) {
    for (std::int64_t knot = 0; knot < rollout.knots(); ++knot) {
      for (int m = 0; m < 4; ++m) {
        double a = 0;
        for (int w = 0; w < 4; ++w) a += z[4 * m + w] * wave(knot, w);
        at.controls[std::size_t(4 * knot + m)] = float(std::tanh(a));
      }
    }
    const auto g = rollout.value_and_gradient(at, *objective);
    for (int i = 0; i < 16; ++i) gradient[i] = 0;
    for (std::int64_t knot = 0; knot < rollout.knots(); ++knot) {
      for (int m = 0; m < 4; ++m) {
        const double a = at.controls[std::size_t(4 * knot + m)],
                     slope = (1 - a * a) * g.controls[std::size_t(4 * knot + m)];
        for (int w = 0; w < 4; ++w) gradient[4 * m + w] += slope * wave(knot, w);
      }
    }
    return g.value;
  };

  // 3. Learn.
  std::vector<double> z(16);
  for (int i = 0; i < 16; ++i) z[std::size_t(i)] = 0.02 * std::sin(1.0 + 2.3 * i);
  double first = 0;
  const auto found = optim::minimize(value, z,
                                     optim::AdamOptions{.rate = 0.15,
                                                        .stopping = {.max_iterations = iterations},
                                                        .callback = [&](const optim::Progress& p) {
                                                          if (p.iteration <= 1) first = p.value;
                                                          return true;
                                                        }});
  std::printf("%lld particles, 4 muscles: at first it moves %.1f cm in %.1f s, after learning %.1f cm\n",
              static_cast<long long>(n), 100 * (-first - start), double(steps) * model.dt,
              100 * (-found.value - start));
  return -found.value - start > 0.03 ? 0 : 1;
}
