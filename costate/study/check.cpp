#include "costate/study/check.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/core/text.h"

namespace costate::study {
namespace {

constexpr int kDirections = 3, kHalvings = 6, kSlopeHalvings = 3;
constexpr int kShortenings = 9;      // each by a factor of 4: 65,536 in all
constexpr int kRetries = 3;          // shorter stencils that are tried, each by a factor of 10
constexpr double kRounding = 1e-13;  // of a loss over many steps

using check::Result;
using Pattern = std::vector<std::int64_t>;  // steps in which contacts change

// The larger of two errors. NaN is the largest: std::max would lose it.
double worse(double a, double b) { return b <= a ? a : b; }

// Value along one direction, and which contacts and branches it meets, both counted from where the gradient
// was taken.
class Line {
 public:
  Line(Study& study, const std::vector<double>& z, const std::vector<double>& gradient,
       const Pattern& pattern, std::uint64_t seed, int number)
      : study_(study), z_(z), pattern_(pattern), direction_(z.size()) {
    for (std::size_t i = 0; i < z.size(); ++i) {
      direction_[i] = normal(seed, std::uint32_t(i), std::uint64_t(number)) / std::sqrt(double(z.size()));
      slope_ += gradient[i] * direction_[i];
    }
  }
  double slope() const { return slope_; }
  // NaN where the physics cannot be simulated.
  double value(double h) const {
    try {
      return study_.value(moved(h));
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::numerics) throw;
      return std::numeric_limits<double>::quiet_NaN();
    }
  }
  // Whether the run there changes contacts in the same steps.
  bool same_pattern(double h) const {
    if (pattern_.empty() && !study_.has_modes()) return true;
    std::vector<double> unused(z_.size());
    study_.value_and_gradient(moved(h), unused.data());
    return study_.report().mode_switches == pattern_;
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
    std::vector<double> to = z_;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += h * direction_[i];
    return to;
  }
  Study& study_;
  const std::vector<double>& z_;
  const Pattern& pattern_;
  std::vector<double> direction_;
  double slope_ = 0;
};

const char* const kNotComparable = "not comparable: contacts change within the stencil";

// The error along one line, the best of a few steps from h on; `order` is filled in where differences
// converge like h.
double stencil_error(const Line& line, const Stencil& how, double h, double value, double norm,
                     std::string& order) {
  const double size = std::max(norm, 1e-300);
  const auto error_at = [&](double step) { return std::abs(line.slope() - line.difference(step)) / size; };
  // What rounding does to a difference is not an error of the gradient: it is all there is where a loss does
  // not depend on anything.
  const double first = error_at(h);
  double best = std::isfinite(first) ? std::max(0.0, first - kRounding * std::abs(value) / (h * size))
                                     : std::numeric_limits<double>::infinity();
  if (best <= how.gate) return best;
  const double half = error_at(h / 2), quarter = error_at(h / 4);
  if (half < 0.7 * best && quarter < 0.7 * half && half > 0.3 * best && quarter > 0.3 * half) {
    // A corner of second order: the limit of the differences is what counts.
    best = std::abs(line.slope() - 2 * line.difference(h / 4) + line.difference(h / 2)) / size;
    order =
        "; differences converge like h: two inputs tie here (geoms of equal softness or friction, a clamp)";
  }
  for (int k = 0; k < kRetries && !(best <= how.gate); ++k) {
    h /= 10;
    const double error = error_at(h);
    if (error < best) best = error;
  }
  return best;
}

Result check_stencil(const std::vector<Line>& lines, const Stencil& how, double value, double norm,
                     const std::string& detail) {
  Result result{.name = "stencil", .gate = how.gate, .detail = ""};
  int compared = 0;
  double shortest = how.step;
  std::string order;
  for (const Line& line : lines) {
    const double h = line.comparable(how.step);
    if (h == 0) continue;
    ++compared;
    shortest = std::min(shortest, h);
    result.error = worse(result.error, stencil_error(line, how, h, value, norm, order));
  }
  if (compared == 0) {
    result.skipped = true;
    result.detail = std::string(kNotComparable) + ", even over " +
                    scientific(how.step / std::pow(4.0, kShortenings - 1), 1);
    return result;
  }
  result.detail = std::to_string(compared) + " directions" + detail;
  if (shortest < how.step)
    result.detail += ", over " + scientific(shortest, 1) + " since contacts change nearby";
  if (compared < int(lines.size()))
    result.detail += "; " + std::to_string(int(lines.size()) - compared) + " " + kNotComparable;
  result.detail += order;
  return result;
}

// How much slower than h^2 the remainder falls, at the short end of the halvings of a first step; remainders
// at the noise say nothing.
void measure_slope(const Line& line, double from, double value, double noise, Result& r) {
  const double floor = 16 * noise * std::abs(value);
  const auto remainder = [&](int halvings) {
    const double h = from / std::pow(2.0, halvings);
    return std::abs(line.value(h) - value - h * line.slope());
  };
  int halvings = kHalvings;
  double last = remainder(halvings);
  while (last < floor && halvings > 2) last = remainder(--halvings);
  r.skipped = last < floor;
  if (r.skipped) {
    r.detail = "the loss is so straight here that only rounding is left";
    return;
  }
  // A wrong gradient makes the remainder fall slower than h^2. It falls faster where the curvature changes.
  const int over = std::min(halvings, kSlopeHalvings);
  const double slope = std::log2(remainder(halvings - over) / last) / over;
  r.error = slope >= 2 ? 0 : 2 - slope;  // NaN stays
}

Result check_taylor(const Line& line, const Stencil& how, double value) {
  Result result{.name = "Taylor", .gate = 0.1, .detail = "the remainder falls like h^2 or faster"};
  double top = 64 * how.step;
  int shortenings = 0;
  while (shortenings < kShortenings && !line.same_pattern(top)) {
    top /= 4;
    ++shortenings;
  }
  if (shortenings == kShortenings) {
    result.skipped = true;
    result.detail = "not comparable: contacts change within the steps, even over " + scientific(4 * top, 1);
    return result;
  }
  measure_slope(line, top, value, how.noise, result);
  // Nodes of a grid that begin to touch are in no pattern: a jump some way off is passed by shorter steps.
  // The remainder of a wrong gradient goes like h, however short they are.
  for (int shorter = 0; shorter < kRetries && !result.passed(); ++shorter) {
    top /= 4;
    Result again{.name = result.name, .gate = result.gate, .detail = result.detail};
    measure_slope(line, top, value, how.noise, again);
    if (!again.skipped && again.passed()) {
      result = again;
      result.detail += ", from " + scientific(top, 1) + " on";
      return result;
    }
  }
  if (shortenings > 0) result.detail += ", from " + scientific(top, 1) + " on, since contacts change nearby";
  return result;
}

}  // namespace

