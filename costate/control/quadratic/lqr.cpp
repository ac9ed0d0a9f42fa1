#include "costate/control/quadratic/lqr.h"

#include <cmath>
#include <string>

#include "costate/control/dense.h"
#include "costate/core/error.h"
#include "costate/solve/dense_lu.h"

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

// X^-1 Y. Not finite where X is singular.
Matrix eliminated(const Matrix& X, const Matrix& Y) {
  solve::DenseLu<double> lu(int(X.rows()));
  if (!lu.factorise(X.data())) return Matrix::Constant(Y.rows(), Y.cols(), NAN);
  Matrix columns = Y.transpose();
  for (Eigen::Index j = 0; j < columns.rows(); ++j) lu.solve(columns.row(j).data(), columns.row(j).data());
  return columns.transpose();
}

struct Matrices {
  Matrix A, B, Q, R, S;
  explicit Matrices(const Regulator& r)
      : A(MatrixIn(r.A.data(), r.states, r.states)),
        B(MatrixIn(r.B.data(), r.states, r.controls)),
        Q(symmetric(MatrixIn(r.Q.data(), r.states, r.states))),
        R(symmetric(MatrixIn(r.R.data(), r.controls, r.controls))),
        S(Matrix::Zero(r.controls, r.states)) {
    if (!r.S.empty()) S = MatrixIn(r.S.data(), r.controls, r.states);
  }
};

[[noreturn]] void no_regulator() {
  throw Error({"no feedback makes this system stable at a finite cost", "control::solve",
               "every unstable mode needs a control that moves it and a weight in Q that sees it"},
              Error::Kind::numerics);
}

// W = W0 + C W C': sums of 1, 2, 4, ... terms.
Matrix sum_of_powers(Matrix C, Matrix W) {
  for (int i = 0; i < kDoublings; ++i) {
    const Matrix more = congruent(C, W);
    W = symmetric(W + more);
    if (!(more.norm() > 1e-18 * W.norm())) return W;
    C = times(C, C);
    if (!C.allFinite() || !W.allFinite()) no_regulator();
  }
  no_regulator();
}

// The largest absolute value of an eigenvalue: |C^p|^(1/p) for p = 2^kDoublings, with C kept near 1.
double spectral_radius(Matrix C) {
  double logarithm = 0, power = 1;
  for (int i = 0; i < kDoublings; ++i) {
    const double size = C.norm();
    if (!(size > 0)) return 0;
    logarithm += std::log(size) / power;
    C = times(C / size, C / size);
    power *= 2;
  }
  return std::exp(logarithm);
}

// H converges to P; with the controls eliminated, A = A - B R^-1 S and Q = Q - S'R^-1 S.
Matrix by_doubling(const Matrices& v) {
  const Eigen::LLT<Matrix> R(v.R);
  if (R.info() != Eigen::Success)
    throw Error({"the weight R of the controls is not positive definite", "control::solve",
                 "give every control a price"});
  const auto n = v.A.rows();
  const Matrix RS = solved(R, v.S);
  Matrix A = v.A - times(v.B, RS), G = times(v.B, solved(R, v.B.transpose()));
  Matrix H = v.Q - transposed_times(v.S, RS);
  for (int i = 0; i < kDoublings; ++i) {
    const Matrix W = Matrix::Identity(n, n) + times(G, H), WA = eliminated(W, A), WG = eliminated(W, G);
    const Matrix more = transposed_times(A, times(H, WA));
    G = symmetric(G + congruent(A, WG));
    H = symmetric(H + more);
    A = times(A, WA);
    if (!H.allFinite() || !G.allFinite() || !A.allFinite()) no_regulator();
    if (more.norm() <= 1e-15 * H.norm()) return H;
  }
  no_regulator();
}

// (R + B'PB)^-1
Eigen::LLT<Matrix> control_weight(const Matrices& v, const Matrix& P) {
  return Eigen::LLT<Matrix>(symmetric(v.R + transposed_times(v.B, times(P, v.B))));
}
Matrix gain(const Matrices& v, const Matrix& P) {
  return solved(control_weight(v, P), transposed_times(v.B, times(P, v.A)) + v.S);
}

}  // namespace

RegulatorSolution solve(const Regulator& regulator) {
  check(regulator);
  const Matrices v(regulator);
  Matrix P = by_doubling(v), K = gain(v, P), closed = v.A - times(v.B, K);
  const double radius = spectral_radius(closed);
  if (!(radius < 1)) no_regulator();
  const Matrix KS = transposed_times(K, v.S);
  P = sum_of_powers(closed.transpose(), symmetric(v.Q + transposed_times(K, times(v.R, K)) - 2 * KS));
  K = gain(v, P);
  return {numbers_of(P), numbers_of(K), radius};
}

Regulator solve_vjp(const Regulator& regulator, const RegulatorSolution& solution,
                    const std::vector<double>& P_bar, const std::vector<double>& K_bar) {
  check(regulator);
  const Matrices v(regulator);
  const int n = regulator.states, m = regulator.controls;
  const Matrix P = MatrixIn(solution.P.data(), n, n), K = MatrixIn(solution.K.data(), m, n);
  const Matrix closed = v.A - times(v.B, K);
  Matrix W = Matrix::Zero(n, n), Y = Matrix::Zero(m, n);
  if (!P_bar.empty()) expect_size("the cotangent of P", P_bar, n, n), W = MatrixIn(P_bar.data(), n, n);
  if (!K_bar.empty()) {
    expect_size("the cotangent of K", K_bar, m, n);
    Y = solved(control_weight(v, P), MatrixIn(K_bar.data(), m, n));
  }
  W = sum_of_powers(closed, symmetric(W + times_transposed(times(v.B, Y), closed)));
  const Matrix PC = times(P, closed), PCW = times(PC, W), PBY = times(P, v.B, Y), KW = times(K, W);
  Regulator bar{n, m, {}, {}, {}, {}, {}};
  bar.Q = numbers_of(W);
  bar.R = numbers_of(symmetric(times_transposed(Matrix(KW - Y), K)));
  bar.S = numbers_of(Matrix(Y - 2 * KW));
  bar.A = numbers_of(Matrix(2 * PCW + PBY));
  bar.B = numbers_of(Matrix(times_transposed(PC, Y) - times_transposed(Matrix(2 * PCW + PBY), K)));
  return bar;
}

}  // namespace costate::control
