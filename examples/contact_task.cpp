#include "examples/contact_task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "costate/io/rigid_picture.h"
#include "costate/optim/adam.h"
#include "costate/optim/lbfgs.h"
#include "costate/rigid/observer.h"
#include "costate/rigid/rigid_system.h"

namespace task {

using namespace costate;

namespace {

void keep_best(Found& found, const double* points, int n, int count, const double* values, double cost) {
  if (found.curve.empty()) found.value = std::numeric_limits<double>::infinity();
  found.simulations += cost * count;
  for (int k = 0; k < count; ++k) {
    if (!(values[k] < found.value)) continue;
    found.value = values[k];
    found.x.assign(points + k * n, points + (k + 1) * n);
  }
  found.curve.push_back({found.simulations, found.value});
}

RolloutOptions of_worlds(RolloutOptions options, int count) {
  options.worlds = count;
  return options;
}

}  // namespace

Batch::Batch(const Task& task, int count)
    : task_(task), rollout_(task.system, of_worlds(task.rollout, count)), at_(rollout_.arguments()) {
  at_.parameters.set("dt", task.dt);
  const std::size_t worlds = std::size_t(count), controls = std::size_t(rollout_.knots()) *
                                                            std::size_t(task.system->signature().controls());
  at_.x0.resize(worlds * task.x0.size());
  at_.controls.resize(worlds * controls);
}

// Worlds without a point repeat the last one.
void Batch::set(const double* points, int count) {
  const int worlds = int(rollout_.options().worlds);
  const std::size_t states = task_.x0.size(), controls = at_.controls.size() / std::size_t(worlds);
  for (int k = 0; k < worlds; ++k) {
    double* const x0 = at_.x0.data() + std::size_t(k) * states;
    std::copy(task_.x0.begin(), task_.x0.end(), x0);
    task_.apply(points + std::min(k, count - 1) * task_.n, x0,
                at_.controls.data() + std::size_t(k) * controls);
  }
}

void Batch::gradients(const double* points, int count, double* values, double* gradients) {
  set(points, count);
  const auto g = rollout_.value_and_gradient(at_, *task_.loss);
  const std::size_t worlds = g.values.size(), states = g.x0.size() / worlds,
                    controls = g.controls.size() / worlds;
  for (std::size_t k = 0; k < std::size_t(count); ++k) {
    values[k] = g.values[k];
    double* const gradient = gradients + k * std::size_t(task_.n);
    std::fill_n(gradient, task_.n, 0.0);
    task_.transpose(g.x0.data() + k * states, g.controls.data() + k * controls, gradient);
  }
}

std::vector<double> Batch::states(const std::vector<double>& point) {
  Batch one(task_, 1);
  one.set(point.data(), 1);
  return one.rollout_.simulate(one.at_).states;
}

GradientsOfPoints Batch::as_gradients() {
  return [this](const double* points, int count, double* values, double* out) {
    gradients(points, count, values, out);
  };
}

// A rollout tells the value of each world together with its gradient, which is dropped here; it is not
// counted.
ValuesOfPoints Batch::as_values() {
  return [this](const double* points, int count, double* values) {
    const int worlds = int(rollout_.options().worlds);
    std::vector<double> unused(std::size_t(worlds * task_.n));
    for (int k = 0; k < count; k += worlds)
      gradients(points + k * task_.n, std::min(worlds, count - k), values + k, unused.data());
  };
}

Found by_adam(const GradientsOfPoints& gradients, int n, const std::vector<double>& starts,
              const Adam& options) {
  // Adam treats every number alone: on all points together it is Adam on each.
  const int count = int(starts.size()) / n;
  Found found;
  std::vector<double> values(starts.size() / std::size_t(n));
  const auto together = [&](const double* points, double* gradient) {
    gradients(points, count, values.data(), gradient);
    keep_best(found, points, n, count, values.data(), kGradientCost);
    double sum = 0;
    for (int k = 0; k < count; ++k) {
      sum += values[std::size_t(k)];
      double* const g = gradient + k * n;
      const double length = std::sqrt(std::inner_product(g, g + n, g, 0.0));
      for (int i = 0; i < n && length > options.limit; ++i) g[i] *= options.limit / length;
    }
    return sum;
  };
  optim::minimize(together, starts,
                  optim::AdamOptions{.rate = options.rate,
                                     .decay = options.decay,
                                     .stopping = {.max_iterations = options.iterations - 1}});
  return found;
}

Found by_lbfgs(const GradientsOfPoints& gradients, const std::vector<double>& start, double first_step,
               double simulations, const optim::Bounds& bounds) {
  Found found;
  const auto one = [&](const double* x, double* gradient) {
    if (found.simulations + kGradientCost > simulations) {  // no more: the line search gives up
      std::fill_n(gradient, start.size(), 0.0);
      return found.value;
    }
    double value = 0;
    gradients(x, 1, &value, gradient);
    keep_best(found, x, int(start.size()), 1, &value, kGradientCost);
    return value;
  };
  optim::minimize(one, start,
                  optim::LbfgsOptions{.memory = 20,
                                      .first_step = first_step,
                                      .stopping = {.max_iterations = 10000, .gradient_tolerance = 1e-12},
                                      .bounds = bounds});
  return found;
}

Found joined(const Found& first, const Found& second) {
  Found both = second.value < first.value ? second : first;
  both.curve = first.curve;
  for (const figure::Point& p : second.curve)
    both.curve.push_back({first.simulations + p.x, std::min(first.value, p.y)});
  both.simulations = first.simulations + second.simulations;
  return both;
}

Found by_cma_es(const ValuesOfPoints& values, const std::vector<double>& start, double sigma, int population,
                double simulations, const optim::Bounds& bounds, std::uint64_t seed) {
  Found found;
  const int n = int(start.size());
  const ValuesOfPoints counted = [&](const double* points, int count, double* out) {
    values(points, count, out);
    keep_best(found, points, n, count, out, 1);
  };
  optim::minimize(counted, start,
                  optim::CmaEsOptions{.sigma = sigma,
                                      .population = population,
                                      .max_evaluations = long(simulations),
                                      .seed = seed,
                                      .stopping = {.max_iterations = 1000000},
                                      .bounds = bounds});
  return found;
}

Median median_of_cma_es(const ValuesOfPoints& values, const std::vector<double>& start, double sigma,
                        int population, double simulations, const optim::Bounds& bounds) {
  std::vector<Found> runs;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    runs.push_back(by_cma_es(values, start, sigma, population, simulations, bounds, seed));
  std::sort(runs.begin(), runs.end(), [](const Found& a, const Found& b) { return a.value < b.value; });
  return {runs[1], runs.front().value, runs.back().value};
}

void report(const Found& gradient, const Median& cma_es) {
  std::fprintf(
      stderr,
      "gradient, %.0f simulations: %.3g; CMA-ES, %.0f simulations: %.3g (three seeds: %.3g to %.3g)\n",
      gradient.simulations, gradient.value, cma_es.run.simulations, cma_es.run.value, cma_es.best,
      cma_es.worst);
}

void draw_curves(figure::Figure& picture, const std::string& loss, const Found& gradient,
                 const Found& cma_es) {
  figure::Panel& panel = picture.panel("simulations", loss);
  if (gradient.value > 0 && cma_es.value > 0) panel.log_y();
  panel.line(gradient.curve, figure::kBlue, "gradient");
  panel.line(cma_es.curve, figure::kOrange, "CMA-ES");
}

io::Recording record(const rigid::Model& model, const std::string& title, const std::vector<double>& states,
                     double interval, const std::vector<rigid::Double3>& marks) {
  const auto system = rigid::make_system<double>(model);
  const rigid::Observer observer(model, system->signature(), {});
  const std::size_t size = std::size_t(system->signature().states());
  io::RigidPicture picture(model);
  for (std::size_t i = 0; i + size <= states.size(); i += size)
    picture.add_frame(observer.body_poses({states.begin() + long(i), states.begin() + long(i + size)}));
  for (const auto& mark : marks) picture.add_mark(mark);
  io::Recording recording = picture.finish();
  recording.title = title;
  recording.frame_interval = interval;
  return recording;
}

Places places(int argc, char** argv, const std::string& name) {
  return {argc > 1 ? argv[1] : name + ".html", argc > 2 ? argv[2] : ""};
}

}  // namespace task
