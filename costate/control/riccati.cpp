#include "costate/control/riccati.h"

#include <algorithm>
#include <cmath>

namespace costate::control {
namespace {

void mirror_lower(Matrix& m) {
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    for (Eigen::Index j = i + 1; j < m.cols(); ++j) m(i, j) = m(j, i);
}

constexpr int kBoxIterations = 100;

}  // namespace

RiccatiStage::RiccatiStage(int states, int controls)
    : n_(states),
      m_(controls),
      PA_(states, states),
      PB_(states, controls),
      Qxx_(states, states),
      Qux_(controls, states),
      Quu_(controls, controls),
      M_(controls, states),
      Qx_(states),
      Qu_(controls),
      carried_(states) {}

void RiccatiStage::expand(const StageData& s, const double* P_next, const double* p_next) {
  const MatrixIn A(s.A, n_, n_), B(s.B, n_, m_), P(P_next, n_, n_);
  PA_.noalias() = P * A;
  PB_.noalias() = P * B;
  Qxx_ = MatrixIn(s.Q, n_, n_);
  Qxx_.triangularView<Eigen::Lower>() += A.transpose() * PA_;
  mirror_lower(Qxx_);
  if (s.S)
    Qux_ = MatrixIn(s.S, m_, n_);
  else
    Qux_.setZero();
  Qux_.noalias() += PB_.transpose() * A;
  Quu_ = MatrixIn(s.R, m_, m_);
  Quu_.triangularView<Eigen::Lower>() += B.transpose() * PB_;
  mirror_lower(Quu_);
  if (!p_next) return;
  carried_ = VectorIn(p_next, n_);
  if (s.c) carried_.noalias() += P * VectorIn(s.c, n_);
  Qx_.noalias() = A.transpose() * carried_;
  Qu_.noalias() = B.transpose() * carried_;
  if (s.q) Qx_ += VectorIn(s.q, n_);
  if (s.r) Qu_ += VectorIn(s.r, m_);
}

bool RiccatiStage::factorise(double mu, StageGains& to) const {
  const auto count = Eigen::Index(to.free.size());
  Matrix H(count, count);
  for (Eigen::Index i = 0; i < count; ++i)
    for (Eigen::Index j = 0; j < count; ++j)
      H(i, j) = Quu_(to.free[std::size_t(i)], to.free[std::size_t(j)]) + (i == j ? mu : 0.0);
  to.factor.compute(H);
  if (count == 0) return true;
  // A pivot that is only rounding is no curvature.
  const auto pivots = to.factor.matrixLLT().diagonal();
  return to.factor.info() == Eigen::Success && H.allFinite() &&
         pivots.minCoeff() > 1e-8 * std::sqrt(std::abs(H.diagonal().maxCoeff()));
}

// K from the factor on the free controls.
void RiccatiStage::feedback(StageGains& to) const {
  to.K.setZero(m_, n_);
  const auto count = Eigen::Index(to.free.size());
  if (count == 0) return;
  if (count == m_) {
    to.K = -Qux_;
    to.factor.solveInPlace(to.K);
    return;
  }
  Matrix rows(count, n_);
  for (Eigen::Index i = 0; i < count; ++i) rows.row(i) = -Qux_.row(to.free[std::size_t(i)]);
  to.factor.solveInPlace(rows);
  for (Eigen::Index i = 0; i < count; ++i) to.K.row(to.free[std::size_t(i)]) = rows.row(i);
}

bool RiccatiStage::gains(const char* held, double mu, StageGains& to) {
  to.free.clear();
  for (int i = 0; i < m_; ++i)
    if (!held || held[i] == 0) to.free.push_back(i);
  if (!factorise(mu, to)) return false;
  feedback(to);
  Vector b(Eigen::Index(to.free.size()));
  for (std::size_t i = 0; i < to.free.size(); ++i) b[Eigen::Index(i)] = -Qu_[to.free[i]];
  if (!to.free.empty()) to.factor.solveInPlace(b);
  to.k.setZero(m_);
  for (std::size_t i = 0; i < to.free.size(); ++i) to.k[to.free[i]] = b[Eigen::Index(i)];
  return true;
}

// min 1/2 k'(Quu + mu I)k + Qu'k in a box: Newton's step on the free controls, projected, halved until the
// value falls.
bool RiccatiStage::bounded_gains(const double* lower, const double* upper, double mu, StageGains& to,
                                 char* held) {
  Vector& k = to.k;
  if (k.size() != m_) k.setZero(m_);
  const auto clamp = [&](int i, double v) { return std::min(std::max(v, lower[i]), upper[i]); };
  for (int i = 0; i < m_; ++i) k[i] = clamp(i, k[i]);
  const auto slope = [&](const Vector& at) { return Vector(Quu_ * at + mu * at + Qu_); };
  const auto value = [&](const Vector& at) {
    return 0.5 * at.dot(Quu_ * at) + 0.5 * mu * at.squaredNorm() + Qu_.dot(at);
  };
  double now = value(k);
  std::vector<int> before(1, -1);
  for (int iteration = 0; iteration < kBoxIterations; ++iteration) {
    const Vector g = slope(k);
    to.free.clear();
    for (int i = 0; i < m_; ++i) {
      held[i] = k[i] == lower[i] && g[i] > 0 ? -1 : k[i] == upper[i] && g[i] < 0 ? 1 : 0;
      if (lower[i] == upper[i]) held[i] = -1;
      if (held[i] == 0) to.free.push_back(i);
    }
    if (to.free != before) {
      if (!factorise(mu, to)) return false;
      before = to.free;
    }
    if (to.free.empty()) break;
    Vector d(Eigen::Index(to.free.size()));
    for (std::size_t i = 0; i < to.free.size(); ++i) d[Eigen::Index(i)] = -g[to.free[i]];
    to.factor.solveInPlace(d);
    double length = 1, next = now, moved = 0;
    Vector trial = k;
    for (;; length /= 2) {
      trial = k;
      for (std::size_t i = 0; i < to.free.size(); ++i)
        trial[to.free[i]] = clamp(to.free[i], k[to.free[i]] + length * d[Eigen::Index(i)]);
      next = value(trial), moved = (trial - k).lpNorm<Eigen::Infinity>();
      if (next <= now + 1e-4 * g.dot(trial - k) || length < 1e-10) break;
    }
    if (!(next <= now)) break;  // rounding
    k = trial, now = next;
    if (length == 1 && moved <= 1e-14 * (1 + k.lpNorm<Eigen::Infinity>())) break;
  }
  feedback(to);
  return true;
}

void RiccatiStage::close(const StageGains& g, double* P_out, double* p_out) {
  MatrixOut P(P_out, n_, n_);
  M_ = Qux_;
  M_.noalias() += Quu_ * g.K;  // zero on the free controls where mu = 0
  M_ += Qux_;                  // P = Qxx + 1/2 (K'(Quu K + 2 Qux) + its transpose)
  P = Qxx_;
  P.triangularView<Eigen::Lower>() += 0.5 * (g.K.transpose() * M_);
  P.triangularView<Eigen::Lower>() += 0.5 * (M_.transpose() * g.K);
  for (int i = 0; i < n_; ++i)
    for (int j = i + 1; j < n_; ++j) P(i, j) = P(j, i);
  VectorOut p(p_out, n_);
  p = Qx_ + g.K.transpose() * (Quu_ * g.k + Qu_) + Qux_.transpose() * g.k;
}

void RiccatiStage::vectors(const StageData& s, const double* P_next, const double* p_next,
                           const StageGains& g, double* k_out, double* p_out) {
  const MatrixIn A(s.A, n_, n_), B(s.B, n_, m_);
  carried_ = VectorIn(p_next, n_);
  if (s.c) carried_.noalias() += MatrixIn(P_next, n_, n_) * VectorIn(s.c, n_);
  Qx_.noalias() = A.transpose() * carried_;
  Qu_.noalias() = B.transpose() * carried_;
  if (s.q) Qx_ += VectorIn(s.q, n_);
  if (s.r) Qu_ += VectorIn(s.r, m_);
  VectorOut k(k_out, m_);
  k.setZero();
  Vector b(Eigen::Index(g.free.size()));
  for (std::size_t i = 0; i < g.free.size(); ++i) b[Eigen::Index(i)] = -Qu_[g.free[i]];
  if (!g.free.empty()) g.factor.solveInPlace(b);
  for (std::size_t i = 0; i < g.free.size(); ++i) k[g.free[i]] = b[Eigen::Index(i)];
  VectorOut(p_out, n_) = Qx_ + g.K.transpose() * Qu_;
}

}  // namespace costate::control
