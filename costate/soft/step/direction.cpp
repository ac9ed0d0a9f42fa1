// Where Newton's iteration goes from z: H d = -r.
//
//   few vertices    a factorisation of H per iteration
//   many            conjugate gradients on H, to what the tolerance of the step can see [1]. The
//                   preconditioner is a factor in single precision of the first H of the step, with what
//                   touched then; while barriers are far from balance, of each H
//
// The second way needs one factorisation per step in half of the time, where the first one needs two or more.
// The factor is never older than the step: a step is a function of its inputs. Where H is not positive
// definite, the negative parts of cells are left out first; where that, or the preconditioner, is not good
// enough, the first way is taken.
// [1] Nocedal, Wright: Numerical Optimization, 2nd ed., section 7.1 (inexact Newton).
// Tests: tests/soft/direction_test.cpp.
#include <algorithm>
#include <cmath>

#include "costate/soft/step/implicit_step.h"

namespace costate::soft {
namespace {

constexpr int kMostIterations = 60;
constexpr int kMostWithAnOldFactor = 20;
constexpr double kFar = 0.1;          // residual over forces: so large where barriers are far from balance
constexpr int kRoundsOfAFactor = 10;  // rounds of conjugate gradients that take as long as a factorisation

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double lane[8] = {}, sum = 0;
  std::size_t i = 0;
  for (; i + 8 <= a.size(); i += 8)
    for (std::size_t l = 0; l < 8; ++l) lane[l] += a[i + l] * b[i + l];
  for (; i < a.size(); ++i) sum += a[i] * b[i];
  for (const double part : lane) sum += part;
  return sum;
}

}  // namespace

bool ImplicitStep::direction(const Numbers& m, double tolerance, StepScratch& s) const {
  for (std::size_t k = 0; k < s.d.size(); ++k) s.d[k] = c_.free[k / 3] ? -s.r[k] : 0;
  if (s.carried) return carried_direction(m, s);
  bool indefinite = false;
  if (c_.n >= kManyVertices) {
    // Far from the solution a direction need not be better than the matrix that it is one of.
    const double rough = std::clamp(0.3 * s.norm / s.forces, 1e-2, 0.1);
    const double accuracy = std::clamp(0.3 * tolerance * s.forces / s.norm, 1e-10, rough);
    const auto restart = [&] {
      for (std::size_t k = 0; k < s.d.size(); ++k) s.d[k] = c_.free[k / 3] ? -s.r[k] : 0;
    };
    if (approximate_direction(accuracy, s)) return true;
    indefinite = s.indefinite;
    restart();
    matrix(m, s.z.data(), true, s);
    s.single_age = -1;
    if (approximate_direction(std::max(accuracy, 1e-3), s)) return true;
    restart();
  }
  return exact_direction(m, s, indefinite);
}

// s.d <- H^-1 s.d, or of something near H that is positive definite: without the negative parts of cells and
// pairs, at once where `convex`, and if that is not enough with more and more on the diagonal. False where
// nothing near it is.
bool ImplicitStep::exact_direction(const Numbers& m, StepScratch& s, bool convex) const {
  if (convex) matrix(m, s.z.data(), true, s);
  double diagonal = 0;
  for (int i = 0; i < 3 * c_.n; ++i)
    diagonal += s.blocks[std::size_t(9 * (i / 3) + 4 * (i % 3))] / (3 * c_.n);
  double shift = 0;
  while (!factor(s, shift)) {
    if (!convex) matrix(m, s.z.data(), true, s);
    convex = true;
    shift = shift == 0 ? 1e-10 * std::abs(diagonal) : 10 * shift;
    if (!std::isfinite(shift) || shift > 1e12 * std::abs(diagonal)) return false;
  }
  solve_with_factor(s.d.data(), s);
  return true;
}

// Where the last solution took longer than a factorisation, another one comes first.
bool ImplicitStep::approximate_direction(double accuracy, StepScratch& s) const {
  std::copy(s.d.begin(), s.d.end(), s.trial.begin());
  // Far from the solution barriers change by orders of magnitude from one iteration to the next.
  const bool far = touching(s) && s.norm > kFar * s.forces;
  if (s.single_age >= 0 && s.rounds <= kRoundsOfAFactor && !far) {
    ++s.single_age;
    if (conjugate_gradients(accuracy, s)) return true;
    std::copy(s.trial.begin(), s.trial.end(), s.d.begin());
  }
  s.single_age = factor_single(s) ? 0 : -1;
  s.indefinite = s.single_age < 0;
  return s.single_age == 0 && conjugate_gradients(accuracy, s);
}

// s.d <- H^-1 s.d to `accuracy`, relative to s.d. False where that does not come about; s.indefinite says
// whether because H has a negative curvature.
bool ImplicitStep::conjugate_gradients(double accuracy, StepScratch& s) const {
  std::vector<double>&x = s.d, &r = s.refine, &p = s.mu, &Hp = s.coupling, &z = s.y_bar;
  r = x;
  std::fill(x.begin(), x.end(), 0.0);
  const double enough = accuracy * accuracy * dot(r, r);
  const int most = s.single_age > 0 ? kMostWithAnOldFactor : kMostIterations;
  double rz = 0;
  s.indefinite = true;
  for (int k = 0; k < most; ++k) {
    s.rounds = k + 1;
    z = r;
    s.preconditioner->solve_single(z.data(), s.solve_work.data());
    const double rz_now = dot(r, z);
    if (!(rz_now > 0)) return false;
    const double beta = k == 0 ? 0 : rz_now / rz;
    if (k == 0) p = z;
    for (std::size_t i = 0; k > 0 && i < p.size(); ++i) p[i] = z[i] + beta * p[i];
    multiply(p.data(), Hp.data(), s);
    for (std::size_t i = 0; i < Hp.size(); ++i)
      if (!c_.free[i / 3]) Hp[i] = 0;
    const double curve = dot(p, Hp);
    if (!(curve > 0)) return false;
    const double alpha = rz_now / curve;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += alpha * p[i], r[i] -= alpha * Hp[i];
    if (dot(r, r) <= enough) return true;
    rz = rz_now;
  }
  s.indefinite = false;
  return false;
}

}  // namespace costate::soft
