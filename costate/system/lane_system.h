// LaneSystem: a System of many small worlds, made from a kernel that is written for one.
//
// A kernel is a struct of static templates on the scalar S; state, control and parameters are Vec<S, n> in registers:
//
//   struct Kernel {
//     static constexpr int states, controls, parameters;
//     template <class S> static Vec<S, states> step(const StepContext& at, x, u, p);
//     template <class S> static Vec<S, states> step_vjp(at, x, u, p, y_bar, u_bar, p_bar);   // returns x_bar, adds to the others
//     template <class S> static Vec<S, states> step_back(at, y, u, p);       // optional: time-reversible
//     template <class S> static S energy(x, p);                              // optional
//     static constexpr int unroll;                                           // optional: packs in flight, default 1
//     static constexpr std::array<unsigned long, n> active_patterns;                      // optional: see below
//   };
//
// From it: S = Pack gives the step of a whole block, S = Dual<Pack> the tangent, step_vjp at S = Dual<Pack> the second order. A
// run of steps keeps the state of its worlds in registers.
//
// A kernel's step_vjp always writes the cotangents of all its parameters; work for those that are not wanted disappears because
// the loop that inlines it never reads them. That needs the choice at compile time: loops are compiled for "none" and "all" and for each
// pattern (bit i: parameter i) that a kernel names as common; the smallest that covers the wanted ones is used.
// Tests: tests/system/lane_system_test.cpp.
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/core/vec.h"
#include "costate/system/system.h"

namespace costate {

namespace kernel {

template <class K>
constexpr int unroll_of() {
  if constexpr (requires { K::unroll; }) return K::unroll;
  else return 1;
}
template <class K>
concept Reversible = requires(StepContext at, Vec<double, K::states> y, Vec<double, K::controls> u, Vec<double, K::parameters> p) {
  K::template step_back<double>(at, y, u, p);
};
template <class K>
concept HasEnergy = requires(Vec<double, K::states> x, Vec<double, K::parameters> p) { K::template energy<double>(x, p); };

constexpr unsigned long all_of(int parameters) { return parameters >= 64 ? ~0ul : (1ul << parameters) - 1; }

template <class K>
constexpr auto patterns() {
  if constexpr (requires { K::active_patterns; }) return K::active_patterns;
  else return std::array<unsigned long, 0>{};
}

}  // namespace kernel

template <class Kernel, class Real>
class LaneSystem final : public System<Real> {
  using S = NativePack<Real>;
  static constexpr int kWidth = lanes_of<S>;
  static constexpr int kUnroll = kernel::unroll_of<Kernel>();
  static constexpr int kLanes = kWidth * kUnroll;
  static constexpr int kX = Kernel::states, kU = Kernel::controls, kP = Kernel::parameters;
  static_assert(kP <= 64, "a small kernel has at most 64 parameters");

 public:
  explicit LaneSystem(Signature signature) : signature_(std::move(signature)) {}

