// OnePerWorld: world w has the objective w and no other. The gradients of many objectives of one rollout are
// then one gradient of as many equal worlds, which run as lanes and threads.
// Tests: tests/study/fit_test.cpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "costate/core/aligned_buffer.h"
#include "costate/system/losses/times.h"

namespace costate::study {

template <class Real>
class OnePerWorld final : public Objective<Real> {
 public:
  using typename Objective<Real>::At;
  OnePerWorld(const Signature& signature, std::vector<ObjectivePtr<Real>> of_worlds)
      : of_worlds_(std::move(of_worlds)),
        states_(std::size_t(signature.states())),
        controls_(std::size_t(signature.controls())),
        parameters_(std::size_t(signature.parameters())) {}

  void check(std::int64_t steps, std::int64_t) const override {
    for (const auto& o : of_worlds_) o->check(steps, 1);
  }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override {
    return loss::next_of(of_worlds_, k, steps);
  }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override {
    return loss::previous_of(of_worlds_, k, steps);
  }
  void value(const At& at, double* loss) const override {
    std::vector<double> lanes(std::size_t(at.lanes));
    each_lane(at, [&](int l, const Objective<Real>& o) {
      std::fill(lanes.begin(), lanes.end(), 0.0);
      o.value(at, lanes.data());
      loss[l] += lanes[std::size_t(l)];
    });
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    const auto lanes = std::size_t(at.lanes);
    // Packs are loaded and stored whole, so each begins where a pack may.
    AlignedBuffer<Real> x(states_ * lanes), u(controls_ * lanes + 1), p(parameters_ * lanes + 1);
    const auto add = [&](const Real* from, std::size_t count, Real* to, std::size_t lane) {
      for (std::size_t i = 0; to && i < count; ++i) to[i * lanes + lane] += from[i * lanes + lane];
    };
    each_lane(at, [&](int l, const Objective<Real>& o) {
      std::fill_n(x.data(), states_ * lanes, Real(0));
      std::fill_n(u.data(), controls_ * lanes, Real(0));
      std::fill_n(p.data(), parameters_ * lanes, Real(0));
      o.vjp(at, {bar.x ? x.data() : nullptr, bar.u ? u.data() : nullptr, bar.p ? p.data() : nullptr});
      add(x.data(), states_, bar.x, std::size_t(l)), add(u.data(), controls_, bar.u, std::size_t(l));
      add(p.data(), parameters_, bar.p, std::size_t(l));
    });
  }

 private:
  // f(lane, objective) for each lane whose objective has a term here.
  template <class F>
  void each_lane(const At& at, const F& f) const {
    for (int l = 0; l < at.lanes && at.world + l < std::int64_t(of_worlds_.size()); ++l) {
      const Objective<Real>& o = *of_worlds_[std::size_t(at.world + l)];
      if (o.next(at.k, at.steps) == at.k) f(l, o);
    }
  }

  std::vector<ObjectivePtr<Real>> of_worlds_;
  std::size_t states_, controls_, parameters_;
};

}  // namespace costate::study
