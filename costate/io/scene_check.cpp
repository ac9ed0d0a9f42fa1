#include "costate/io/scene_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/io/scene_problem.h"
#include "costate/system/checks.h"

namespace costate::io {
namespace {

constexpr int kDirections = 3, kHalvings = 6;
constexpr int kShortenings = 9;      // each by a factor of 4: 65,536 in all
constexpr double kRounding = 1e-13;  // of a loss over many steps

using Pattern = std::vector<std::int64_t>;  // steps in which contacts change

// Value along one direction, and which contacts and branches it meets, both counted from where the gradient was taken.
class Line {
 public:
  Line(SceneFunction& problem, const std::vector<double>& x, const std::vector<double>& gradient,
       const Pattern& pattern, std::uint64_t seed, int number)
      : problem_(problem), x_(x), pattern_(pattern), direction_(x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      direction_[i] = normal(seed, std::uint32_t(i), std::uint64_t(number)) / std::sqrt(double(x.size()));
      slope_ += gradient[i] * direction_[i];
    }
  }
  double slope() const { return slope_; }
  double value(double h) const { return problem_.value(moved(h)); }
  // Whether the run there changes contacts in the same steps.
  bool same_pattern(double h) const {
    std::vector<double> unused(x_.size());
    problem_.value_and_gradient(moved(h), unused.data());
    return problem_.report().mode_switches == pattern_;
  }
  // The longest of h, h/4, h/16, ... at which the whole stencil has one pattern; 0: none.
  double comparable(double h) const {
    for (int k = 0; k < kShortenings; ++k, h /= 4) {
      bool same = true;
      for (const int i : {3, -3, 1, -1, 2, -2}) same = same && same_pattern(i * h);
      if (same) return h;
    }
    return 0;
  }
  double difference(double h) const {
    return (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) +
            (value(3 * h) - value(-3 * h))) /
           (60 * h);
  }

 private:
  std::vector<double> moved(double h) const {
    std::vector<double> to = x_;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += h * direction_[i];
    return to;
  }
  SceneFunction& problem_;
  const std::vector<double>& x_;
  const Pattern& pattern_;
  std::vector<double> direction_;
  double slope_ = 0;
};

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", x);
  return text;
}

const char* const kNotComparable = "not comparable: contacts change within the stencil";

CheckResult check_stencil(const std::vector<Line>& lines, const SceneFunction::Stencil& how, double value,
                          double norm, const std::string& detail) {
  CheckResult result{.name = "stencil", .gate = how.gate, .detail = ""};
  int compared = 0;
  double shortest = how.step;
  std::string order;
  for (const Line& line : lines) {
    const double h = line.comparable(how.step);
    if (h == 0) continue;
    ++compared;
    shortest = std::min(shortest, h);
    const auto error_at = [&](double step) {
      return std::abs(line.slope() - line.difference(step)) / std::max(norm, 1e-300);
    };
    // What the rounding of losses does to a difference is no error of the gradient: it is all there is where a loss does not depend on anything.
    const double rounding = kRounding * std::abs(value) / (h * std::max(norm, 1e-300));
    double error = std::max(0.0, error_at(h) - rounding);
    if (error > how.gate) {
      const double half = error_at(h / 2), quarter = error_at(h / 4);
      if (half < 0.7 * error && quarter < 0.7 * half && half > 0.3 * error && quarter > 0.3 * half) {
        // A corner of second order: the limit of the differences is what counts.
        error = std::abs(line.slope() - 2 * line.difference(h / 4) + line.difference(h / 2)) /
                std::max(norm, 1e-300);
        order =
            "; differences converge like h: two inputs tie here (geoms of equal softness or friction, a "
            "clamp)";
      }
    }
    result.error = std::max(result.error, error);
  }
  if (compared == 0) {
    result.skipped = true;
    result.detail =
        std::string(kNotComparable) + ", even over " + number(how.step / std::pow(4.0, kShortenings - 1));
    return result;
  }
  result.detail = std::to_string(compared) + " directions, " + detail;
  if (shortest < how.step) result.detail += ", over " + number(shortest) + " since contacts change nearby";
  if (compared < int(lines.size()))
    result.detail += "; " + std::to_string(int(lines.size()) - compared) + " " + kNotComparable;
  result.detail += order;
  return result;
}

CheckResult check_taylor(const Line& line, double step, double value) {
  CheckResult result{.name = "Taylor", .gate = 0.1, .detail = "slope 2 over six halvings"};
  double top = 64 * step;
  int shortenings = 0;
  while (shortenings < kShortenings && !line.same_pattern(top)) {
    top /= 4;
    ++shortenings;
  }
  if (shortenings == kShortenings) {
    result.skipped = true;
    result.detail = "not comparable: contacts change within the steps, even over " + number(4 * top);
    return result;
  }
  // Slope of log remainder over log h; remainders at rounding say nothing.
  const double floor = 1e-13 * std::abs(value);
  const auto remainder = [&](double h) { return std::abs(line.value(h) - value - h * line.slope()); };
  const auto try_from = [&](double from, CheckResult& r) {
    const double first = remainder(from);
    int halvings = kHalvings;
    double last = remainder(from / std::pow(2.0, halvings));
    while (last < 16 * floor && halvings > 2) last = remainder(from / std::pow(2.0, --halvings));
    if (last < 16 * floor)
      r.detail = "the loss is so straight here that only rounding is left";
    else
      r.error = std::abs(std::log2(first / last) / halvings - 2);
  };
  try_from(top, result);
  // Nodes of a grid that begin to touch are in no pattern: a jump some way off is passed by shorter steps. The remainder of a wrong
  // gradient goes like h, however short they are.
  for (int shorter = 0; shorter < 3 && result.error > result.gate; ++shorter) {
    top /= 4;
    ++shortenings;
    CheckResult again{.name = result.name, .gate = result.gate, .detail = result.detail};
    try_from(top, again);
    if (again.error <= again.gate) result = again;
  }
  if (shortenings > 0) result.detail += ", from " + number(top) + " on, since contacts change nearby";
  return result;
}

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
  const Pattern pattern = problem.report().mode_switches;
  double norm = 0;
  for (const double g : gradient) norm += g * g;
  norm = std::sqrt(norm / double(x.size()));
  std::vector<Line> lines;
  for (int d = 0; d < kDirections; ++d) lines.emplace_back(problem, x, gradient, pattern, seed, d);
  results.push_back(check_stencil(lines, problem.stencil(), value, norm, detail));
  results.push_back(check_taylor(lines.front(), problem.stencil().step, value));
  return results;
}

}  // namespace costate::io
