#include "costate/system/check/check_line.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/system/check/check_jumps.h"
#include "costate/system/ranges.h"

namespace costate::check {
namespace {

constexpr int kHalvings = 6, kSlopeHalvings = 3;
constexpr int kShortenings = 9;       // each by a factor of 4: 65,536 in all
constexpr int kRetries = 3;           // shorter stencils that are tried, each by a factor of 10
constexpr double kSmallField = 1e-2;  // a field that matters less than this is judged as if it mattered so
constexpr double kKinksInOne = 10;    // how many times the gap of the slopes a gradient may lie beside them

// One direction, compared.
struct Compared {
  double error = 0, difference = 0, step = 0;
  bool like_h = false;  // differences converge like h
  std::optional<Kink> kink = {};
  std::string jumps = {};  // of the loss, as far as which differences agree with the gradient
};

// What an error is relative to. Where a loss hardly depends on anything, rounding is all there is to see in a
// difference.
double size_of(const Line& line, double norm, const Stencil& how) {
  const double rounding = how.noise * std::abs(line.at) / (how.step * how.gate);
  return std::max({line.norm, kSmallField * norm, rounding, std::numeric_limits<double>::min()});
}

// Whether the loss has two slopes here that explain the error. Of many kinks in one point (nodes of a grid
// that are at rest against a wall) a gradient has one side each, and in sum it may lie beside both slopes.
std::optional<Kink> find_kink(const Line& line, const Stencil& how, double h, double size, int lengths) {
  for (int k = 0; k < lengths; ++k, h /= 10) {
    const double right = line.side(h), left = line.side(-h);
    const double right_near = line.side(h / 4), left_near = line.side(-h / 4);
    const double gap = std::abs(right_near - left_near);
    const bool converged = std::abs(right - right_near) + std::abs(left - left_near) < 0.2 * gap;
    const bool near = std::abs(line.slope - (right_near + left_near) / 2) <= kKinksInOne * gap;
    if (!converged || !near || gap <= how.gate * size) continue;
    return Kink{line.name, left_near, right_near, line.slope};
  }
  return {};
}

// The best of a few steps from h on, or a kink.
Compared compare(const Line& line, const Stencil& how, double h, double size) {
  Compared best{std::numeric_limits<double>::infinity(), 0, h};
  const auto attempt = [&](double step) {
    const double difference = line.difference(step), error = std::abs(line.slope - difference) / size;
    if (error < best.error) best = {error, difference, step, best.like_h, {}, {}};
    return error;
  };
  double first = attempt(h);
  if (best.error > how.gate) {
    // At its minimum a loss may be zero: what differences see there is the rounding of what it grows to.
    const double level = std::max(std::abs(line.value(h)), std::abs(line.value(-h)));
    const double rounding = how.noise * level / (h * how.gate);
    if (rounding > size) size = rounding, first = attempt(h);
  }
  if (best.error <= how.gate) return best;
  best.kink = find_kink(line, how, h, size, 1);
  if (best.kink) return best;
  const double half = attempt(h / 2), quarter = attempt(h / 4);
  if (half < 0.7 * first && quarter < 0.7 * half && half > 0.3 * first && quarter > 0.3 * half) {
    // A corner of second order: the limit of the differences is what counts.
    const double limit = 2 * line.difference(h / 4) - line.difference(h / 2);
    const double error = std::abs(line.slope - limit) / size;
    best.like_h = true;
    if (error < best.error) best = {error, limit, h / 4, true, {}, {}};
  }
  const double longest = h;
  for (int k = 0; k < kRetries && best.error > how.gate; ++k) attempt(h /= 10);
  if (best.error <= how.gate) return best;
  if (const auto among = agrees_among_jumps(line, longest, size))
    best.jumps = among->to_text(size);
  else
    best.kink = find_kink(line, how, h * 10, size, 2);
  return best;
}

// How much slower than h^2 the remainder falls, at the short end of the halvings of a first step; remainders
// at the noise say nothing.
void measure_slope(const Line& line, double from, double noise, Result& r) {
  const double floor = 16 * noise * std::abs(line.at);
  const auto remainder = [&](int halvings) {
    const double h = from / std::pow(2.0, halvings);
    return std::abs(line.value(h) - line.at - h * line.slope);
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

}  // namespace

std::string Result::to_text() const {
  return std::string(skipped    ? "skip  "
                     : passed() ? "pass  "
                                : "FAIL  ") +
         name + ": " + scientific(error) + " (gate " + scientific(gate) + ")" +
         (detail.empty() ? "" : "  " + detail);
}

std::string Kink::to_text() const {
  return "kink at " + field + ", slopes " + number(left, 5) + " and " + number(right, 5) + ", gradient " +
         number(gradient, 5);
}

double Line::value(double h) const {
  const AcrossRanges across;
  try {
    return loss(h);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::numerics) throw;
    return std::numeric_limits<double>::quiet_NaN();
  }
}

double Line::difference(double h) const {
  return (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + (value(3 * h) - value(-3 * h))) /
         (60 * h);
}

double Line::side(double h) const {
  return (-11 * at + 18 * value(h) - 9 * value(2 * h) + 2 * value(3 * h)) / (6 * h);
}

bool Line::same_pattern(double h) const {
  if (!same) return true;
  const AcrossRanges across;
  try {
    return same(h);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::numerics) throw;
    return false;
  }
}

double Line::comparable(double h) const {
  for (int k = 0; k < kShortenings; ++k, h /= 4) {
    bool all = true;
    for (const int i : {3, -3, 1, -1, 2, -2}) all = all && same_pattern(i * h);
    if (all) return h;
  }
  return 0;
}

StencilOutcome compare_stencil(const std::vector<Line>& lines, const Stencil& how, const std::string& over) {
  StencilOutcome outcome{{.name = "stencil", .gate = how.gate, .detail = ""}, {}};
  Result& result = outcome.result;
  std::size_t compared = 0, among_jumps = 0;
  double shortest = how.step;
  bool like_h = false;
  std::string worst, jumps;
  for (const Line& line : lines) {
    const double h = line.comparable(how.step);
    if (h == 0) continue;
    ++compared;
    shortest = std::min(shortest, h);
    const double size = size_of(line, lines.front().norm, how);
    const Compared found = compare(line, how, h, size);
    like_h = like_h || found.like_h;
    if (found.kink) outcome.kink = found.kink;
    if (!found.jumps.empty()) {
      ++among_jumps;
      jumps = found.jumps;
      continue;
    }
    if (found.error <= result.error) continue;
    result.error = found.error;
    worst = "; worst: " + line.name + ", gradient " + scientific(line.slope, 3) + ", difference " +
            scientific(found.difference, 3) + " over " + scientific(found.step, 1);
    // The kink of one field says more than that of all.
    if (found.kink && line.name != lines.front().name) break;
  }
  if (compared == 0) {
    result.skipped = true;
    result.detail = "not comparable: contacts change within the stencil, even over " +
                    scientific(how.step / std::pow(4.0, kShortenings - 1), 1);
    return outcome;
  }
  result.detail = std::to_string(compared) + " directions" + over;
  if (shortest < how.step)
    result.detail += ", over " + scientific(shortest, 1) + " since contacts change nearby";
  if (compared < lines.size())
    result.detail += "; " + std::to_string(lines.size() - compared) +
                     " not comparable: contacts change within the stencil";
  if (like_h)
    result.detail +=
        "; differences converge like h: two inputs tie here (geoms of equal softness or friction, a clamp)";
  if (among_jumps > 0) result.detail += "; " + jumps;
  result.skipped = among_jumps == compared;
  if (!result.passed()) result.detail += worst;
  return outcome;
}

Result compare_taylor(const Line& line, const Stencil& how, double gate) {
  Result result{.name = "Taylor", .gate = gate, .detail = "the remainder falls like h^2 or faster"};
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
  measure_slope(line, top, how.noise, result);
  // Nodes of a grid that begin to touch are in no pattern: a jump some way off is passed by shorter steps.
  // The remainder of a wrong gradient goes like h, however short they are.
  for (int shorter = 0; shorter < kRetries && !result.passed(); ++shorter) {
    top /= 4;
    Result again{.name = result.name, .gate = result.gate, .detail = result.detail};
    measure_slope(line, top, how.noise, again);
    if (!again.passed()) continue;
    result = again;
    if (result.skipped)
      result.detail = "rough over longer steps, and only rounding is left over shorter ones";
    else
      result.detail += ", from " + scientific(top, 1) + " on";
    return result;
  }
  if (!result.passed()) {
    const double size = size_of(line, line.norm, how);
    if (const auto among = agrees_among_jumps(line, top * std::pow(4.0, kRetries), size)) {
      result.skipped = true;
      result.detail = "not comparable: " + among->to_text(size);
      return result;
    }
  }
  if (shortenings > 0) result.detail += ", from " + scientific(top, 1) + " on, since contacts change nearby";
  return result;
}

std::optional<Kink> kink_of(const Line& line, const Stencil& how) {
  return find_kink(line, how, how.step, size_of(line, line.norm, how), kRetries);
}

}  // namespace costate::check
