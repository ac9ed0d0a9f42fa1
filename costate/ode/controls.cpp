#include "costate/ode/controls.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "costate/core/error.h"

namespace costate::ode {
namespace {

void check(bool ok, const std::string& what, const std::string& advice) {
  if (!ok) throw Error({what, "ode::solve", advice});
}

}  // namespace

ParameterRows::ParameterRows(const std::vector<double>& p, const Controls& controls, int field_parameters,
                             double t0, double t1)
    : np_(p.size()),
      values_(controls.values.size()),
      linear_(!controls.values.empty() && controls.interpolation == Controls::Interpolation::linear),
      t0_(t0),
      t1_(t1) {
  const std::size_t expected = field_parameters;
  if (controls.values.empty()) {
    check(controls.fractions.empty(), "the controls have knots but no values", "set controls.values");
    check(np_ == expected,
          "p has " + std::to_string(np_) + " values for " + std::to_string(expected) + " parameters",
          "give one value per parameter of the field");
    count_ = 1;
    width_ = np_;
    fractions_ = {0, 1};
    table_ = p;
    return;
  }
  check(np_ < expected,
        "p has " + std::to_string(np_) + " values for " + std::to_string(expected) +
            " parameters, so that none is left to be a control",
        "the field takes the parameters and then the controls: leave the controls out of p");
  nu_ = expected - np_;
  const std::size_t given = values_ / nu_, ends = linear_ ? 1 : 0;
  check(given * nu_ == values_ && given > ends,
        "there are " + std::to_string(values_) + " values of " + std::to_string(nu_) + " controls",
        linear_ ? "give one row of controls per knot, with both ends of the span"
                : "give one row of controls per interval");
  for (std::size_t i = 0; i < values_; ++i) {
    check(std::isfinite(controls.values[i]), "controls.values[" + std::to_string(i) + "] is not finite", "");
  }
  count_ = int(given - ends);
  check(controls.fractions.empty() || controls.fractions.size() + 1 == std::size_t(count_),
        "there are " + std::to_string(controls.fractions.size()) + " knots between " +
            std::to_string(count_) + " intervals",
        "give one fraction of the span fewer than intervals");
  fractions_ = {0};
  for (int k = 1; k < count_; ++k) {
    fractions_.push_back(controls.fractions.empty() ? double(k) / count_ : controls.fractions[k - 1]);
  }
  fractions_.push_back(1);
  for (int k = 0; k < count_; ++k) {
    check(fractions_[k] < fractions_[k + 1], "controls.fractions do not rise from 0 to 1",
          "knots are fractions of the span, strictly between its ends");
    check(t0_ == t1_ || end(k) != (k == 0 ? t0_ : end(k - 1)),
          "an interval of the controls is shorter than the rounding of time", "use fewer knots");
  }

  check(!linear_ || t0_ != t1_, "controls that are linear in time need a time span", "set t1 apart from t0");
  width_ = linear_ ? np_ + 2 * nu_ + 2 : np_ + nu_;
  table_ = tangent(p.data(), controls.values.data(), t0_, t1_);
}

double ParameterRows::end(int k) const {
  const double w = end_fraction(k);
  return w == 1 ? t1_ : t0_ + w * (t1_ - t0_);
}

int ParameterRows::row_at(double t) const {
  const double sign = t1_ >= t0_ ? 1 : -1;
  int low = 0, high = count_ - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (sign * end(middle) < sign * t)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The table is linear in its inputs: its values and its motion are one function.
std::vector<double> ParameterRows::tangent(const double* p_dot, const double* u_dot, double t0_dot,
                                           double t1_dot) const {
  const bool times_move = linear_ && (t0_dot != 0 || t1_dot != 0);
  if (!p_dot && !u_dot && !times_move) return {};
  std::vector<double> table(count_ * width_, 0.0);
  for (int k = 0; k < count_; ++k) {
    double* row = table.data() + k * width_;
    if (p_dot) std::copy_n(p_dot, np_, row);
    if (u_dot) std::copy_n(u_dot + k * nu_, linear_ ? 2 * nu_ : nu_, row + np_);
    if (!times_move) continue;
    for (std::size_t side : {0, 1}) {
      const double w = fractions_[k + side];
      row[width_ - 2 + side] = (1 - w) * t0_dot + w * t1_dot;
    }
  }
  return table;
}

void ParameterRows::transpose(const std::vector<double>& table_bar, double* p_bar, double* u_bar,
                              double& t0_bar, double& t1_bar) const {
  for (int k = 0; k < count_; ++k) {
    const double* row = table_bar.data() + k * width_;
    for (std::size_t i = 0; i < np_; ++i) p_bar[i] += row[i];
    for (std::size_t i = 0; i < (linear_ ? 2 * nu_ : nu_); ++i) u_bar[k * nu_ + i] += row[np_ + i];
    if (!linear_) continue;
    for (std::size_t side : {0, 1}) {
      const double w = fractions_[k + side];
      t0_bar += (1 - w) * row[width_ - 2 + side];
      t1_bar += w * row[width_ - 2 + side];
    }
  }
}

}  // namespace costate::ode