std::vector<Result> check_gradient(Study& study, std::uint64_t seed) {
  study.choose(study.inputs(true));
  const std::vector<double> z = study.start();
  const std::string detail = study.steps() > 0 ? ", " + std::to_string(study.steps()) + " steps" : "";
  std::vector<Result> results = {study.dot_product(seed)};
  results[0].name = "dot product";
  if (results[0].detail.empty()) results[0].detail = "forward against reverse, random directions" + detail;
  if (z.empty() || !study.has_loss()) {
    const std::string why = "the file has no [optimize], or no loss";
    results.push_back({.name = "stencil", .detail = why, .skipped = true});
    results.push_back({.name = "Taylor", .detail = why, .skipped = true});
    return results;
  }
  std::vector<double> gradient(z.size());
  const double value = study.value_and_gradient(z, gradient.data());
  const Pattern pattern = study.report().mode_switches;
  double norm = 0;
  for (const double g : gradient) norm += g * g;
  norm = std::sqrt(norm / double(z.size()));
  std::vector<Line> lines;
  for (int d = 0; d < kDirections; ++d) lines.emplace_back(study, z, gradient, pattern, seed, d);
  results.push_back(check_stencil(lines, study.stencil(), value, norm, detail));
  results.push_back(check_taylor(lines.front(), study.stencil(), value));
  for (Result& r : study.comparisons()) results.push_back(std::move(r));
  return results;
}

}  // namespace costate::study
