// One step of the Riccati recursion, backwards: from the cost to go after a step to the cost to go before it.
//
//   V(x) = 1/2 x'P x + p'x,   x+ = A x + B u + c,   stage cost 1/2 x'Q x + u'S x + 1/2 u'R u + q'x + r'u
//
//   Qxx = Q + A'P+A    Qux = S + B'P+A    Quu = R + B'P+B
//   Qx  = q + A'(p+ + P+c)                Qu  = r + B'(p+ + P+c)
//   u = k + K x with (Quu + mu I) K = -Qux, (Quu + mu I) k = -Qu on the free controls; on held ones K = 0
//   P = Qxx + K'Quu K + K'Qux + Qux'K,    p = Qx + K'(Quu k + Qu) + Qux'k
//
// Held controls are given, or found by a QP in a box: projected Newton on the controls of this step [1].
// The recursion is its own transpose: a derivative of the solution is another pass over vectors with the same
// factors (lq.h).
//
// [1] Tassa, Mansard, Todorov: Control-limited differential dynamic programming, ICRA 2014.
// Tests: tests/control/lq_test.cpp, ddp_test.cpp.
#pragma once

#include <vector>

#include "costate/control/dense.h"

namespace costate::control {

// Numbers of one step; null: zero. A, B, Q and R are always there.
struct StageData {
  const double *A, *B, *c, *Q, *S, *R, *q, *r;
};

// What a step leaves: its gains, and the factor of Quu on the free controls.
struct StageGains {
  Matrix K;
  Vector k;
  Eigen::LLT<Matrix> factor;
  std::vector<int> free;
};

class RiccatiStage {
 public:
  RiccatiStage(int states, int controls);

  void expand(const StageData& stage, const double* P_next, const double* p_next);
  // The controls marked in `held` (null: none) do not move. False: Quu + mu I is not positive definite on the
  // others.
  bool gains(const char* held, double mu, StageGains& to);
  // The same under lower <= k <= upper. k starts from to.k; `held` says at the end which bound holds which
  // control.
  bool bounded_gains(const double* lower, const double* upper, double mu, StageGains& to, char* held);
  // P and p before the step.
  void close(const StageGains& gains, double* P, double* p);

  // Vectors alone, with the factor of an earlier gains() at mu = 0: k and p from other linear terms.
  void vectors(const StageData& stage, const double* P_next, const double* p_next, const StageGains& gains,
               double* k, double* p);

  const Vector& Qu() const { return Qu_; }
  const Matrix& Quu() const { return Quu_; }

 private:
  bool factorise(double mu, StageGains& to) const;
  void feedback(StageGains& to) const;

  int n_, m_;
  Matrix PA_, PB_, Qxx_, Qux_, Quu_, M_;
  Vector Qx_, Qu_, carried_;
};

}  // namespace costate::control
