#include "costate/control/lqr.h"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <string>

#include "costate/control/dense.h"
#include "costate/core/error.h"

namespace costate::control {
namespace {

constexpr int kDoublings = 60;  // 2^60 steps: what has not settled by then does not

void expect_size(const char* name, const std::vector<double>& numbers, int rows, int columns) {
  if (numbers.size() == std::size_t(rows) * std::size_t(columns)) return;
  throw Error(std::string(name) + " has " + std::to_string(numbers.size()) + " numbers instead of " +
              std::to_string(rows) + " x " + std::to_string(columns));
}

void check(const Regulator& r) {
  if (r.states < 1 || r.controls < 1) throw Error("a regulator needs at least one state and one control");
  expect_size("A", r.A, r.states, r.states), expect_size("B", r.B, r.states, r.controls);
  expect_size("Q", r.Q, r.states, r.states), expect_size("R", r.R, r.controls, r.controls);
  if (!r.S.empty()) expect_size("S", r.S, r.controls, r.states);
  for (const auto* matrix : {&r.A, &r.B, &r.Q, &r.R, &r.S})
    for (const double number : *matrix)
      if (!std::isfinite(number)) throw Error("a matrix of the regulator has a number that is not finite");
}

struct Views {
  MatrixIn A, B, Q, R;
  Matrix S;
  explicit Views(const Regulator& r)
      : A(r.A.data(), r.states, r.states),
        B(r.B.data(), r.states, r.controls),
        Q(r.Q.data(), r.states, r.states),
        R(r.R.data(), r.controls, r.controls),
        S(r.S.empty() ? Matrix::Zero(r.controls, r.states)
                      : Matrix(MatrixIn(r.S.data(), r.controls, r.states))) {}
};

[[noreturn]] void no_regulator() {
  throw Error({"no feedback makes this system stable at a finite cost", "control::solve",
               "every unstable mode needs a control that moves it and a weight in Q that sees it"},
              Error::Kind::numerics);
}

// W = W0 + C W C': sums of 1, 2, 4, ... terms.
Matrix sum_of_powers(Matrix C, Matrix W) {
  for (int i = 0; i < kDoublings; ++i) {
    const Matrix more = C * W * C.transpose();
    W = symmetric(W + more);
    if (!(more.norm() > 1e-18 * W.norm())) return W;
    C = C * C;
    if (!C.allFinite() || !W.allFinite()) no_regulator();
  }
  no_regulator();
}

// H converges to P; with the controls eliminated, A = A - B R^-1 S and Q = Q - S'R^-1 S.
Matrix by_doubling(const Views& v) {
  const Eigen::LLT<Matrix> R(symmetric(v.R));
  if (R.info() != Eigen::Success)
    throw Error({"the weight R of the controls is not positive definite", "control::solve",
                 "give every control a price"});
  const auto n = v.A.rows();
  Matrix A = v.A - v.B * R.solve(v.S), G = v.B * R.solve(v.B.transpose());
  Matrix H = symmetric(v.Q) - v.S.transpose() * R.solve(v.S);
  for (int i = 0; i < kDoublings; ++i) {
    const Eigen::PartialPivLU<Matrix> W(Matrix::Identity(n, n) + G * H);
    const Matrix WA = W.solve(A), WG = W.solve(G);
    const Matrix more = A.transpose() * H * WA;
    G = symmetric(G + A * WG * A.transpose());
    H = symmetric(H + more);
    A = A * WA;
    if (!H.allFinite() || !G.allFinite() || !A.allFinite()) no_regulator();
    if (more.norm() <= 1e-15 * H.norm()) return H;
  }
  no_regulator();
}

Matrix gain(const Views& v, const Matrix& P) {
  const Matrix M = v.R + v.B.transpose() * P * v.B;
  return Eigen::LLT<Matrix>(symmetric(M)).solve(v.B.transpose() * P * v.A + v.S);
}

}  // namespace

RegulatorSolution solve(const Regulator& regulator) {
  check(regulator);
  const Views v(regulator);
  Matrix P = by_doubling(v), K = gain(v, P), closed = v.A - v.B * K;
  const double radius = closed.eigenvalues().cwiseAbs().maxCoeff();
  if (!(radius < 1)) no_regulator();
  const Matrix KS = K.transpose() * v.S;
  P = sum_of_powers(closed.transpose(),
                    symmetric(v.Q) + K.transpose() * symmetric(v.R) * K - KS - KS.transpose());
  K = gain(v, P);
  return {numbers_of(P), numbers_of(K), radius};
}

Regulator solve_vjp(const Regulator& regulator, const RegulatorSolution& solution,
                    const std::vector<double>& P_bar, const std::vector<double>& K_bar) {
  check(regulator);
  const Views v(regulator);
  const int n = regulator.states, m = regulator.controls;
  const MatrixIn P(solution.P.data(), n, n), K(solution.K.data(), m, n);
  const Matrix closed = v.A - v.B * K;
  Matrix W = Matrix::Zero(n, n), Y = Matrix::Zero(m, n);
  if (!P_bar.empty()) expect_size("the cotangent of P", P_bar, n, n), W = MatrixIn(P_bar.data(), n, n);
  if (!K_bar.empty()) {
    expect_size("the cotangent of K", K_bar, m, n);
    Y = Eigen::LLT<Matrix>(symmetric(v.R + v.B.transpose() * P * v.B)).solve(MatrixIn(K_bar.data(), m, n));
  }
  W = sum_of_powers(closed, symmetric(W + v.B * Y * closed.transpose()));
  const Matrix PCW = P * closed * W, PBY = P * v.B * Y;
  Regulator bar{n, m, {}, {}, {}, {}, {}};
  bar.Q = numbers_of(W);
  bar.R = numbers_of(symmetric(K * W * K.transpose() - Y * K.transpose()));
  bar.S = numbers_of(Matrix(Y - 2 * K * W));
  bar.A = numbers_of(Matrix(2 * PCW + PBY));
  bar.B = numbers_of(Matrix(-2 * PCW * K.transpose() + P * closed * Y.transpose() - PBY * K.transpose()));
  return bar;
}

}  // namespace costate::control
