// One step of the Riccati recursion, backwards: from the cost to go after a step to the cost to go before it.
//
//   V(x) = 1/2 x'P x + p'x,   x+ = A x + B u + c,   stage cost 1/2 x'Q x + u'S x + 1/2 u'R u + q'x + r'u
//
//   Qxx = Q + A'P+A    Qux = S + B'P+A    Quu = R + B'P+B
//   Qx  = q + A'(p+ + P+c)                Qu  = r + B'(p+ + P+c)
//   u = k + K x with (Quu + mu I) K = -Qux, (Quu + mu I) k = -Qu on the free controls; on held ones K = 0
//   P = Qxx + K'Quu K + K'Qux + Qux'K = Qxx + K'(Qux - mu K),    p = Qx + K'(Quu k + Qu) + Qux'k
//
// Held controls are given, or found by a QP in a box: projected Newton on the controls of this step [1].
// Both products are with [A B] at once: P[A B], then [A B]'P[A B], of which the lower half is computed.
// The recursion is its own transpose: a derivative of the solution is another pass over vectors with the same
// factors (lq.h).
//
// [1] Tassa, Mansard, Todorov: Control-limited differential dynamic programming, ICRA 2014.
// Tests: tests/control/lq_test.cpp, ddp_test.cpp.
#pragma once

#include <vector>

#include "costate/control/dense.h"
#include "costate/core/aligned_buffer.h"

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
  void load(const StageData& stage, const double* P_next);
  void slopes(const StageData& stage);
  bool factorise(double mu, StageGains& to) const;
  void feedback(StageGains& to);

  int n_, m_;
  int width_;  // of the rows of F and H: n + m, padded
  // [A B], P, P[A B], [Q S'; S R] + [A B]'P[A B] (its lower half), and rows of K and of what it is multiplied
  //     by
  AlignedBuffer<double> F_, P_, PF_, H_, K_, M_;
  Matrix Qux_, Quu_;
  Vector Qx_, Qu_, carried_;
  double mu_ = 0;  // of the latest gains
};

}  // namespace costate::control
