// LaneSystem: a System of many small worlds, made from a kernel that is written for one.
//
// A kernel is a struct of static templates on the scalar S; state, control and parameters are Vec<S, n> in
// registers:
//
//   struct Kernel {
//     static constexpr int states, controls, parameters;
//     template <class S> static Vec<S, states> step(const StepContext& at, x, u, p);
//     template <class S> static Vec<S, states> step_vjp(at, x, u, p, y_bar, u_bar, p_bar);
//         // returns x_bar, adds to the others
//     template <class S> static Vec<S, states> step_back(at, y, u, p);   // optional: time-reversible
//     template <class S> static S energy(x, p);                          // optional
//     static constexpr int unroll;                           // optional: packs in flight, default 1
//     static constexpr std::array<unsigned long, n> active_patterns;     // optional: see below
//   };
//
// From it: S = Pack gives the step of a whole block, S = Dual<Pack> the tangent, step_vjp at S = Dual<Pack>
// the second order. A run of steps keeps the state of its worlds in registers.
//
// A kernel's step_vjp always writes the cotangents of all its parameters; work for those that are not wanted
// disappears because the loop that inlines it never reads them. That needs the choice at compile time: loops
// are compiled for "none" and "all" and for each pattern (bit i: parameter i) that a kernel names as common;
// the smallest that covers the wanted ones is used.
//
// A kernel without a transpose: program/recorded_lane_system.h.
// Tests: tests/ode/lanes/fixed_step_test.cpp, tests/system/rollout_test.cpp.
#pragma once

#include <array>
#include <bit>

#include "costate/system/lane_forward.h"

namespace costate {

namespace kernel {

constexpr unsigned long all_of(int parameters) { return parameters >= 64 ? ~0ul : (1ul << parameters) - 1; }

template <class K>
constexpr auto patterns() {
  if constexpr (requires { K::active_patterns; })
    return K::active_patterns;
  else
    return std::array<unsigned long, 0>{};
}

}  // namespace kernel

template <class Kernel, class Real>
class LaneSystem final : public LaneForward<LaneSystem<Kernel, Real>, Kernel, Real> {
  using Forward = LaneForward<LaneSystem, Kernel, Real>;
  friend Forward;
  using Forward::context, Forward::load_controls;
  using Forward::kLanes, Forward::kP, Forward::kU, Forward::kUnroll, Forward::kWidth, Forward::kX;
  using typename Forward::Knot;
  using typename Forward::S;
  using typename Forward::Scratch;
  static_assert(kP <= 64, "a small kernel has at most 64 parameters");

 public:
  explicit LaneSystem(Signature signature) : Forward(std::move(signature)) {}

  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(kLanes); }

