#include "costate/control/quadratic/riccati.h"

#include <algorithm>
#include <cmath>

#include "costate/control/quadratic/products.h"
#include "costate/system/block_memory.h"

namespace costate::control {
namespace {

constexpr int kBoxIterations = 100;

}  // namespace

RiccatiStage::RiccatiStage(int states, int controls)
    : n_(states),
      m_(controls),
      width_(padded(states + controls)),
      F_(states * width_),
      P_(states * padded(states)),
      PF_(padded(states) * width_),
      H_(width_ * width_),
      K_(controls * padded(states)),
      M_(controls * padded(states)),
      Qux_(controls, states),
      Quu_(controls, controls),
      Qx_(states),
      Qu_(controls),
      carried_(states) {
  for (auto* buffer : {&F_, &P_, &PF_, &H_, &K_, &M_}) fill_zero(buffer->data(), buffer->capacity());
}

// Into padded rows; what pads them stays zero.
void RiccatiStage::load(const StageData& s, const double* P_next) {
  const int across = padded(n_);
  for (int i = 0; i < n_; ++i) {
    copy(F_.data() + i * width_, s.A + i * n_, n_);
    copy(F_.data() + i * width_ + n_, s.B + i * m_, m_);
    copy(P_.data() + i * across, P_next + i * n_, n_);
    copy(H_.data() + i * width_, s.Q + i * n_, n_);
  }
  for (int i = 0; i < m_; ++i) {
    double* row = H_.data() + (n_ + i) * width_;
    if (s.S)
      copy(row, s.S + i * n_, n_);
    else
      fill_zero(row, n_);
    copy(row + n_, s.R + i * m_, m_);
  }
}

void RiccatiStage::expand(const StageData& s, const double* P_next, const double* p_next) {
  load(s, P_next);
  const int across = padded(n_);
  add_product<Onto::zero>(n_, padded(n_, kBlockRows), width_, P_.data(), across, F_.data(), width_,
                          PF_.data(), width_, false);
  add_product(n_, padded(n_ + m_, kBlockRows), width_, F_.data(), width_, PF_.data(), width_, H_.data(),
              width_, true);
  for (int i = 0; i < m_; ++i) {
    const double* row = H_.data() + (n_ + i) * width_;
    copy(Qux_.data() + i * n_, row, n_);
    for (int j = 0; j <= i; ++j) Quu_(i, j) = Quu_(j, i) = row[n_ + j];
  }
  if (!p_next) return;
  carried_ = VectorIn(p_next, n_);
  if (s.c) carried_.noalias() += MatrixIn(P_next, n_, n_) * VectorIn(s.c, n_);
  slopes(s);
}

// Qx and Qu: [A B]'(p+ + P+c) beside the stage's own.
void RiccatiStage::slopes(const StageData& s) {
  double* sum = PF_.data();  // a row of it: no longer needed
  for (int j = 0; j < width_; j += kRow) {
    Row r(0.0);
    for (int k = 0; k < n_; ++k) r += Row(carried_[k]) * costate::load<Row>(F_.data() + k * width_ + j);
    store<Row>(sum + j, r);
  }
  Qx_ = VectorIn(sum, n_), Qu_ = VectorIn(sum + n_, m_);
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

namespace {

// L L'X = X for a few packs of columns, which stay in registers while a row is combined from the others.
template <int Packs>
COSTATE_INLINE void solve_columns(const Matrix& L, int count, double* X, int stride) {
  const auto eliminate = [&](int i, int begin, int end, const auto& weight) {
    Row row[Packs];
    for (int p = 0; p < Packs; ++p) row[p] = load<Row>(X + i * stride + p * kRow);
    for (int j = begin; j < end; ++j) {
      const Row w(-weight(j));
      for (int p = 0; p < Packs; ++p) row[p] += w * load<Row>(X + j * stride + p * kRow);
    }
    const Row inverse(1 / L(i, i));
    for (int p = 0; p < Packs; ++p) store<Row>(X + i * stride + p * kRow, row[p] * inverse);
  };
  for (int i = 0; i < count; ++i) eliminate(i, 0, i, [&](int j) { return L(i, j); });
  for (int i = count - 1; i >= 0; --i) eliminate(i, i + 1, count, [&](int j) { return L(j, i); });
}

}  // namespace

// K from the factor on the free controls, many columns at a time.
void RiccatiStage::feedback(StageGains& to) {
  const int across = padded(n_), count = int(to.free.size());
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < n_; ++j) K_.data()[i * across + j] = -Qux_(to.free[std::size_t(i)], j);
  const Matrix& L = to.factor.matrixLLT();
  int column = 0;
  for (; column + 2 * kRow <= across; column += 2 * kRow)
    solve_columns<2>(L, count, K_.data() + column, across);
  if (column < across) solve_columns<1>(L, count, K_.data() + column, across);
  to.K.setZero(m_, n_);
  for (int i = 0; i < count; ++i)
    copy(to.K.data() + to.free[std::size_t(i)] * n_, K_.data() + i * across, n_);
}

bool RiccatiStage::gains(const char* held, double mu, StageGains& to) {
  to.free.clear();
  for (int i = 0; i < m_; ++i)
    if (!held || held[i] == 0) to.free.push_back(i);
  mu_ = mu;
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
  mu_ = mu;
  Vector& k = to.k;
  if (k.size() != m_) k.setZero(m_);
  const auto clamp = [&](int i, double v) { return std::min(std::max(v, lower[i]), upper[i]); };
  for (int i = 0; i < m_; ++i) k[i] = clamp(i, k[i]);
  Vector g(m_), trial_g(m_), trial(m_), d(m_);
  // Writes the slope (Quu + mu I) at + Qu, and returns the value, which is 1/2 at'(slope + Qu).
  const auto evaluate = [&](const Vector& at, Vector& slope) {
    slope = Qu_ + mu * at;
    slope.noalias() += Quu_ * at;
    return 0.5 * at.dot(slope + Qu_);
  };
  double now = evaluate(k, g);
  std::vector<int> before(1, -1);
  bool exact = false;  // k is the minimum on the free controls
  for (int iteration = 0; iteration < kBoxIterations; ++iteration) {
    to.free.clear();
    for (int i = 0; i < m_; ++i) {
      held[i] = k[i] == lower[i] && g[i] > 0 ? -1 : k[i] == upper[i] && g[i] < 0 ? 1 : 0;
      if (lower[i] == upper[i]) held[i] = -1;
      if (held[i] == 0) to.free.push_back(i);
    }
    if (to.free != before) {
      if (!factorise(mu, to)) return false;
      before = to.free;
    } else if (exact) {
      break;
    }
    if (to.free.empty()) break;
    const auto count = Eigen::Index(to.free.size());
    for (Eigen::Index i = 0; i < count; ++i) d[i] = -g[to.free[std::size_t(i)]];
    auto direction = d.head(count);
    to.factor.solveInPlace(direction);
    double length = 1, next = now, moved = 0;
    for (;; length /= 2) {
      trial = k;
      exact = length == 1;
      for (Eigen::Index i = 0; i < count; ++i) {
        const int control = to.free[std::size_t(i)];
        const double wanted = k[control] + length * d[i];
        trial[control] = clamp(control, wanted);
        exact = exact && trial[control] == wanted;
      }
      next = evaluate(trial, trial_g), moved = (trial - k).lpNorm<Eigen::Infinity>();
      if (next <= now + 1e-4 * g.dot(trial - k) || length < 1e-10) break;
    }
    if (!(next <= now)) break;  // rounding
    k.swap(trial), g.swap(trial_g), now = next;
    if (length == 1 && moved <= 1e-14 * (1 + k.lpNorm<Eigen::Infinity>())) break;
  }
  feedback(to);
  return true;
}

void RiccatiStage::close(const StageGains& g, double* P_out, double* p_out) {
  const int across = padded(n_);
  VectorOut p(p_out, n_);
  p = Qx_;
  p.noalias() += g.K.transpose() * (Quu_ * g.k + Qu_);
  p.noalias() += Qux_.transpose() * g.k;
  // On the free controls Quu K = -Qux - mu K, and K is zero on the others: P = Qxx + K'(Qux - mu K), which is
  // symmetric.
  for (int i = 0; i < m_; ++i) {
    double *K = K_.data() + i * across, *M = M_.data() + i * across;
    copy(K, g.K.data() + i * n_, n_);
    for (int j = 0; j < n_; ++j) M[j] = Qux_(i, j) - mu_ * K[j];
  }
  double* T = PF_.data();  // at least as wide as the states, padded
  add_product<Onto::zero>(m_, padded(n_, kBlockRows), across, K_.data(), across, M_.data(), across, T, across,
                          true);
  for (int i = 0; i < n_; ++i) {
    const double *row = H_.data() + i * width_, *t = T + i * across;
    for (int j = 0; j <= i; ++j) P_out[i * n_ + j] = P_out[j * n_ + i] = row[j] + t[j];
  }
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
