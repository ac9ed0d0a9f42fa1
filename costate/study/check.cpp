#include "costate/study/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "costate/core/philox.h"
#include "costate/core/text.h"
#include "costate/study/check_line.h"

namespace costate::study {
namespace {

constexpr std::size_t kDirections = 3;  // at least
constexpr int kHalvings = 6, kSlopeHalvings = 3;
constexpr int kShortenings = 9;       // each by a factor of 4: 65,536 in all
constexpr int kRetries = 3;           // shorter stencils that are tried, each by a factor of 10
constexpr double kSmallField = 1e-2;  // a field that matters less than this is judged as if it mattered so
constexpr double kOffKinks[] = {1e-3, 3e-3, 1e-2};  // ways to step off a kink, in units of the scales

constexpr double kKinksInOne = 10;  // how many times the gap of the slopes a gradient may lie beside them

using check::Result;

// Slopes of the loss on the two sides of a point where it has no derivative.
struct Kink {
  std::string field;
  double left = 0, right = 0, gradient = 0;
};

// One direction, compared.
struct Compared {
  double error = 0, difference = 0, step = 0;
  bool like_h = false;  // differences converge like h
  std::optional<Kink> kink = {};
};

// What an error is relative to. Where a loss hardly depends on anything, rounding is all there is to see in a
// difference.
double size_of(const Line& line, double norm, const Stencil& how, double value) {
  const double rounding = how.noise * std::abs(value) / (how.step * how.gate);
  return std::max({line.norm(), kSmallField * norm, rounding, std::numeric_limits<double>::min()});
}

// Whether the loss has two slopes here that explain the error. Of many kinks in one point (nodes of a grid
// that are at rest against a wall) a gradient has one side each, and in sum it may lie beside both slopes.
std::optional<Kink> find_kink(const Line& line, const Stencil& how, double h, double size, int lengths) {
  for (int k = 0; k < lengths; ++k, h /= 10) {
    const double right = line.side(h), left = line.side(-h);
    const double right_near = line.side(h / 4), left_near = line.side(-h / 4);
    const double gap = std::abs(right_near - left_near);
    const bool converged = std::abs(right - right_near) + std::abs(left - left_near) < 0.2 * gap;
    const bool near = std::abs(line.slope() - (right_near + left_near) / 2) <= kKinksInOne * gap;
    if (!converged || !near || gap <= how.gate * size) continue;
    return Kink{line.name(), left_near, right_near, line.slope()};
  }
  return {};
}

// The best of a few steps from h on, or a kink.
Compared compare(const Line& line, const Stencil& how, double h, double size) {
  Compared best{std::numeric_limits<double>::infinity(), 0, h};
  const auto attempt = [&](double step) {
    const double difference = line.difference(step), error = std::abs(line.slope() - difference) / size;
    if (error < best.error) best = {error, difference, step, best.like_h, {}};
    return error;
  };
  const double first = attempt(h);
  if (best.error <= how.gate) return best;
  best.kink = find_kink(line, how, h, size, 1);
  if (best.kink) return best;
  const double half = attempt(h / 2), quarter = attempt(h / 4);
  if (half < 0.7 * first && quarter < 0.7 * half && half > 0.3 * first && quarter > 0.3 * half) {
    // A corner of second order: the limit of the differences is what counts.
    const double limit = 2 * line.difference(h / 4) - line.difference(h / 2);
    const double error = std::abs(line.slope() - limit) / size;
    best.like_h = true;
    if (error < best.error) best = {error, limit, h / 4, true, {}};
  }
  for (int k = 0; k < kRetries && best.error > how.gate; ++k) attempt(h /= 10);
  if (best.error > how.gate) best.kink = find_kink(line, how, h * 10, size, 2);
  return best;
}

// The stencil over all lines through a point. `kink` is filled in where the worst line has one.
struct StencilOutcome {
  Result result;
  std::optional<Kink> kink;
};

StencilOutcome check_stencil(const std::vector<Line>& lines, const CheckPoint& at, const Stencil& how,
                             const std::string& detail) {
  StencilOutcome outcome{{.name = "stencil", .gate = how.gate, .detail = ""}, {}};
  Result& result = outcome.result;
  std::size_t compared = 0;
  double shortest = how.step;
  bool like_h = false;
  std::string worst;
  for (const Line& line : lines) {
    const double h = line.comparable(how.step, kShortenings);
    if (h == 0) continue;
    ++compared;
    shortest = std::min(shortest, h);
    const double size = size_of(line, lines.front().norm(), how, at.value);
    const Compared found = compare(line, how, h, size);
    like_h = like_h || found.like_h;
    if (found.kink) outcome.kink = found.kink;
    if (found.error <= result.error) continue;
    result.error = found.error;
    worst = "; worst: " + line.name() + ", gradient " + scientific(line.slope(), 3) + ", difference " +
            scientific(found.difference, 3) + " over " + scientific(found.step, 1);
    // The kink of one field says more than that of all.
    if (found.kink && line.name() != lines.front().name()) break;
  }
  if (compared == 0) {
    result.skipped = true;
    result.detail = "not comparable: contacts change within the stencil, even over " +
                    scientific(how.step / std::pow(4.0, kShortenings - 1), 1);
    return outcome;
  }
  result.detail = std::to_string(compared) + " directions" + detail;
  if (shortest < how.step)
    result.detail += ", over " + scientific(shortest, 1) + " since contacts change nearby";
  if (compared < lines.size())
    result.detail += "; " + std::to_string(lines.size() - compared) +
                     " not comparable: contacts change within the stencil";
  if (like_h)
    result.detail +=
        "; differences converge like h: two inputs tie here (geoms of equal softness or friction, a clamp)";
  if (!result.passed()) result.detail += worst;
  return outcome;
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
  while (last <= floor && halvings > 2) last = remainder(--halvings);
  r.skipped = last <= floor;
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
    if (!again.passed()) continue;
    result = again;
    if (result.skipped)
      result.detail = "rough over longer steps, and only rounding is left over shorter ones";
    else
      result.detail += ", from " + scientific(top, 1) + " on";
    return result;
  }
  if (shortenings > 0) result.detail += ", from " + scientific(top, 1) + " on, since contacts change nearby";
  return result;
}

// Stencil and Taylor at one point.
struct Measured {
  StencilOutcome stencil;
  Result taylor;
  bool passed() const { return stencil.result.passed() && taylor.passed(); }
};

Measured measure(Study& study, const CheckPoint& at, std::uint64_t seed) {
  const std::string detail = study.steps() > 0 ? ", " + std::to_string(study.steps()) + " steps" : "";
  const std::vector<CheckField> fields = check_fields(study.variables());
  std::vector<Line> lines;
  for (std::size_t d = 0; d < std::max(kDirections, fields.size()); ++d)
    lines.emplace_back(study, at, fields[d % fields.size()], seed + d);
  const Stencil how = study.stencil();
  Measured m{check_stencil(lines, at, how, detail),
             {.name = "Taylor", .detail = "not measured: a kink", .skipped = true}};
  if (m.stencil.kink) return m;
  m.taylor = check_taylor(lines.front(), how, at.value);
  // Where the gradient is the mean of two slopes, differences over both sides agree with it.
  const double size = size_of(lines.front(), lines.front().norm(), how, at.value);
  if (!m.taylor.passed()) m.stencil.kink = find_kink(lines.front(), how, how.step, size, kRetries);
  return m;
}

// A point off the kink at which the gradient was taken, and what is measured there.
Measured step_off(Study& study, const CheckPoint& start, const Measured& at_start, std::uint64_t seed) {
  const Kink& kink = *at_start.stencil.kink;
  for (const double distance : kOffKinks) {
    std::vector<double> z = start.z;
    for (std::size_t i = 0; i < z.size(); ++i) z[i] += distance * normal(seed, std::uint32_t(i), 1);
    Measured there = measure(study, CheckPoint(study, z), seed);
    if (!there.passed()) continue;
    const std::string where = ", " + number(distance, 2) + " of the scales off the start: kink at " +
                              kink.field + ", slopes " + number(kink.left, 5) + " and " +
                              number(kink.right, 5) + ", gradient " + number(kink.gradient, 5);
    there.stencil.result.detail += where;
    there.taylor.detail += ", off the kink";
    return there;
  }
  return at_start;
}

}  // namespace

std::vector<Result> check_gradient(Study& study, std::uint64_t seed) {
  study.choose(study.inputs(true));
  const std::vector<double> z = study.start();
  std::vector<Result> results = {study.dot_product(seed)};
  results[0].name = "dot product";
  if (results[0].detail.empty()) {
    results[0].detail = "forward against reverse, random directions";
    if (study.steps() > 0) results[0].detail += ", " + std::to_string(study.steps()) + " steps";
  }
  if (z.empty() || !study.has_loss()) {
    const std::string why = "the file has no [optimize], or no loss";
    results.push_back({.name = "stencil", .detail = why, .skipped = true});
    results.push_back({.name = "Taylor", .detail = why, .skipped = true});
    return results;
  }
  const CheckPoint start(study, z);
  Measured measured = measure(study, start, seed);
  if (!measured.passed() && measured.stencil.kink) measured = step_off(study, start, measured, seed);
  results.push_back(measured.stencil.result);
  results.push_back(measured.taylor);
  for (Result& r : study.comparisons()) results.push_back(std::move(r));
  return results;
}

}  // namespace costate::study