  void reverse(const Run<Real>& run, const Real* states, const Tape<const Real>&, const Ring<Real>& lambda,
               Real* u_bar, Real* p_bar, const Activity& active, Workspace&) const override {
    unsigned long wanted = 0;
    const auto& fields = this->signature_.fields(Role::parameter);
    for (std::size_t f = 0; p_bar && f < fields.size(); ++f) {
      if (active.parameters[f]) wanted |= ((kernel::all_of(int(fields[f].size))) << fields[f].offset);
    }
    choose_reverse(wanted, std::make_index_sequence<kPatterns.size()>{}, run, states, lambda, u_bar, p_bar);
  }

  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real*, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    Real* base = static_cast<Scratch&>(work).two_states();
    std::copy(y_bar, y_bar + kX * kLanes, base);
    reverse(Forward::one_step(at, in), in.x, {}, {base, 2, 0}, bar.u, bar.p, active, work);
    std::copy(base + kX * kLanes, base + 2 * kX * kLanes, bar.x);
  }

  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity&, Workspace&) const override {
    using D = Dual<S>;
    for (int j = 0; j < kUnroll; ++j) {
      Vec<D, kU> u_bar = Vec<D, kU>::zero();
      Vec<D, kP> p_bar = Vec<D, kP>::zero();
      const Vec<D, kX> x_bar = Kernel::template step_vjp<D>(
          context(at, j), dual<kX>(in.x, in_dot.x, j), dual<kU>(in.u, in_dot.u, j),
          dual<kP>(in.p, in_dot.p, j), dual<kX>(y_bar, y_bar_dot, j), u_bar, p_bar);
      for (int i = 0; i < kX; ++i) {
        store<S>(bar.x + i * kLanes + j * kWidth, x_bar[i].v);
        store<S>(bar_dot.x + i * kLanes + j * kWidth, x_bar[i].d[0]);
      }
      add_dual<kU>(u_bar, bar.u, bar_dot.u, j);
      add_dual<kP>(p_bar, bar.p, bar_dot.p, j);
    }
  }

 private:
  static constexpr int stride() { return kLanes; }
  template <class Scalar>
  COSTATE_INLINE static Vec<Scalar, kX> kernel_step(const StepContext& at, const Vec<Scalar, kX>& x,
                                                    const Vec<Scalar, kU>& u, const Vec<Scalar, kP>& p) {
    return Kernel::template step<Scalar>(at, x, u, p);
  }
  template <int N>
  Vec<Dual<S>, N> dual(const Real* value, const Real* tangent, int j) const {
    return this->template load_dual<N>(value, tangent, j);
  }

  static constexpr auto kPatterns = [] {
    constexpr auto own = kernel::patterns<Kernel>();
    std::array<unsigned long, own.size() + 2> all{};
    all[0] = 0;
    for (std::size_t i = 0; i < own.size(); ++i) all[i + 1] = own[i];
    all[own.size() + 1] = kernel::all_of(kP);
    return all;
  }();

  template <std::size_t... I>
  void choose_reverse(unsigned long wanted, std::index_sequence<I...>, const Run<Real>& run,
                      const Real* states, const Ring<Real>& lambda, Real* u_bar, Real* p_bar) const {
    std::size_t best = kPatterns.size() - 1;
    for (std::size_t i = 0; i < kPatterns.size(); ++i) {
      if ((wanted & ~kPatterns[i]) == 0 && std::popcount(kPatterns[i]) < std::popcount(kPatterns[best]))
        best = i;
    }
    ((best == I ? reverse_loop<kPatterns[I]>(run, states, lambda, u_bar, p_bar) : void()), ...);
  }

  template <unsigned long kActive>
  void reverse_loop(const Run<Real>& run, const Real* states, const Ring<Real>& lambda, Real* u_bar,
                    Real* p_bar) const {
    for (int j = 0; j < kUnroll; ++j) {
      reverse_pack<kActive>(run, states + j * kWidth, lambda, u_bar ? u_bar + j * kWidth : nullptr,
                            p_bar ? p_bar + j * kWidth : nullptr, j);
    }
  }

  // Pack j of the block. One at a time: a transpose has work enough in flight, and two would not fit into the
  // registers.
  template <unsigned long kActive>
  __attribute__((noinline)) void reverse_pack(const Run<Real>& run, const Real* states,
                                              const Ring<Real>& lambda, Real* u_bar, Real* p_bar,
                                              int j) const {
    constexpr std::int64_t size = kX * kLanes;
    Vec<S, kX> y_bar = load_vec<S, kX>(lambda.base + lambda.start * size + j * kWidth, kLanes);
    const Vec<S, kP> p = load_vec<S, kP>(run.p + j * kWidth, kLanes);
    // Continued from where the run before left off: however a schedule cuts the steps into runs, they add up
    // in one order.
    Vec<S, kP> sum = Vec<S, kP>::zero();
    for (int i = 0; i < kP; ++i) {
      if ((kActive >> i) & 1) sum[i] = load<S>(p_bar + i * kLanes);
    }
    Knot knot(run, run.first + run.count - 1);
    for (std::int64_t k = run.first + run.count - 1; k >= run.first; --k) {
      Real* u_bar_k = u_bar ? u_bar + knot.index * kU * kLanes : nullptr;
      Vec<S, kU> u_sum = u_bar ? load_vec<S, kU>(u_bar_k, kLanes) : Vec<S, kU>::zero();
      y_bar = Kernel::template step_vjp<S>(context(run.context(k), j),
                                           load_vec<S, kX>(states + (k - run.first) * size, kLanes),
                                           load_controls(knot.u(run, kLanes), j), p, y_bar, u_sum, sum);
      if (kU > 0 && u_bar) store_vec(u_bar_k, kLanes, u_sum);
      knot.back(run);
    }
    store_vec(lambda.base + lambda.slot(run.count) * size + j * kWidth, kLanes, y_bar);
    for (int i = 0; i < kP; ++i) {
      if ((kActive >> i) & 1) store<S>(p_bar + i * kLanes, sum[i]);
    }
  }

  template <int N>
  static void add_dual(const Vec<Dual<S>, N>& from, Real* value, Real* tangent, int j) {
    for (int i = 0; value && i < N; ++i) {
      const std::int64_t at = i * kLanes + j * kWidth;
      store<S>(value + at, load<S>(value + at) + from[i].v);
      store<S>(tangent + at, load<S>(tangent + at) + from[i].d[0]);
    }
  }
};

}  // namespace costate
