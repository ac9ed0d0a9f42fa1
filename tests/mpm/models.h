// Small scenes that several tests share.
#pragma once

#include <cmath>

#include "costate/mpm/system.h"
#include "costate/system/objective.h"
#include "costate/system/rollout.h"
#include "tests/system/contract.h"

namespace costate::mpm::test {

// A block that moves and deforms, away from every wall.
inline Model block(int dimension, MaterialKind kind, Kernel kernel = Kernel::quadratic) {
  Model m;
  m.dimension = dimension;
  m.nodes = {16, 18, 17};
  m.dx = 0.1;
  m.origin = {-0.3, 0.2, 0.1};
  m.dt = 2e-3;
  m.kernel = kernel;
  m.materials = {{.name = "body",
                  .kind = kind,
                  .density = 900,
                  .E = 2e4,
                  .nu = 0.28,
                  .bulk_modulus = 3e4,
                  .viscosity = 2}};
  fill(m, Shape::box(0.2, 0.15, 0.2), {0.5, 1.1, 0.9}, 0.05, 0);
  const std::int64_t n = particle_count(m);
  for (std::int64_t p = 0; p < n; ++p) {
    for (int a = 0; a < dimension; ++a) {
      double& x = m.particles.x[std::size_t(p * dimension + a)];
      x += 0.01 * std::sin(double(3 * p + 7 * a));
      m.particles.v[std::size_t(p * dimension + a)] = 0.4 * std::cos(double(a) + 5 * x);
    }
  }
  return m;
}

template <class Real>
Arguments<Real> stirred(const Model& model, const Rollout<Real>& rollout) {
  Arguments<Real> at = rollout.arguments();
  at.x0 = initial_state<Real>(model);
  const std::int64_t n = particle_count(model);
  const int D = model.dimension;
  for (std::int64_t i = 0; i < n * D * D; ++i) {
    at.x0[std::size_t(2 * n * D + i)] += Real(0.5 * std::sin(double(i)));  // C
    if (model.materials[0].kind != MaterialKind::liquid || i % (D * D) == 0)
      at.x0[std::size_t(2 * n * D + n * D * D + i)] += Real(0.03 * std::cos(double(2 * i)));  // F
  }
  return at;
}

// 1/2 weight |mean position - target|^2 of the final state.
template <class Real>
class MeanPosition final : public Objective<Real> {
 public:
  using At = typename Objective<Real>::At;
  MeanPosition(std::int64_t particles, int dimension, std::vector<double> target)
      : n_(particles), d_(dimension), target_(std::move(target)) {}
  void check(std::int64_t, std::int64_t) const override {}
  std::int64_t next(std::int64_t k, std::int64_t steps) const override { return k <= steps ? steps : kNever; }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override { return k >= steps ? steps : -1; }
  void value(const At& at, double* loss) const override {
    for (int a = 0; a < d_; ++a) *loss += 0.5 * error(at, a) * error(at, a);
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    for (int a = 0; a < d_; ++a) {
      const auto each = static_cast<Real>(error(at, a) / double(n_));
      for (std::int64_t p = 0; p < n_; ++p) bar.x[p * d_ + a] += each;
    }
  }

 private:
  double error(const At& at, int a) const {
    long double sum = 0;  // a stencil sees the last digits of this
    for (std::int64_t p = 0; p < n_; ++p) sum += double(at.in.x[p * d_ + a]);
    return double(sum / double(n_) - target_[static_cast<std::size_t>(a)]);
  }
  std::int64_t n_;
  int d_;
  std::vector<double> target_;
};

template <class Real>
ObjectivePtr<Real> mean_position(std::int64_t particles, int dimension, std::vector<double> target) {
  return std::make_shared<MeanPosition<Real>>(particles, dimension, std::move(target));
}

// The contract for scenes whose value has corners (contact, friction, yielding). A difference is right only
// where no corner lies within its reach: a scene says how long its differences may be, relative to the scale
// of each input. Where a collider fades out, the second derivative jumps, and the stencil's error falls with
// its length until rounding takes over: 1e-6 suits a thousand particles.
struct Reach {
  double stencil = 1e-6, gate = 1e-8, taylor = 3e-5;
};
inline void expect_exact_gradient(std::shared_ptr<const System<double>> system, const Arguments<double>& at,
                                  ObjectivePtr<double> objective, std::int64_t steps, std::int64_t hold = 1,
                                  const Reach& reach = {}) {
  costate::test::expect_contract<double>(system, {.states = costate::test::starting_at(at),
                                                  .objective = std::move(objective),
                                                  .steps = steps,
                                                  .hold = hold,
                                                  .long_steps = 0,
                                                  .stencil_gate = reach.gate,
                                                  .stencil_step = reach.stencil,
                                                  .taylor_step = reach.taylor});
}

}  // namespace costate::mpm::test
