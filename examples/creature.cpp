#include "examples/creature.h"

#include <algorithm>
#include <cmath>

#include "examples/figure.h"

namespace creature {

using namespace costate;

void add_muscle(mpm::Model& model, const mpm::Vector& half, const mpm::Vector& centre, double spacing,
                int material, int actuator) {
  const std::int64_t before = mpm::particle_count(model);
  mpm::fill(model, mpm::Shape::box(half[0], half[1], half[2]), centre, spacing, material);
  for (std::int64_t p = before; p < mpm::particle_count(model); ++p)
    model.particles.actuator[std::size_t(p)] = actuator;
  model.actuators = std::max(model.actuators, actuator + 1);
}

namespace {

constexpr int kWaves = 4;

std::vector<float> positions(const std::vector<float>& state, const mpm::Model& model) {
  return {state.begin(), state.begin() + std::ptrdiff_t(model.particles.x.size())};
}

}  // namespace

Result learn(const Task& task) {
  const mpm::Model& model = task.model;
  const auto system = mpm::system<float>(model);
  Rollout rollout(system, {.steps = task.steps, .checkpoints = segments(), .hold = task.hold, .active = {}});
  Arguments<float> at = rollout.arguments();
  at.x0 = mpm::initial_state<float>(model);

  // The loss: minus the mean position along the axis.
  const auto n = std::size_t(mpm::particle_count(model)), D = std::size_t(model.dimension);
  std::vector<float> pull(std::size_t(system->signature().states()), 0.0f);
  std::size_t counted = 0;
  const auto counts = [&](std::size_t p) {
    return std::find(task.counted.begin(), task.counted.end(), model.particles.material[p]) !=
           task.counted.end();
  };
  for (std::size_t p = 0; p < n; ++p) counted += counts(p);
  double start = 0;
  for (std::size_t p = 0; p < n; ++p) {
    if (!counts(p)) continue;
    const std::size_t i = p * D + std::size_t(task.axis);
    pull[i] = -1.0f / float(counted);
    start += double(at.x0[i]) / double(counted);
  }
  const auto objective = loss::cotangents<float>(system->signature(), {task.steps}, {pull});

  const int muscles = model.actuators;
  const auto wave = [&](std::int64_t knot, int w) {
    const double t = double(knot * task.hold) * model.dt;
    return std::sin(2 * 3.14159265358979 * (t / task.period + double(w) / kWaves));
  };
  const auto set_controls = [&](const double* z) {
    for (std::int64_t knot = 0; knot < rollout.knots(); ++knot) {
      for (int m = 0; m < muscles; ++m) {
        double a = 0;
        for (int w = 0; w < kWaves; ++w) a += z[kWaves * m + w] * wave(knot, w);
        at.controls[std::size_t(muscles * knot + m)] = float(std::tanh(a));
      }
    }
  };
  const auto value = [&](const double* z, double* gradient) {
    set_controls(z);
    const auto g = rollout.value_and_gradient(at, *objective);
    std::fill(gradient, gradient + kWaves * muscles, 0.0);
    for (std::int64_t knot = 0; knot < rollout.knots(); ++knot) {
      for (int m = 0; m < muscles; ++m) {
        const auto i = std::size_t(muscles * knot + m);
        const double slope = (1 - double(at.controls[i]) * double(at.controls[i])) * double(g.controls[i]);
        for (int w = 0; w < kWaves; ++w) gradient[kWaves * m + w] += slope * wave(knot, w);
      }
    }
    return g.value;
  };

  std::vector<double> z(std::size_t(kWaves * muscles));
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = 0.02 * std::sin(1.0 + 2.3 * double(i));
  double first = 0;
  const auto found = optim::minimize(value, z,
                                     optim::AdamOptions{.rate = task.rate,
                                                        .stopping = {.max_iterations = task.iterations},
                                                        .callback = [&](const optim::Progress& p) {
                                                          if (p.iteration <= 1) first = p.value;
                                                          return true;
                                                        }});
  set_controls(found.x.data());
  return {-first - start, -found.value - start, positions(at.x0, model),
          positions(rollout.simulate(at).final_state, model)};
}

void draw(const Task& task, const Result& result, const std::string& path) {
  const char* colours[] = {figure::kGrey, figure::kOrange, figure::kBlue, figure::kGreen};
  const mpm::Model& model = task.model;
  const auto D = std::size_t(model.dimension);
  figure::Figure picture;
  for (const bool end : {false, true}) {
    const std::vector<float>& x = end ? result.after : result.start;
    auto& panel = picture.panel(end ? "after learning: at the end" : "at the start", "");
    const double width = model.dx * model.nodes[0];
    panel.y_range(0, 0.62 * width);
    for (std::size_t m = model.materials.size(); m-- > 0;) {
      std::vector<figure::Point> dots;
      for (std::size_t p = 0; p < model.particles.material.size(); ++p)
        if (std::size_t(model.particles.material[p]) == m) dots.push_back({x[p * D], x[p * D + 1]});
      panel.dots(dots, colours[m % 4], model.materials[m].name, 1.2);
    }
    panel.line({{3 * model.dx, 3 * model.dx}, {width - 3 * model.dx, 3 * model.dx}}, figure::kGrey);
  }
  picture.write(path);
}

}  // namespace creature
