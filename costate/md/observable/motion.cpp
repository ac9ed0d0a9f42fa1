#include "costate/md/observable/motion.h"

#include <numeric>

#include "costate/core/error.h"
#include "costate/md/compile.h"
#include "costate/md/observable/finite.h"
#include "costate/system/losses/at_steps.h"

namespace costate::md {
namespace {

[[noreturn]] void refuse(std::string what, std::string advice) {
  throw Error({std::move(what), "md::observe", std::move(advice)});
}

template <class Real>
class MotionLoss final : public loss::AtSteps<Real> {
  using At = typename Objective<Real>::At;

 public:
  MotionLoss(const Model& model, const ObserveMotion& what)
      : loss::AtSteps<Real>(what.steps.empty() ? std::vector<std::int64_t>{loss::kLast} : what.steps),
        what_(what),
        layout_(compile(model).layout) {
    if (what.of == Motion::velocity && (layout_.v < 0 || layout_.log_speed >= 0))
      refuse("the autocorrelation of velocities needs velocities",
             "this integrator has none: choose one with A and B");
    if (what.of == Motion::displacement && layout_.strain >= 0)
      refuse("displacements need a fixed box", "with a barostat atoms move with the box: use BAOAB");
    if (what_.weights.empty()) what_.weights = {1};
    const std::size_t steps = this->steps_.size();
    if (what_.weights.size() != 1 && what_.weights.size() != steps)
      refuse("there are " + std::to_string(what_.weights.size()) + " weights of " + std::to_string(steps) +
                 " steps",
             "give one for all, or one per step");
    require_finite(what_.weights, "weight"), require_finite(what_.start, "start");
    if (what_.start.empty() || what_.start.size() % std::size_t(layout_.states) != 0)
      refuse("the start has " + std::to_string(what_.start.size()) + " numbers",
             "give " + std::to_string(layout_.states) + " of one world, or as many of every world");
    if (what_.atoms.empty()) {
      what_.atoms.resize(std::size_t(layout_.atoms));
      std::iota(what_.atoms.begin(), what_.atoms.end(), 0);
    }
    for (const int i : what_.atoms)
      if (i < 0 || i >= layout_.atoms)
        refuse("there is no atom " + std::to_string(i),
               "atoms are counted from 0 to " + std::to_string(layout_.atoms - 1));
  }

  void check(std::int64_t steps, std::int64_t worlds) const override {
    this->check_steps(steps);
    const auto starts = std::int64_t(what_.start.size()) / layout_.states;
    if (starts != 1 && starts != worlds)
      refuse("there are " + std::to_string(starts) + " starts of " + std::to_string(worlds) + " worlds",
             "give one, or one per world");
  }

  void value(const At& at, double* loss) const override {
    each(at, [&](int l, std::int64_t now, double start, double scale) {
      const auto x = double(at.in.x[now]);
      loss[l] += what_.of == Motion::displacement ? scale * (x - start) * (x - start) : scale * x * start;
    });
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    each(at, [&](int, std::int64_t now, double start, double scale) {
      const auto x = double(at.in.x[now]);
      bar.x[now] += Real(what_.of == Motion::displacement ? 2 * scale * (x - start) : scale * start);
    });
  }

 private:
  // f(lane, place of a number among the states, its value at the start, weight) for every number that counts.
  template <class F>
  void each(const At& at, const F& f) const {
    const int n = layout_.dimensions, offset = what_.of == Motion::velocity ? layout_.v : layout_.x;
    const bool own = std::int64_t(what_.start.size()) != layout_.states;
    const double weight = what_.weights[what_.weights.size() == 1 ? 0 : this->index_of(at.k)];
    for (int l = 0; l < at.lanes; ++l) {
      const std::int64_t world = own ? at.world_of(l) : 0;
      for (const int atom : what_.atoms)
        for (int k = offset + atom * n; k < offset + atom * n + n; ++k)
          f(l, std::int64_t(k) * at.lanes + l, what_.start[std::size_t(world * layout_.states + k)],
            weight / double(what_.atoms.size()));
    }
  }

  ObserveMotion what_;
  Layout layout_;
};

}  // namespace

template <class Real>
ObjectivePtr<Real> observe(const Model& model, const ObserveMotion& what) {
  return std::make_shared<MotionLoss<Real>>(model, what);
}
template ObjectivePtr<float> observe(const Model&, const ObserveMotion&);
template ObjectivePtr<double> observe(const Model&, const ObserveMotion&);

std::vector<double> green_kubo(std::int64_t steps, double dt, int dimensions) {
  if (steps < 1 || dimensions < 1 || !(dt > 0))
    refuse("an integral over " + std::to_string(steps) + " steps",
           "give at least one step and a positive dt");
  std::vector<double> weights(std::size_t(steps) + 1, dt / dimensions);
  weights.front() *= 0.5, weights.back() *= 0.5;
  return weights;
}

}  // namespace costate::md
