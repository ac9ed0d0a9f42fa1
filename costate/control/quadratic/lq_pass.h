// The Newton system of a linear-quadratic problem with some controls held: factors of all steps, then any
// number of right-hand sides.
//
//   [H  D'] (w, v)     (x_, u_)
//   [D  0 ] (  mu )  = -(  c_  )       H: curvature, D: x_{k+1} - A x_k - B u_k, on the free controls
//
// The matrix is symmetric, so a solve is its own transpose.
// Tests: tests/control/lq_test.cpp.
#pragma once

#include "costate/control/quadratic/lq.h"
#include "costate/control/quadratic/riccati.h"

namespace costate::control {

void check(const LinearQuadratic& problem);

// Numbers of step k.
inline StageData stage(const LinearQuadratic& p, int k) {
  const auto n = std::size_t(p.states), m = std::size_t(p.controls);
  const auto at = [&](const std::vector<double>& v, std::size_t once) -> const double* {
    return v.empty() ? nullptr : v.data() + (v.size() == once ? 0 : std::size_t(k) * once);
  };
  return {at(p.A, n * n), at(p.B, n * m), at(p.c, n), at(p.Q, n * n),
          at(p.S, m * n), at(p.R, m * m), at(p.q, n), at(p.r, m)};
}

class LqPass {
 public:
  explicit LqPass(const LinearQuadratic& problem);

  // held: steps x controls, not zero where a control does not move; null: all are free. Error where the
  // problem is not convex.
  void factorise(const char* held);

  // Linear terms: of states (steps + 1 rows), controls (steps rows), dynamics (steps rows), and the first
  // state. Null: zero.
  struct Terms {
    const double *q, *r, *c, *x0;
  };
  // The controls v (steps rows), and where they are not null the states w and the costates mu (steps + 1
  // rows).
  void solve(const Terms& terms, double* v, double* w, double* mu);

  void export_gains(LinearQuadraticSolution& to) const;
  const double* P(int k) const { return P_[std::size_t(k)].data(); }

 private:
  const LinearQuadratic& problem_;
  RiccatiStage stage_;
  std::vector<StageGains> gains_;
  std::vector<Matrix> P_;
  std::vector<double> p_;  // linear part of the cost to go, steps + 1 rows
};

}  // namespace costate::control
