// Weighted: sum_j weight_j l_j of objectives, to second order: residuals of a fit weighed against each other.
// Tests: tests/study/fit_test.cpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "costate/core/aligned_buffer.h"
#include "costate/system/losses/times.h"

namespace costate::study {

template <class Real>
class Weighted final : public Objective<Real> {
 public:
  using typename Objective<Real>::At;
  Weighted(const Signature& signature, std::vector<ObjectivePtr<Real>> of, std::vector<double> weights)
      : of_(std::move(of)),
        weights_(std::move(weights)),
        states_(signature.states()),
        controls_(signature.controls()),
        parameters_(signature.parameters()) {}

  void check(std::int64_t steps, std::int64_t worlds) const override {
    for (const auto& o : of_) o->check(steps, worlds);
  }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override {
    return loss::next_of(of_, k, steps);
  }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override {
    return loss::previous_of(of_, k, steps);
  }
  void value(const At& at, double* loss) const override {
    std::vector<double> lanes(std::size_t(at.lanes));
    each(at, [&](const Objective<Real>& o, double weight) {
      lanes.assign(lanes.size(), 0.0);
      o.value(at, lanes.data());
      for (std::size_t l = 0; l < lanes.size(); ++l) loss[l] += weight * lanes[l];
    });
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    scaled(at, bar, [&](const Objective<Real>& o, const Cotangents<Real>& one) { o.vjp(at, one); });
  }
  void hvp(const At& at, const costate::Inputs<Real>& in_dot,
           const Cotangents<Real>& bar_dot) const override {
    scaled(at, bar_dot,
           [&](const Objective<Real>& o, const Cotangents<Real>& one) { o.hvp(at, in_dot, one); });
  }

 private:
  template <class F>
  void each(const At& at, const F& f) const {
    for (std::size_t j = 0; j < of_.size(); ++j)
      if (of_[j]->next(at.k, at.steps) == at.k) f(*of_[j], weights_[j]);
  }
  // What each adds to cotangents of its own, times its weight.
  template <class F>
  void scaled(const At& at, const Cotangents<Real>& bar, const F& f) const {
    AlignedBuffer<Real> x(std::size_t(states_ * at.lanes)), u(std::size_t(controls_ * at.lanes + 1)),
        p(std::size_t(parameters_ * at.lanes + 1));
    const auto add = [&](const AlignedBuffer<Real>& from, std::int64_t count, double weight, Real* to) {
      for (std::int64_t i = 0; to && i < count * at.lanes; ++i) to[i] += Real(weight) * from.data()[i];
    };
    each(at, [&](const Objective<Real>& o, double weight) {
      std::fill_n(x.data(), states_ * at.lanes, Real(0));
      std::fill_n(u.data(), controls_ * at.lanes, Real(0));
      std::fill_n(p.data(), parameters_ * at.lanes, Real(0));
      f(o,
        Cotangents<Real>{bar.x ? x.data() : nullptr, bar.u ? u.data() : nullptr, bar.p ? p.data() : nullptr});
      add(x, states_, weight, bar.x), add(u, controls_, weight, bar.u), add(p, parameters_, weight, bar.p);
    });
  }

  std::vector<ObjectivePtr<Real>> of_;
  std::vector<double> weights_;
  std::int64_t states_, controls_, parameters_;
};

}  // namespace costate::study
