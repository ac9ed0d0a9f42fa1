// Small scenes that several tests share.
#pragma once

#include <cmath>

#include "costate/mpm/system.h"
#include "costate/system/objective.h"
#include "costate/system/rollout.h"
#include "tests/system/contract.h"

namespace costate::mpm::test {

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

// The contract for scenes whose value has corners (contact, friction, yielding). A difference is right only where no corner lies within its reach: a scene says
// how long its differences may be, relative to the scale of each input. Where a collider fades out, the second derivative jumps, and the stencil's error falls with its
// length until rounding takes over: 1e-6 suits a thousand particles.
struct Reach {
  double stencil = 1e-6, gate = 1e-8, taylor = 3e-5;
};
inline void expect_exact_gradient(std::shared_ptr<const System<double>> system, const Arguments<double>& at,
                                  const Objective<double>& objective, std::int64_t steps,
                                  std::int64_t hold = 1, const Reach& reach = {}) {
  const costate::test::ContractOptions options{.steps = steps, .hold = hold};
  costate::test::expect_pure(*system, at);
  costate::test::expect_deterministic(system, at, objective, options);
  Rollout<double> rollout(system, {.steps = steps, .hold = hold});
  const auto dot = check::dot_product(rollout, at, {.seed = 1, .directions = 20});
  EXPECT_TRUE(dot.passed()) << dot.to_text();
  const auto stencil =
      check::stencil(rollout, at, objective, {.seed = 1, .directions = 3, .step = reach.stencil});
  EXPECT_LT(stencil.error, reach.gate) << stencil.to_text();
  const auto taylor =
      check::taylor(rollout, at, objective, {.seed = 1, .directions = 3, .step = reach.taylor});
  EXPECT_TRUE(taylor.passed()) << taylor.to_text();
}

}  // namespace costate::mpm::test
