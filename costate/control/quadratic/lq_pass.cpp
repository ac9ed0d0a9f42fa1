#include "costate/control/quadratic/lq_pass.h"

#include <string>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"

namespace costate::control {

LqPass::LqPass(const LinearQuadratic& problem)
    : problem_(problem),
      stage_(problem.states, problem.controls),
      gains_(std::size_t(problem.steps)),
      P_(std::size_t(problem.steps) + 1, Matrix::Zero(problem.states, problem.states)),
      p_((std::size_t(problem.steps) + 1) * std::size_t(problem.states)) {}

void LqPass::factorise(const char* held) {
  const int n = problem_.states, m = problem_.controls;
  if (!problem_.Qf.empty()) P_.back() = MatrixIn(problem_.Qf.data(), n, n);
  for (int k = problem_.steps - 1; k >= 0; --k) {
    stop_if_interrupted();
    const auto at = std::size_t(k);
    stage_.expand(stage(problem_, k), P_[at + 1].data(), p_.data());
    if (!stage_.gains(held ? held + k * m : nullptr, 0, gains_[at]))
      throw Error({"the problem is not convex: its curvature along the controls is not positive at step " +
                       std::to_string(k),
                   "control::solve", "raise R, or make Q and Qf positive semidefinite"},
                  Error::Kind::numerics);
    stage_.close(gains_[at], P_[at].data(), p_.data());
  }
}

void LqPass::solve(const Terms& t, double* v, double* w, double* mu) {
  const int n = problem_.states, m = problem_.controls, steps = problem_.steps;
  const auto row = [](const double* base, int k, int size) { return base ? base + k * size : nullptr; };
  double* last = p_.data() + steps * n;
  std::fill_n(last, n, 0.0);
  if (t.q) std::copy_n(t.q + steps * n, n, last);
  for (int k = steps - 1; k >= 0; --k) {
    StageData d = stage(problem_, k);
    d.c = row(t.c, k, n), d.q = row(t.q, k, n), d.r = row(t.r, k, m);
    stage_.vectors(d, P(k + 1), p_.data() + (k + 1) * n, gains_[std::size_t(k)], v + k * m,
                   p_.data() + k * n);
  }
  Vector x = Vector::Zero(n), y(n);
  if (t.x0) x = VectorIn(t.x0, n);
  for (int k = 0; k <= steps; ++k) {
    if (w) VectorOut(w + k * n, n) = x;
    if (mu) VectorOut(mu + k * n, n) = MatrixIn(P(k), n, n) * x + VectorIn(p_.data() + k * n, n);
    if (k == steps) break;
    const StageData d = stage(problem_, k);
    VectorOut u(v + k * m, m);
    u.noalias() += gains_[std::size_t(k)].K * x;
    y.noalias() = MatrixIn(d.A, n, n) * x + MatrixIn(d.B, n, m) * u;
    if (t.c) y += VectorIn(t.c + k * n, n);
    x.swap(y);
  }
}

void LqPass::export_gains(LinearQuadraticSolution& to) const {
  to.K.clear(), to.P.clear();
  for (const StageGains& g : gains_) to.K.insert(to.K.end(), g.K.data(), g.K.data() + g.K.size());
  for (const Matrix& P : P_) to.P.insert(to.P.end(), P.data(), P.data() + P.size());
}

}  // namespace costate::control
