// Learn the air from six noisy throws, then throw a ball into a cup.
//
//   ./dev demo                 runs this
//   build/bin/demo page.html   writes the replay elsewhere
//
// 1. Somebody recorded six throws with a noisy camera. Drag and wind are unknown.
// 2. L-BFGS on the simulator's gradient finds the drag and the wind that explain the recording.
// 3. The same gradient, now with respect to the launch velocity, finds the throw that lands in the cup.
#include <costate/costate.h>

#include <unistd.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "examples/demo_page.h"

namespace {

using namespace costate;

constexpr double kDt = 0.01;
constexpr std::int64_t kSteps = 160, kThrows = 6, kEvery = 8;
constexpr double kCup[2] = {11.0, 0.0};
constexpr double kTrueDrag = 0.045, kTrueWind = -3.0, kMass = 0.45, kNoise = 0.05;

struct Air {
  double drag, wind;
};

Arguments<double> throws(const Rollout<double>& rollout, Air air) {
  Arguments<double> a = rollout.arguments();
  a.parameters.set("drag", air.drag).set("wind", air.wind).set("mass", kMass);
  return a;
}

// The flight of one ball, every kEvery-th position.
std::vector<demo::Point> flight(const std::shared_ptr<System<double>>& ball, const std::vector<double>& x0,
                                Air air) {
  Rollout<double> rollout(ball, {.steps = kSteps, .keep = 2});
  Arguments<double> a = throws(rollout, air);
  a.x0 = x0;
  const auto trajectory = rollout.simulate(a);
  std::vector<demo::Point> points;
  for (std::size_t k = 0; k < trajectory.kept.size(); ++k)
    points.push_back({trajectory.states[4 * k], trajectory.states[4 * k + 1]});
  return points;
}

// One line that grows, on a terminal only.
optim::Callback progress(const char* what, std::vector<double>& losses) {
  return [what, &losses](const optim::Progress& p) {
    losses.push_back(p.value);
    if (isatty(2))
      std::fprintf(stderr, "\r%s  iteration %2d  loss %.3e  gradient %.1e   ", what, p.iteration, p.value,
                   p.gradient_norm);
    return true;
  };
}

}  // namespace

int main(int argc, char** argv) {
  const auto started = std::chrono::steady_clock::now();
  const std::string page = argc > 1 ? argv[1] : "demo.html";
  const auto ball = ode::projectile<double>(ode::Integrator::rk4, kDt);

  // 1. The recording: six launches, seen every 0.08 s with 5 cm of noise.
  Rollout<double> camera(ball, {.steps = kSteps, .worlds = kThrows, .keep = kEvery});
  Arguments<double> recorded = throws(camera, {kTrueDrag, kTrueWind});
  recorded.x0.clear();
  for (int w = 0; w < kThrows; ++w)
    recorded.x0.insert(recorded.x0.end(), {0.0, 1.5, 6.0 + 1.5 * w, 9.0 - 1.1 * w});
  const auto truth = camera.simulate(recorded);
  std::vector<std::int64_t> steps(truth.kept.begin() + 1, truth.kept.end());
  std::vector<double> seen;
  std::vector<demo::Point> dots;
  for (int w = 0; w < kThrows; ++w) {
    for (std::size_t k = 1; k < truth.kept.size(); ++k) {
      for (int c = 0; c < 2; ++c) {
        const double noise =
            kNoise * normal(2026, std::uint32_t(w), std::uint64_t(truth.kept[k]), std::uint32_t(c));
        seen.push_back(truth.states[(k * kThrows + std::size_t(w)) * 4 + std::size_t(c)] + noise);
      }
      dots.push_back({seen[seen.size() - 2], seen.back()});
    }
  }

  // 2. Which air explains it?
  Rollout<double> model(ball, {.steps = kSteps, .worlds = kThrows, .active = {"drag", "wind"}});
  const auto mismatch = loss::track<double>(ball->signature(), "position", steps, seen);
  std::vector<double> fit_losses;
  const auto fit = optim::minimize(
      [&](const double* x, double* g) {
        Arguments<double> a = throws(model, {x[0], x[1]});
        a.x0 = recorded.x0;
        const auto gradient = model.value_and_gradient(a, *mismatch);
        g[0] = gradient.parameters["drag"][0];
        g[1] = gradient.parameters["wind"][0];
        return gradient.value;
      },
      {0.0, 0.0},
      optim::LbfgsOptions{.first_step = 0.02,
                          .stopping = {.gradient_tolerance = 1e-7},
                          .bounds = {.lower = {0.0, -20.0}},
                          .callback = progress("learning the air  ", fit_losses)});
  const Air air{fit.x[0], fit.x[1]};

  // 3. Which throw lands in the cup?
  Rollout<double> aim(ball, {.steps = kSteps, .active = {}});
  const auto miss = loss::final<double>(ball->signature(), "position", {kCup[0], kCup[1]});
  const std::vector<double> first = {0.0, 1.5, 6.0, 6.0};
  std::vector<double> aim_losses;
  const auto thrown = optim::minimize(
      [&](const double* v, double* g) {
        Arguments<double> a = throws(aim, air);
        a.x0 = {first[0], first[1], v[0], v[1]};
        const auto gradient = aim.value_and_gradient(a, *miss);
        g[0] = gradient.x0[2];
        g[1] = gradient.x0[3];
        return gradient.value;
      },
      {first[2], first[3]}, optim::LbfgsOptions{.callback = progress("learning to throw ", aim_losses)});
  if (isatty(2)) std::fprintf(stderr, "\r%80s\r", "");

  // 4. What it learned, thrown through the true air.
  const std::vector<double> best = {first[0], first[1], thrown.x[0], thrown.x[1]};
  const auto before = flight(ball, first, {kTrueDrag, kTrueWind}),
             after = flight(ball, best, {kTrueDrag, kTrueWind});
  const auto distance = [](demo::Point p) { return std::hypot(p.x - kCup[0], p.y - kCup[1]); };
  std::printf("learned from %lld noisy throws: drag %.3f kg/m (truth %.3f), wind %.2f m/s (truth %.2f)\n",
              static_cast<long long>(kThrows), air.drag, kTrueDrag, air.wind, kTrueWind);
  std::printf(
      "first throw misses the cup by %.2f m, the learned one by %.0f cm: throw %.1f m/s harder, %.0f degrees "
      "%s\n",
      distance(before.back()), 100 * distance(after.back()),
      std::hypot(best[2], best[3]) - std::hypot(first[2], first[3]),
      std::abs(std::atan2(best[3], best[2]) - std::atan2(first[3], first[2])) * 180 / 3.14159265,
      best[3] * first[2] > first[3] * best[2] ? "higher" : "lower");
  demo::write_page(page, {.dots = dots,
                          .before = before,
                          .after = after,
                          .cup = {kCup[0], kCup[1]},
                          .fit_losses = fit_losses,
                          .aim_losses = aim_losses});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  std::fprintf(stderr, "%ld simulations with gradient in %.3f s; replay: %s\n",
               fit.evaluations + thrown.evaluations, seconds, page.c_str());
  return distance(after.back()) < 0.2 ? 0 : 1;
}
