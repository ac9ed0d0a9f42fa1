#include "costate/system/check/check_jumps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "costate/core/text.h"

namespace costate::check {
namespace {

constexpr int kIntervals = 48, kLengths = 6, kTerms = 4, kReweighted = 40;
constexpr int kFewest = 36;           // intervals without a jump
constexpr double kMostJumped = 1e-2;  // of the change of the loss
constexpr double kBeside = 10;        // errors that a slope may lie beside the fitted one
constexpr double kTells = 1e-4;       // an error of more says nothing

using Terms = std::array<double, kTerms>;

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Terms powers(double t) { return {1, t, t * t, t * t * t}; }

double at(const Terms& c, double t) {
  const Terms p = powers(t);
  double sum = 0;
  for (int i = 0; i < kTerms; ++i) sum += c[i] * p[i];
  return sum;
}

// Weighted least squares by the normal equations; unit_error: of c[0], where each value has an error of 1.
struct Fit {
  Terms c{};
  double unit_error = 0;
};
Fit fit(const std::vector<double>& t, const std::vector<double>& y, const std::vector<double>& weight) {
  // The columns on the right: the values, and the first unit vector.
  std::array<std::array<double, kTerms + 2>, kTerms> m{};
  for (std::size_t k = 0; k < t.size(); ++k) {
    const Terms p = powers(t[k]);
    for (int i = 0; i < kTerms; ++i) {
      for (int j = 0; j < kTerms; ++j) m[i][j] += weight[k] * p[i] * p[j];
      m[i][kTerms] += weight[k] * p[i] * y[k];
    }
  }
  m[0][kTerms + 1] = 1;
  for (int i = 0; i < kTerms; ++i)
    for (int r = 0; r < kTerms; ++r) {
      if (r == i) continue;
      const double factor = m[r][i] / m[i][i];  // positive definite: no pivots
      for (int j = i; j < kTerms + 2; ++j) m[r][j] -= factor * m[i][j];
    }
  Fit f;
  for (int i = 0; i < kTerms; ++i) f.c[i] = m[i][kTerms] / m[i][i];
  f.unit_error = std::sqrt(std::max(0.0, m[0][kTerms + 1] / m[0][0]));
  return f;
}

struct Fitted {
  SlopeAmongJumps among;
  double jumped = 0;  // all jumps together
  int smooth = 0;     // intervals without one
};

std::optional<Fitted> fitted(const Line& line, double h) {
  const double d = 2 * h / kIntervals;
  std::vector<double> t, y, residual(kIntervals), weight(kIntervals, 1.0);
  double before = line.value(-h);
  for (int k = 0; k < kIntervals; ++k) {
    const double next = line.value(-h + (k + 1) * d);
    t.push_back((2.0 * k + 1) / kIntervals - 1);
    y.push_back((next - before) / d);
    if (!std::isfinite(y.back())) return {};
    before = next;
  }
  const auto see = [&](const Fit& f) {
    for (int k = 0; k < kIntervals; ++k) residual[k] = std::abs(y[k] - at(f.c, t[k]));
  };
  Fit f;
  for (int turn = 0; turn < kReweighted; ++turn) {
    f = fit(t, y, weight);
    see(f);
    const double least = 1e-6 * median(residual) + 1e-12 * std::abs(f.c[0]) + 1e-300;
    for (int k = 0; k < kIntervals; ++k) weight[k] = 1 / std::max(residual[k], least);
  }
  double most = 12 * median(residual);
  Fitted out;
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<double> kept;
    double square = 0;
    for (int k = 0; k < kIntervals; ++k) {
      weight[k] = residual[k] <= most ? 1 : 0;
      if (weight[k] > 0) kept.push_back(residual[k]);
    }
    out.smooth = int(kept.size());
    if (out.smooth < kFewest) return {};
    f = fit(t, y, weight);
    see(f);
    for (int k = 0; k < kIntervals; ++k) square += weight[k] * residual[k] * residual[k];
    out.among = {f.c[0], f.unit_error * std::sqrt(square / (out.smooth - kTerms)), 0, h};
    most = 6 * median(kept);
  }
  for (int k = 0; k < kIntervals; ++k) {
    if (weight[k] > 0) continue;
    out.jumped += residual[k] * d;
    out.among.largest = std::max(out.among.largest, residual[k] * d);
  }
  return out;
}

}  // namespace

std::string SlopeAmongJumps::to_text(double size) const {
  const std::string known =
      "differences agree to " + scientific(kBeside * error / size, 1) + " and cannot say more";
  if (largest == 0) return "the loss is rough at the scale of the differences, as after many steps: " + known;
  return "the loss jumps by " + scientific(largest, 1) + " within " + scientific(step, 1) +
         " of here, which no derivative sees (steps are taken in another number of parts, or of "
         "iterations): " +
         known;
}

std::optional<SlopeAmongJumps> agrees_among_jumps(const Line& line, double h, double size) {
  std::optional<SlopeAmongJumps> best;
  double largest = 0, within = 0;
  for (int k = 0; k < kLengths; ++k, h /= 4) {
    const std::optional<Fitted> f = fitted(line, h);
    if (!f || f->jumped > kMostJumped * size * 2 * h) continue;
    within = std::max(within, h);
    largest = std::max(largest, f->among.largest);
    if (!best || f->among.error < best->error) best = f->among;
  }
  if (!best || best->error > kTells * size) return {};
  if (std::abs(best->slope - line.slope) > kBeside * best->error) return {};
  best->largest = largest;
  best->step = within;
  return best;
}

}  // namespace costate::check
