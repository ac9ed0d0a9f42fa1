#include "costate/control/plan/expansion.h"

#include <algorithm>
#include <cmath>

#include "costate/control/dense.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"

namespace costate::control {
namespace {

// A borrowed block of a plant.
class Lent {
 public:
  explicit Lent(const Plant& plant) : plant_(plant), block_(plant.take()) {}
  ~Lent() { plant_.give_back(std::move(block_)); }
  Plant::Block& operator*() { return *block_; }

 private:
  const Plant& plant_;
  std::unique_ptr<Plant::Block> block_;
};

template <class Body>
void each_step(const Plant& plant, std::int64_t count, const Body& body) {
  parallel_for(count, 4, [&](std::int64_t begin, std::int64_t end) {
    Lent block(plant);
    for (std::int64_t k = begin; k < end; ++k) body(k, *block);
  });
}

// By central differences of the gradient, for losses without second derivatives: an approximation that
// changes how fast a planner converges, not what it converges to.
void add_hessian_by_differences(const Plant& plant, const Objective<double>& loss, std::int64_t k,
                                std::int64_t steps, const double* x, const double* u, double weight,
                                const Plant::Quadratic& to, Plant::Block& block) {
  const int n = plant.tangents(), m = u ? plant.controls() : 0;
  Vector d = Vector::Zero(n), moved_u(m);
  std::vector<double> moved(std::size_t(plant.states()));
  Matrix rates(n + m, n + m);
  for (int j = 0; j < n + m; ++j) {
    Vector difference = Vector::Zero(n + m);
    for (const int sign : {1, -1}) {
      const double h = 1e-5;
      d.setZero();
      if (j < n) d[j] = sign * h;
      plant.space().move(x, d.data(), moved.data());
      if (u) moved_u = VectorIn(u, m);
      if (j >= n) moved_u[j - n] += sign * h;
      Vector q = Vector::Zero(n), r = Vector::Zero(m);
      plant.add_gradient(loss, k, steps, moved.data(), u ? moved_u.data() : nullptr, weight,
                         {q.data(), r.data(), nullptr, nullptr, nullptr}, block);
      difference.head(n) += sign / (2 * h) * q;
      difference.tail(m) += sign / (2 * h) * r;
    }
    rates.col(j) = difference;
  }
  rates = symmetric(rates);
  MatrixOut(to.Q, n, n) += rates.topLeftCorner(n, n);
  if (!u) return;
  MatrixOut(to.S, m, n) += rates.bottomLeftCorner(m, n);
  MatrixOut(to.R, m, m) += rates.bottomRightCorner(m, m);
}

bool has_hessian(const Plant& plant, const Objective<double>& loss, std::int64_t steps) {
  const int n = plant.tangents(), m = plant.controls();
  Matrix Q = Matrix::Zero(n, n), S = Matrix::Zero(m, n), R = Matrix::Zero(m, m);
  Vector q = Vector::Zero(n), r = Vector::Zero(m);
  const Vector x = Vector::Constant(plant.states(), 0.5), u = Vector::Constant(m, 0.1);
  const std::int64_t k = loss.next(0, steps);
  if (k > steps) return true;
  Lent block(plant);
  try {
    plant.add_hessian(loss, k, steps, x.data(), k < steps ? u.data() : nullptr, 1,
                      {q.data(), r.data(), Q.data(), S.data(), R.data()}, *block);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

double next_multiplier(bool equality, double y, double rho, double c) {
  return equality ? y + rho * c : std::max(0.0, y + rho * c);
}
double augmented_value(bool equality, double y, double rho, double c) {
  if (equality) return y * c + 0.5 * rho * c * c;
  const double next = next_multiplier(false, y, rho, c);
  return (next * next - y * y) / (2 * rho);
}

Expansion::Expansion(const Problem& p)
    : plant_(p.system, p.parameters, p.space, p.seed), exact_(p.constraints.size() + 1) {
  const int n = plant_.tangents(), m = plant_.controls();
  const auto N = std::size_t(p.steps), nn = std::size_t(n) * std::size_t(n),
             mn = std::size_t(m) * std::size_t(n), mm = std::size_t(m) * std::size_t(m);
  lq.states = n, lq.controls = m, lq.steps = int(p.steps);
  lq.A.resize(N * nn), lq.B.resize(N * mn), lq.c.resize(N * std::size_t(n));
  lq.Q.resize(N * nn), lq.S.resize(N * mn), lq.R.resize(N * mm);
  lq.q.resize(N * std::size_t(n)), lq.r.resize(N * std::size_t(m));
  lq.Qf.resize(nn), lq.qf.resize(std::size_t(n)), lq.x0.resize(std::size_t(n));
  lambda.resize((N + 1) * std::size_t(n)), gradient.resize(N * std::size_t(m));
  for (std::size_t j = 0; j < exact_.size(); ++j)
    exact_[j] = has_hessian(plant_, j == 0 ? *p.objective : *p.constraints[j - 1].of, p.steps);
}

Plant::Quadratic Expansion::quadratic(std::int64_t k) {
  const std::int64_t n = lq.states, m = lq.controls;
  if (k == lq.steps) return {lq.qf.data(), nullptr, lq.Qf.data(), nullptr, nullptr};
  return {&lq.q[std::size_t(k * n)], &lq.r[std::size_t(k * m)], &lq.Q[std::size_t(k * n * n)],
          &lq.S[std::size_t(k * m * n)], &lq.R[std::size_t(k * m * m)]};
}

void Expansion::add_loss_hessian(std::size_t which, const Objective<double>& loss, std::int64_t k,
                                 const double* x, const double* u, double weight, const Plant::Quadratic& to,
                                 Plant::Block& block) {
  if (exact_[which])
    plant_.add_hessian(loss, k, steps(), x, u, weight, to, block);
  else
    add_hessian_by_differences(plant_, loss, k, steps(), x, u, weight, to, block);
}

void Expansion::add_constraint(std::size_t which, const Constraint& c, double y, double rho, std::int64_t k,
                               const double* x, const double* u, bool second_order,
                               const Plant::Quadratic& to, Plant::Block& block) {
  const int n = lq.states, m = u ? lq.controls : 0;
  const double value = plant_.value(*c.of, k, steps(), x, u, block);
  const double next = next_multiplier(c.equality, y, rho, value);
  if (!c.equality && next == 0) return;
  Vector g = Vector::Zero(n), h = Vector::Zero(m);
  plant_.add_gradient(*c.of, k, steps(), x, u, 1, {g.data(), h.data(), nullptr, nullptr, nullptr}, block);
  VectorOut(to.q, n) += next * g;
  MatrixOut(to.Q, n, n) += rho * g * g.transpose();
  if (u) {
    VectorOut(to.r, m) += next * h;
    MatrixOut(to.S, m, n) += rho * h * g.transpose();
    MatrixOut(to.R, m, m) += rho * h * h.transpose();
  }
  if (second_order) add_loss_hessian(which, *c.of, k, x, u, next, to, block);
}

void Expansion::costs(const Problem& p, const Multipliers& multipliers, std::int64_t k, const double* x,
                      const double* u, bool second_order, Plant::Block& block) {
  const Plant::Quadratic to = quadratic(k);
  const auto n = std::size_t(lq.states), m = std::size_t(lq.controls);
  std::fill_n(to.q, n, 0.0), std::fill_n(to.Q, n * n, 0.0);
  if (u) std::fill_n(to.r, m, 0.0), std::fill_n(to.S, m * n, 0.0), std::fill_n(to.R, m * m, 0.0);
  if (p.objective->next(k, p.steps) == k) {
    plant_.add_gradient(*p.objective, k, p.steps, x, u, 1, to, block);
    add_loss_hessian(0, *p.objective, k, x, u, 1, to, block);
  }
  for (std::size_t j = 0; j < p.constraints.size(); ++j)
    if (p.constraints[j].of->next(k, p.steps) == k)
      add_constraint(j + 1, p.constraints[j], multipliers.y[j][std::size_t(k)], multipliers.rho, k, x, u,
                     second_order, to, block);
}

void Expansion::costates() {
  const int n = lq.states, m = lq.controls, N = lq.steps;
  std::copy_n(lq.qf.begin(), n, lambda.end() - n);
  for (int k = N - 1; k >= 0; --k) {
    const auto at = std::size_t(k);
    const VectorIn after(&lambda[(at + 1) * std::size_t(n)], n);
    VectorOut(&lambda[at * std::size_t(n)], n) =
        VectorIn(&lq.q[at * std::size_t(n)], n) +
        MatrixIn(&lq.A[at * std::size_t(n * n)], n, n).transpose() * after;
    VectorOut(&gradient[at * std::size_t(m)], m) =
        VectorIn(&lq.r[at * std::size_t(m)], m) +
        MatrixIn(&lq.B[at * std::size_t(n * m)], n, m).transpose() * after;
  }
}

void Expansion::about(const Problem& p, const Multipliers& multipliers, const double* x, const double* u,
                      bool second_order) {
  const std::int64_t N = p.steps, states = plant_.states(), n = lq.states, m = lq.controls;
  if (p.jacobians) p.jacobians(N, x, u, lq.A.data(), lq.B.data());
  each_step(plant_, N + 1, [&](std::int64_t k, Plant::Block& block) {
    const double *at_x = x + k * states, *at_u = k < N ? u + k * m : nullptr;
    if (k < N && !p.jacobians)
      plant_.linearise(k, at_x, at_u, &lq.A[std::size_t(k * n * n)], &lq.B[std::size_t(k * n * m)], block);
    costs(p, multipliers, k, at_x, at_u, second_order, block);
  });
  costates();
}

void Expansion::curve(const double* x, const double* u, const double* slope) {
  const std::int64_t N = lq.steps, states = plant_.states(), n = lq.states, m = lq.controls;
  curve_Q_.assign(lq.Q.size(), 0.0), curve_S_.assign(lq.S.size(), 0.0), curve_R_.assign(lq.R.size(), 0.0);
  each_step(plant_, N, [&](std::int64_t k, Plant::Block& block) {
    plant_.add_curvature(k, x + k * states, u + k * m, x + (k + 1) * states, slope + (k + 1) * n,
                         &curve_Q_[std::size_t(k * n * n)], &curve_S_[std::size_t(k * m * n)],
                         &curve_R_[std::size_t(k * m * m)], block);
  });
}

void Expansion::add_curvature(double share) {
  const auto add = [&](std::vector<double>& to, const std::vector<double>& from) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] += share * from[i];
  };
  add(lq.Q, curve_Q_), add(lq.S, curve_S_), add(lq.R, curve_R_);
}

double Expansion::gradient_norm(const Problem& p, const double* u) const {
  double largest = 0;
  const auto m = std::size_t(lq.controls);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double moved = u[i] - gradient[i];
    if (!p.lower.empty()) moved = std::max(moved, p.lower[i % m]);
    if (!p.upper.empty()) moved = std::min(moved, p.upper[i % m]);
    largest = std::max(largest, std::abs(u[i] - moved));
  }
  return largest;
}

}  // namespace costate::control
