// Between the bodies of a flow that a linkage holds together and the linkage (linkage.h): numbers go over in
// double, whatever those of the flow are. Masks and forces of these bodies are those of free.h.
// Tests: tests/coupled/swimmer_test.cpp.
#pragma once

#include "costate/fluid/obstacles/resistance.h"

namespace costate::fluid {

template <class S>
struct LinkedBodies {
  using Real = value_t<S>;
  using One = Single<S>;
  using T = std::conditional_t<kIsDual<S>, Dual<double>, double>;
  using Bodies = Obstacles<S, 2>;
  const FlowModel& model;
  FlowScratch<Real>& work;
  typename Bodies::From in;

  // Poses of the shapes, for masks.
  void begin() const;
  // From the forces of the stage, in numbers().forces, the motion of each body at its end: move(b, V).
  template <class Move>
  void stage(FlowModel::Weights w, int number, const Move& move) const {
    auto& n = numbers();
    model.linkage->stage({number, w.kept, w.share}, n.forces.data(), n.motions.data(), *work.linkage);
    each([&](std::size_t b, std::size_t shape) { move(b, to_flow(n.motions[shape])); });
  }
  // The state of the linkage, once the wrenches of all stages are known.
  void end(PackedOut<Real> y) const;

  // --- transposes, of values -------------------------------------------------------------------------------

  // What the state of the linkage owes to the wrenches: read by Obstacles::read_forces_bar.
  void end_vjp(Packed<Real> y_bar, bool parameters) const;
  // From V_bar(b), the cotangent of a body's motion, its mu: take(b, mu).
  template <class Bar, class Take>
  void stage_vjp(FlowModel::Weights w, int number, const Bar& bar, const Take& take) const {
    auto& n = numbers();
    each([&](std::size_t b, std::size_t shape) { n.motions[shape] = to_linkage(bar(b)); });
    if constexpr (!kIsDual<S>)
      model.linkage->stage_vjp({number, w.kept, w.share}, n.motions.data(), n.wrenches.data(), *work.linkage);
    each([&](std::size_t b, std::size_t shape) { take(b, to_flow(n.wrenches[shape])); });
  }
  // From the cotangents of the poses, in numbers().poses_bar.
  void begin_vjp(const typename Bodies::To& bar) const;

  // f(body, its shape)
  template <class F>
  void each(const F& f) const {
    for (std::size_t b = 0; b < model.obstacles.size(); ++b)
      if (model.obstacles[b].linked >= 0) f(b, std::size_t(model.obstacles[b].linked));
  }
  typename FlowScratch<Real>::template OfLinkage<T>& numbers() const { return work.template of_linkage<T>(); }
  static T to_linkage(const One& x) {
    if constexpr (kIsDual<S>)
      return T(double(x.v), double(x.d[0]));
    else
      return double(x);
  }
  static Planar<T> to_linkage(const Planar<One>& x) {
    return {to_linkage(x[0]), to_linkage(x[1]), to_linkage(x[2])};
  }
  static One to_flow(const T& x) {
    if constexpr (kIsDual<S>)
      return One(Real(x.v), Real(x.d[0]));
    else
      return Real(x);
  }
  static Planar<One> to_flow(const Planar<T>& x) { return {to_flow(x[0]), to_flow(x[1]), to_flow(x[2])}; }

 private:
  void read(Packed<Real> from, Index at, std::vector<T>& to) const {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = from.value ? to_linkage(read_number<S>(from, at + Index(i))) : T(0);
  }
  std::optional<Index> frame_number(std::size_t b, std::size_t i) const {
    const auto number = Bodies{model, work}.shape_number(b, i);
    if (!number) return {};
    return model.obstacles[b].shape_at + Index(*number);
  }
  // Of the whole step, per density.
  void read_wrenches() const;
};

}  // namespace costate::fluid
