// The linear-quadratic regulator over an infinite horizon, and its derivatives.
//
//   minimise  J = 1/2 sum_{k>=0} x'Qx + 2 u'Sx + u'Ru,    x+ = A x + B u,    u = -K x
//   P = Q + A'PA - K'(R + B'PB)K,    K = (R + B'PB)^-1 (B'PA + S),    J = 1/2 x0'P x0
//
// P by structure-preserving doubling [1], then one step of Newton's method, which is a Lyapunov equation:
// P = C'PC + Q + K'RK - K'S - S'K with the closed loop C = A - BK. Transpose, for cotangents P_ and K_:
//
//   Y = (R + B'PB)^-1 K_;     W = C W C' + sym(P_ + B Y C')
//   Q_ = W;  R_ = sym(K W K' - Y K');  S_ = Y - 2 K W
//   A_ = 2 P C W + P B Y;  B_ = -2 P C W K' + P C Y' - P B Y K'
//
// The derivative with respect to Q, R is of one entry alone: both off-diagonal entries move independently.
//
// [1] Chu, Fan, Lin, Wang: Structure-preserving algorithms for periodic discrete-time algebraic Riccati
//     equations, Int. J. Control 77 (2004).
// Tests: tests/control/lqr_test.cpp.
#pragma once

#include <vector>

namespace costate::control {

// Row-major: A states x states, B states x controls, Q states x states, R controls x controls,
// S controls x states, empty for zero.
struct Regulator {
  int states = 0, controls = 0;
  std::vector<double> A, B, Q, R, S = {};
};

struct RegulatorSolution {
  std::vector<double> P;  // states x states: the cost to go is 1/2 x'Px
  std::vector<double> K;  // controls x states: u = -K x
  double radius = 0;      // of the closed loop: its slowest mode shrinks by this factor per step
};

// Error where no feedback makes the system stable at a finite cost, and where R is not positive definite.
RegulatorSolution solve(const Regulator& regulator);

// Cotangents of the five matrices from those of P and K; an empty one is zero.
Regulator solve_vjp(const Regulator& regulator, const RegulatorSolution& solution,
                    const std::vector<double>& P_bar, const std::vector<double>& K_bar);

}  // namespace costate::control
