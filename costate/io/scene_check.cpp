#include "costate/io/scene_check.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/io/scene_problem.h"
#include "costate/system/checks.h"

namespace costate::io {
namespace {

constexpr int kDirections = 3, kHalvings = 6;

// Value along one direction, which the two checks share.
class Line {
 public:
  Line(SceneFunction& problem, const std::vector<double>& x, std::uint64_t seed, int number)
      : problem_(problem), x_(x), direction_(x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i)
      direction_[i] = normal(seed, std::uint32_t(i), std::uint64_t(number)) / std::sqrt(double(x.size()));
  }
  double value(double h) const {
    std::vector<double> moved = x_;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += h * direction_[i];
    return problem_.value(moved);
  }
  double slope(const std::vector<double>& gradient) const {
    double sum = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) sum += gradient[i] * direction_[i];
    return sum;
  }

 private:
  SceneFunction& problem_;
  const std::vector<double>& x_;
  std::vector<double> direction_;
};

}  // namespace

Scene shortened(const Scene& scene, std::int64_t steps) {
  Scene cut = scene;
  cut.steps = std::min(scene.steps, steps);
  for (LossTerm& term : cut.losses) {
    std::erase_if(term.steps, [&](std::int64_t k) { return k > cut.steps; });
    if (term.steps.empty()) term.steps.push_back(cut.steps);
  }
  return cut;
}

std::vector<CheckResult> check(const Scene& scene, std::int64_t steps, std::uint64_t seed) {
  SceneProblem<double> problem(shortened(scene, steps));
  return check(problem, seed);
}

std::vector<CheckResult> check(SceneFunction& problem, std::uint64_t seed) {
  const auto [step, gate] = problem.stencil();
  const std::vector<double> x = problem.start();
  const std::string detail = std::to_string(problem.steps()) + " steps";
  std::vector<CheckResult> results;
  const check::Result dot = problem.dot_product(seed);
  results.push_back({.name = "dot product", .error = dot.error, .gate = dot.gate, .detail = detail});
  if (x.empty() || !problem.has_loss()) {
    const std::string why = "the file has no [optimize], or no loss";
    results.push_back({.name = "stencil", .detail = why, .skipped = true});
    results.push_back({.name = "Taylor", .detail = why, .skipped = true});
    return results;
  }
  std::vector<double> gradient(x.size());
  const double value = problem.value_and_gradient(x, gradient.data());
  double norm = 0;
  for (const double g : gradient) norm += g * g;
  norm = std::sqrt(norm / double(x.size()));

  CheckResult stencil{
      .name = "stencil", .gate = gate, .detail = std::to_string(kDirections) + " directions, " + detail};
  CheckResult taylor{.name = "Taylor", .gate = 0.1, .detail = "slope 2 over six halvings"};
  for (int d = 0; d < kDirections; ++d) {
    const Line line(problem, x, seed, d);
    const double h = step, slope = line.slope(gradient);
    const double difference =
        (45 * (line.value(h) - line.value(-h)) - 9 * (line.value(2 * h) - line.value(-2 * h)) +
         (line.value(3 * h) - line.value(-3 * h))) /
        (60 * h);
    stencil.error = std::max(stencil.error, std::abs(slope - difference) / std::max(norm, 1e-300));
    if (d > 0) continue;
    // Slope of log remainder over log h; remainders at rounding say nothing.
    const double top = 64 * step, floor = 1e-13 * std::abs(value);
    std::vector<double> remainders;
    for (int k = 0; k <= kHalvings; ++k) {
      const double h_k = top / std::pow(2.0, k);
      remainders.push_back(std::abs(line.value(h_k) - value - h_k * slope));
    }
    if (remainders.back() < 16 * floor) {
      taylor.detail = "the loss is so straight here that only rounding is left";
    } else {
      taylor.error = std::abs(std::log2(remainders.front() / remainders.back()) / kHalvings - 2);
    }
  }
  results.push_back(stencil);
  results.push_back(taylor);
  return results;
}

}  // namespace costate::io
