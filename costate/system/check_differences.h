// check_differences: is this gradient right? The gradient of a loss against differences of the loss itself.
//
//   stencil        the gradient along random directions, over all inputs and over those of one name,
//                  against (45 (L1 - L-1) - 9 (L2 - L-2) + (L3 - L-3)) / (60 h)
//   Taylor         |L(z + h d) - L(z) - h <g, d>| falls like h^2
//
// Differences are as long as the physics allows (Stencil) and are shortened where they disagree: too long a
// step meets other branches, too short a step meets rounding. The best of several steps counts, since no step
// makes a wrong gradient right.
//
// Errors are relative to the gradient of the inputs that were moved. Where that is nearly zero they are
// relative to 1e-2 of the whole gradient, or to what rounding does to a difference. A failure names the worst
// field.
//
// A run may start on a kink: liquid at rest against a wall neither presses nor leaves. There the loss has one
// slope on each side, and no derivative. Where one-sided differences show it, the check steps off the start,
// by 1e-3 of the scales, and says so. A wrong gradient is wrong there, too.
//
// Rigid bodies say in which steps their contacts change (GradientReport::mode_switches). Steps are shortened
// until these are the same at every point of the stencil; a direction in which they never are is not
// comparable, and the result says so instead of failing. Where differences converge like h only, as they do
// at the corner between two geoms of equal softness, their limit is compared.
// Tests: tests/study/check_test.cpp, tests/system/check_differences_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/system/checks.h"

namespace costate::check {

// How long differences may be, in units of the scales, how well they then agree with the gradient, and how
// much of a loss is noise (rounding, or the tolerance of a solver).
struct Stencil {
  double step = 1e-3, gate = 1e-8, noise = 1e-13;
};

// Inputs that are moved together, by their numbers.
struct MovedTogether {
  std::string name;
  std::vector<std::size_t> members;
};

// A loss as a function of numbers in units of their scales.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual double value(const std::vector<double>& z) = 0;
  // Also writes the gradient, and the steps in which contacts change.
  virtual double value_and_gradient(const std::vector<double>& z, double* gradient,
                                    std::vector<std::int64_t>& pattern) = 0;
  virtual bool has_modes() const { return true; }  // false: there are no contacts that could change

  std::vector<MovedTogether> fields;  // all of them first, then one by one
  Stencil stencil = {};
  std::string detail;  // said of what was compared
};

// Stencil and Taylor.
std::vector<Result> check_differences(Subject& subject, const std::vector<double>& z, std::uint64_t seed);

// Of a rollout, over its start, its controls and its active parameters, in double or single precision. A
// state or control is measured in units of max(1, |value|), a parameter in units of itself.
template <class Real>
std::vector<Result> check_differences(Rollout<Real>& rollout, const Arguments<Real>& at,
                                      const Objective<Real>& objective, const Options& options = {});

}  // namespace costate::check
