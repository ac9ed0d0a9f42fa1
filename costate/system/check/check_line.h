// What checks of gradients measure, whatever has the gradient: a rollout (checks.h) or a study
// (study/check.h).
//
// A Line is a loss along one direction, from a point whose gradient is known. With Li the loss at the point
// plus i h times the direction:
//
//   difference   (45 (L1 - L-1) - 9 (L2 - L-2) + (L3 - L-3)) / (60 h)   both sides, error h^6
//   side         (-11 L0 + 18 L1 - 9 L2 + 2 L3) / (6 h)                 one side, error h^3; h < 0: the other
//   Taylor       |L(h) - L0 - h slope| falls like h^2 or faster; with a wrong slope it falls like h
//
// Differences are shortened where they disagree: too long a step meets other branches, too short a step meets
// rounding. The best of several steps counts, since no step makes a wrong gradient right. Where contacts
// change in other steps of the simulation than at the point, steps are shortened until they do not; a line
// along which they always do is not comparable, and the result says so instead of failing. So does one of a
// loss that jumps within every difference (check_jumps.h).
// Tests: tests/system/check/checks_test.cpp, tests/study/check_test.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace costate::check {

struct Result {
  std::string name;
  double error = 0;  // relative
  double gate = 0;   // passes below this
  std::string detail;
  bool skipped = false;  // there was nothing to measure
  bool passed() const { return skipped || error <= gate; }
  std::string to_text() const;
};

// How long differences may be, how well they then agree with the gradient, and how much of a loss is noise
// (rounding, or the tolerance of a solver).
struct Stencil {
  double step = 1e-3, gate = 1e-8, noise = 1e-13;
};

struct Line {
  std::string name;
  double at = 0;     // the loss at the point
  double slope = 0;  // <gradient, direction>
  double norm = 0;   // how large such a slope usually is
  std::function<double(double h)> loss = {};
  // Whether contacts change in the same steps at h as at the point; empty: there are none.
  std::function<bool(double h)> same = {};

  double value(double h) const;  // NaN where the physics cannot be simulated
  double difference(double h) const;
  double side(double h) const;
  bool same_pattern(double h) const;
  // The longest of h, h/4, h/16, ... at which the whole stencil has one pattern; 0: none.
  double comparable(double h) const;
};

// Slopes of the loss on the two sides of a point where it has no derivative.
struct Kink {
  std::string field;
  double left = 0, right = 0, gradient = 0;
  std::string to_text() const;
};

// The stencil over all lines through a point, of which the first says what is large. `over` follows the
// number of directions in the detail. `kink` is filled in where the worst line has one.
struct StencilOutcome {
  Result result;
  std::optional<Kink> kink;
};
StencilOutcome compare_stencil(const std::vector<Line>& lines, const Stencil& how,
                               const std::string& over = {});

// Halvings from 64 how.step on. The error is how much slower than h^2 the remainder falls.
Result compare_taylor(const Line& line, const Stencil& how, double gate);

// Where the gradient is the mean of two slopes, differences over both sides agree with it, and only Taylor's
// remainder does not.
std::optional<Kink> kink_of(const Line& line, const Stencil& how);

}  // namespace costate::check