  const Signature& signature() const override { return signature_; }
  int lanes() const override { return kLanes; }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true, .vjp = true, .second_order = true, .reversible = kernel::Reversible<Kernel>, .energy = kernel::HasEnergy<Kernel>};
  }

  void advance(const Run<Real>& run, const Ring<Real>& states, Real*, Workspace&) const override {
    constexpr std::int64_t size = kX * kLanes;
    Vec<S, kX> x[kUnroll];
    Vec<S, kP> p[kUnroll];
    for (int j = 0; j < kUnroll; ++j) {
      x[j] = load_vec<S, kX>(states.base + states.start * size + j * kWidth, kLanes);
      p[j] = load_vec<S, kP>(run.p + j * kWidth, kLanes);
    }
    std::int64_t slot = states.start;
    Knot knot(run, run.first);
    for (std::int64_t k = run.first; k < run.first + run.count; ++k) {
      slot = slot + 1 == states.slots ? 0 : slot + 1;
      Real* to = states.base + slot * size;
      for (int j = 0; j < kUnroll; ++j) {
        x[j] = Kernel::template step<S>(context(run.context(k), j), x[j], load_vec<S, kU>(knot.u(run) + j * kWidth, kLanes), p[j]);
        store_vec(to + j * kWidth, kLanes, x[j]);
      }
      knot.forward(run);
    }
  }

  void reverse(const Run<Real>& run, const Real* states, const Real*, const Ring<Real>& lambda, Real* u_bar, Real* p_bar,
               const Activity& active, Workspace&) const override {
    unsigned long wanted = 0;
    const auto& fields = signature_.fields(Role::parameter);
    for (std::size_t f = 0; p_bar && f < fields.size(); ++f) {
      if (active.parameters[f]) wanted |= ((kernel::all_of(int(fields[f].size))) << fields[f].offset);
    }
    choose_reverse(wanted, std::make_index_sequence<kPatterns.size()>{}, run, states, lambda, u_bar, p_bar);
  }

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real*, Workspace& work) const override {
    // Through advance(), so that single steps and runs have the same bits.
    std::vector<Real>& scratch = static_cast<Scratch&>(work).ring;
    Real* base = aligned(scratch);
    std::copy(in.x, in.x + kX * kLanes, base);
    advance(Run<Real>{at.k, 1, at.world, at.seed, in.u, at.k + 1, in.p}, {base, 2, 0}, nullptr, work);
    std::copy(base + kX * kLanes, base + 2 * kX * kLanes, y);
  }

  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y, Real* y_dot, Workspace&) const override {
    using D = Dual<S>;
    for (int j = 0; j < kUnroll; ++j) {
      const Vec<D, kX> r = Kernel::template step<D>(context(at, j), load_dual<kX>(in.x, in_dot.x, j), load_dual<kU>(in.u, in_dot.u, j),
                                                    load_dual<kP>(in.p, in_dot.p, j));
      for (int i = 0; i < kX; ++i) {
        store<S>(y + i * kLanes + j * kWidth, r[i].v);
        store<S>(y_dot + i * kLanes + j * kWidth, r[i].d[0]);
      }
    }
  }

  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real*, const Real* y_bar, const Cotangents<Real>& bar,
                const Activity& active, Workspace& work) const override {
    Real* base = aligned(static_cast<Scratch&>(work).ring);
    std::copy(y_bar, y_bar + kX * kLanes, base);
    reverse(Run<Real>{at.k, 1, at.world, at.seed, in.u, at.k + 1, in.p}, in.x, nullptr, {base, 2, 0}, bar.u, bar.p, active, work);
    std::copy(base + kX * kLanes, base + 2 * kX * kLanes, bar.x);
  }

  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar, const Real* y_bar_dot,
                const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot, const Activity&, Workspace&) const override {
    using D = Dual<S>;
    for (int j = 0; j < kUnroll; ++j) {
      Vec<D, kU> u_bar = Vec<D, kU>::zero();
      Vec<D, kP> p_bar = Vec<D, kP>::zero();
      const Vec<D, kX> x_bar = Kernel::template step_vjp<D>(context(at, j), load_dual<kX>(in.x, in_dot.x, j), load_dual<kU>(in.u, in_dot.u, j),
                                                            load_dual<kP>(in.p, in_dot.p, j), load_dual<kX>(y_bar, y_bar_dot, j), u_bar, p_bar);
      for (int i = 0; i < kX; ++i) {
        store<S>(bar.x + i * kLanes + j * kWidth, x_bar[i].v);
        store<S>(bar_dot.x + i * kLanes + j * kWidth, x_bar[i].d[0]);
      }
      add_dual<kU>(u_bar, bar.u, bar_dot.u, j);
      add_dual<kP>(p_bar, bar.p, bar_dot.p, j);
    }
  }

  void step_back(const StepContext& at, const Inputs<Real>& in, const Real* y, Real* x, Workspace& work) const override {
    if constexpr (kernel::Reversible<Kernel>) {
      for (int j = 0; j < kUnroll; ++j) {
        store_vec(x + j * kWidth, kLanes,
                  Kernel::template step_back<S>(context(at, j), load_vec<S, kX>(y + j * kWidth, kLanes),
                                                load_vec<S, kU>(controls_of(in.u) + j * kWidth, kLanes), load_vec<S, kP>(in.p + j * kWidth, kLanes)));
      }
    } else {
      System<Real>::step_back(at, in, y, x, work);
    }
  }

  void energy(const Inputs<Real>& in, Real* value, Workspace& work) const override {
    if constexpr (kernel::HasEnergy<Kernel>) {
      for (int j = 0; j < kUnroll; ++j) {
        Kernel::template energy<S>(load_vec<S, kX>(in.x + j * kWidth, kLanes), load_vec<S, kP>(in.p + j * kWidth, kLanes)).store_unaligned(value + j * kWidth);
      }
    } else {
      System<Real>::energy(in, value, work);
    }
  }

  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(); }

 private:
  struct Scratch : Workspace {
    std::vector<Real> ring = std::vector<Real>(2 * kX * kLanes + kAlignment / sizeof(Real));
  };
  static Real* aligned(std::vector<Real>& v) {
    const auto address = reinterpret_cast<std::uintptr_t>(v.data());
    return reinterpret_cast<Real*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }
  // A place to read controls from when there are none.
  static const Real* controls_of(const Real* u) {
    alignas(kAlignment) static const Real none[kLanes] = {};
    return u ? u : none;
  }
  static StepContext context(StepContext at, int j) { return {at.k, at.world + j * kWidth, at.seed}; }

  // The control knot in force: counted instead of divided.
  struct Knot {
    std::int64_t index, phase;
    Knot(const Run<Real>& run, std::int64_t k) : index(k / run.hold), phase(k % run.hold) {}
    const Real* u(const Run<Real>& run) const {
      if constexpr (kU == 0) return nullptr;
      else return run.u + index * kU * kLanes;
    }
    void forward(const Run<Real>& run) {
      if constexpr (kU > 0) {
        if (++phase == run.hold) phase = 0, ++index;
      }
    }
    void back(const Run<Real>& run) {
      if constexpr (kU > 0) {
        if (phase-- == 0) phase = run.hold - 1, --index;
      }
    }
  };

  static constexpr auto kPatterns = [] {
    constexpr auto own = kernel::patterns<Kernel>();
    std::array<unsigned long, own.size() + 2> all{};
    all[0] = 0;
    for (std::size_t i = 0; i < own.size(); ++i) all[i + 1] = own[i];
    all[own.size() + 1] = kernel::all_of(kP);
    return all;
  }();

  template <std::size_t... I>
  void choose_reverse(unsigned long wanted, std::index_sequence<I...>, const Run<Real>& run, const Real* states, const Ring<Real>& lambda,
                      Real* u_bar, Real* p_bar) const {
    std::size_t best = kPatterns.size() - 1;
    for (std::size_t i = 0; i < kPatterns.size(); ++i) {
      if ((wanted & ~kPatterns[i]) == 0 && std::popcount(kPatterns[i]) < std::popcount(kPatterns[best])) best = i;
    }
    ((best == I ? reverse_loop<kPatterns[I]>(run, states, lambda, u_bar, p_bar) : void()), ...);
  }

  template <unsigned long kActive>
  void reverse_loop(const Run<Real>& run, const Real* states, const Ring<Real>& lambda, Real* u_bar, Real* p_bar) const {
    for (int j = 0; j < kUnroll; ++j) {
      reverse_pack<kActive>(run, states + j * kWidth, lambda, u_bar ? u_bar + j * kWidth : nullptr, p_bar ? p_bar + j * kWidth : nullptr, j);
    }
  }

  // Pack j of the block. One at a time: a transpose has work enough in flight, and two would not fit into the registers.
  template <unsigned long kActive>
  __attribute__((noinline)) void reverse_pack(const Run<Real>& run, const Real* states, const Ring<Real>& lambda, Real* u_bar, Real* p_bar, int j) const {
    constexpr std::int64_t size = kX * kLanes;
    Vec<S, kX> y_bar = load_vec<S, kX>(lambda.base + lambda.start * size + j * kWidth, kLanes);
    const Vec<S, kP> p = load_vec<S, kP>(run.p + j * kWidth, kLanes);
    // Continued from where the run before left off: however a schedule cuts the steps into runs, they add up in one order.
    Vec<S, kP> sum = Vec<S, kP>::zero();
    for (int i = 0; i < kP; ++i) {
      if ((kActive >> i) & 1) sum[i] = load<S>(p_bar + i * kLanes);
    }
    Knot knot(run, run.first + run.count - 1);
    for (std::int64_t k = run.first + run.count - 1; k >= run.first; --k) {
      Real* u_bar_k = u_bar ? u_bar + knot.index * kU * kLanes : nullptr;
      Vec<S, kU> u_sum = u_bar ? load_vec<S, kU>(u_bar_k, kLanes) : Vec<S, kU>::zero();
      y_bar = Kernel::template step_vjp<S>(context(run.context(k), j), load_vec<S, kX>(states + (k - run.first) * size, kLanes),
                                           load_vec<S, kU>(knot.u(run) + j * kWidth, kLanes), p, y_bar, u_sum, sum);
      if (kU > 0 && u_bar) store_vec(u_bar_k, kLanes, u_sum);
      knot.back(run);
    }
    store_vec(lambda.base + (lambda.start + run.count) % lambda.slots * size + j * kWidth, kLanes, y_bar);
    for (int i = 0; i < kP; ++i) {
      if ((kActive >> i) & 1) store<S>(p_bar + i * kLanes, sum[i]);
    }
  }

  template <int N>
  static Vec<Dual<S>, N> load_dual(const Real* value, const Real* tangent, int j) {
    Vec<Dual<S>, N> r;
    for (int i = 0; i < N; ++i) {
      const std::int64_t at = i * kLanes + j * kWidth;
      r[i] = Dual<S>(load<S>(value + at), tangent ? load<S>(tangent + at) : S(0));
    }
    return r;
  }
  template <int N>
  static void add_dual(const Vec<Dual<S>, N>& from, Real* value, Real* tangent, int j) {
    for (int i = 0; value && i < N; ++i) {
      const std::int64_t at = i * kLanes + j * kWidth;
      store<S>(value + at, load<S>(value + at) + from[i].v);
      store<S>(tangent + at, load<S>(tangent + at) + from[i].d[0]);
    }
  }

  Signature signature_;
};

}  // namespace costate
