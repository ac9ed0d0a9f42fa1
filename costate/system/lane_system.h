// LaneSystem: a System of many small worlds, made from a kernel that is written for one.
//
// A kernel is a struct of static templates on the scalar S; state, control and parameters are Vec<S, n> in registers:
//
//   struct Kernel {
//     static constexpr int states, controls, parameters;
//     template <class S> static Vec<S, states> step(const StepContext& at, x, u, p);
//     template <class S> static Vec<S, states> step_vjp(at, x, u, p, y_bar, u_bar, p_bar);   // optional; returns x_bar, adds to the others
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
//
// A kernel without step_vjp is recorded: its step takes the step's number as an S in place of the context, so that it can be
// recorded for all steps at once, and its transpose is that of the recorded Program, run on the same block.
// Interpreting is cheap only over many packs, so a block of such a kernel is a strip of them. Its functions need not be static.
// Tests: tests/system/program/lambda_system_test.cpp, tests/ode/lanes/fixed_step_test.cpp.
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/ad/record.h"
#include "costate/core/vec.h"
#include "costate/system/program/step_program.h"
#include "costate/system/system.h"

namespace costate {

namespace kernel {

template <class K>
constexpr int unroll_of() {
  if constexpr (requires { K::unroll; })
    return K::unroll;
  else
    return 1;
}
template <class K>
concept Reversible = requires(StepContext at, Vec<double, K::states> y, Vec<double, K::controls> u,
                              Vec<double, K::parameters> p) {
  K::template step_back<double>(at, y, u, p);
};
template <class K>
concept HasTranspose = requires(StepContext at, Vec<double, K::states> x, Vec<double, K::controls> u,
                                Vec<double, K::parameters> p) {
  K::template step_vjp<double>(at, x, u, p, x, u, p);
};
template <class K>
concept HasEnergy = requires(Vec<double, K::states> x, Vec<double, K::parameters> p) {
  K::template energy<double>(x, p);
};

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
class LaneSystem final : public System<Real> {
  using S = NativePack<Real>;
  static constexpr int kWidth = lanes_of<S>;
  static constexpr int kUnroll = kernel::unroll_of<Kernel>();
  static constexpr int kLanes = kWidth * kUnroll;
  static constexpr int kX = Kernel::states, kU = Kernel::controls, kP = Kernel::parameters;
  static constexpr bool kRecorded = !kernel::HasTranspose<Kernel>;
  static_assert(kRecorded || kP <= 64, "a small kernel has at most 64 parameters");

 public:
  explicit LaneSystem(Signature signature) requires(!kRecorded) : signature_(std::move(signature)) {}
  // `lanes` is rounded up to whole groups of packs.
  LaneSystem(Signature signature, Kernel kernel, int lanes) requires(kRecorded)
      : signature_(std::move(signature)),
        kernel_(std::move(kernel)),
        lanes_((lanes + kLanes - 1) / kLanes * kLanes),
        recorded_(signature_, record()) {}

  const Signature& signature() const override { return signature_; }
  int lanes() const override { return stride(); }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true,
            .vjp = true,
            .second_order = true,
            .reversible = kernel::Reversible<Kernel>,
            .energy = kernel::HasEnergy<Kernel>};
  }

  void advance(const Run<Real>& run, const Ring<Real>& states, Real*, Workspace&) const override {
    for (int first = 0; first < stride(); first += kLanes) advance_group(run, states, first);
  }

  void reverse(const Run<Real>& run, const Real* states, const Real*, const Ring<Real>& lambda, Real* u_bar,
               Real* p_bar, const Activity& active, Workspace& work) const override {
    if constexpr (kRecorded) {
      System<Real>::reverse(run, states, nullptr, lambda, u_bar, p_bar, active, work);
    } else {
      unsigned long wanted = 0;
      const auto& fields = signature_.fields(Role::parameter);
      for (std::size_t f = 0; p_bar && f < fields.size(); ++f) {
        if (active.parameters[f]) wanted |= ((kernel::all_of(int(fields[f].size))) << fields[f].offset);
      }
      choose_reverse(wanted, std::make_index_sequence<kPatterns.size()>{}, run, states, lambda, u_bar, p_bar);
    }
  }

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real*, Workspace& work) const override {
    // Through advance(), so that single steps and runs have the same bits.
    std::vector<Real>& scratch = static_cast<Scratch&>(work).ring;
    Real* base = aligned(scratch);
    const std::int64_t size = kX * stride();
    std::copy(in.x, in.x + size, base);
    advance(Run<Real>{at.k, 1, at.world, at.seed, in.u, at.k + 1, in.p}, {base, 2, 0}, nullptr, work);
    std::copy(base + size, base + 2 * size, y);
  }

  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                Real* y_dot, Workspace&) const override {
    using D = Dual<S>;
    for (int j = 0; j < stride() / kWidth; ++j) {
      const Vec<D, kX> r = kernel_step<D>(context(at, j), load_dual<kX>(in.x, in_dot.x, j),
                                          load_dual<kU>(in.u, in_dot.u, j), load_dual<kP>(in.p, in_dot.p, j));
      for (int i = 0; i < kX; ++i) {
        store<S>(y + i * stride() + j * kWidth, r[i].v);
        store<S>(y_dot + i * stride() + j * kWidth, r[i].d[0]);
      }
    }
  }

  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real*, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    if constexpr (kRecorded) {
      recorded_.vjp(at.k, in, y_bar, bar, active, lanes_, *static_cast<Scratch&>(work).program);
    } else {
      Real* base = aligned(static_cast<Scratch&>(work).ring);
      std::copy(y_bar, y_bar + kX * kLanes, base);
      reverse(Run<Real>{at.k, 1, at.world, at.seed, in.u, at.k + 1, in.p}, in.x, nullptr, {base, 2, 0}, bar.u,
              bar.p, active, work);
      std::copy(base + kX * kLanes, base + 2 * kX * kLanes, bar.x);
    }
  }

  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& work) const override {
    if constexpr (kRecorded) {
      recorded_.hvp(at.k, in, in_dot, y_bar, y_bar_dot, bar, bar_dot, active, lanes_,
                    *static_cast<Scratch&>(work).program);
    } else {
      using D = Dual<S>;
      for (int j = 0; j < kUnroll; ++j) {
        Vec<D, kU> u_bar = Vec<D, kU>::zero();
        Vec<D, kP> p_bar = Vec<D, kP>::zero();
        const Vec<D, kX> x_bar = Kernel::template step_vjp<D>(
            context(at, j), load_dual<kX>(in.x, in_dot.x, j), load_dual<kU>(in.u, in_dot.u, j),
            load_dual<kP>(in.p, in_dot.p, j), load_dual<kX>(y_bar, y_bar_dot, j), u_bar, p_bar);
        for (int i = 0; i < kX; ++i) {
          store<S>(bar.x + i * kLanes + j * kWidth, x_bar[i].v);
          store<S>(bar_dot.x + i * kLanes + j * kWidth, x_bar[i].d[0]);
        }
        add_dual<kU>(u_bar, bar.u, bar_dot.u, j);
        add_dual<kP>(p_bar, bar.p, bar_dot.p, j);
      }
    }
  }

  void step_back(const StepContext& at, const Inputs<Real>& in, const Real* y, Real* x,
                 Workspace& work) const override {
    if constexpr (kernel::Reversible<Kernel>) {
      for (int j = 0; j < stride() / kWidth; ++j) {
        store_vec(x + j * kWidth, stride(),
                  Kernel::template step_back<S>(context(at, j), load_vec<S, kX>(y + j * kWidth, stride()),
                                                load_controls(in.u, j),
                                                load_vec<S, kP>(in.p + j * kWidth, stride())));
      }
    } else {
      System<Real>::step_back(at, in, y, x, work);
    }
  }

  void energy(const Inputs<Real>& in, Real* value, Workspace& work) const override {
    if constexpr (kernel::HasEnergy<Kernel>) {
      for (int j = 0; j < stride() / kWidth; ++j) {
        Kernel::template energy<S>(load_vec<S, kX>(in.x + j * kWidth, stride()),
                                   load_vec<S, kP>(in.p + j * kWidth, stride()))
            .store_unaligned(value + j * kWidth);
      }
    } else {
      System<Real>::energy(in, value, work);
    }
  }

  std::unique_ptr<Workspace> make_workspace() const override {
    auto scratch = std::make_unique<Scratch>();
    scratch->ring.resize(static_cast<std::size_t>(2 * kX * stride()) + kAlignment / sizeof(Real));
    if constexpr (kRecorded) scratch->program = recorded_.make_scratch();
    return scratch;
  }

 private:
  struct Scratch : Workspace {
    std::vector<Real> ring;
    std::unique_ptr<typename StepProgram<Real>::Scratch> program;  // of a recorded kernel
  };
  struct Nothing {};

  // Lanes of a block: known to the compiler unless the kernel is recorded.
  COSTATE_INLINE int stride() const {
    if constexpr (kRecorded)
      return lanes_;
    else
      return kLanes;
  }

  template <class Scalar>
  COSTATE_INLINE Vec<Scalar, kX> kernel_step(const StepContext& at, const Vec<Scalar, kX>& x,
                                             const Vec<Scalar, kU>& u, const Vec<Scalar, kP>& p) const {
    if constexpr (kRecorded)
      return kernel_.template step<Scalar>(Scalar(value_t<Scalar>(at.k)), x, u, p);
    else
      return Kernel::template step<Scalar>(at, x, u, p);
  }

  ad::Program record() const requires(kRecorded) {
    ad::Recorder recorder;
    Vec<ad::Var, kU> u;
    Vec<ad::Var, kP> p;
    const Vec<ad::Var, kX> x = recorder.input<kX>("x");
    if constexpr (kU > 0) u = recorder.input<kU>("u");
    for (const Field& field : signature_.fields(Role::parameter)) {
      const std::vector<ad::Var> values = recorder.input("p/" + field.name, int(field.size));
      std::copy(values.begin(), values.end(), p.e + field.offset);
    }
    const ad::Var k = recorder.scalar("k");
    recorder.output("y", kernel_.template step<ad::Var>(k, x, u, p));
    return recorder.finish();
  }

  // Lanes [first, first + kLanes) of a block through all steps of a run.
  void advance_group(const Run<Real>& run, const Ring<Real>& states, int first) const {
    const std::int64_t size = kX * stride();
    Vec<S, kX> x[kUnroll];
    Vec<S, kP> p[kUnroll];
    for (int j = 0; j < kUnroll; ++j) {
      x[j] = load_vec<S, kX>(states.base + states.start * size + first + j * kWidth, stride());
      p[j] = load_vec<S, kP>(run.p + first + j * kWidth, stride());
    }
    std::int64_t slot = states.start;
    Knot knot(run, run.first);
    for (std::int64_t k = run.first; k < run.first + run.count; ++k) {
      slot = slot + 1 == states.slots ? 0 : slot + 1;
      Real* to = states.base + slot * size + first;
      for (int j = 0; j < kUnroll; ++j) {
        x[j] = kernel_step<S>(context(run.context(k), first / kWidth + j), x[j],
                              load_controls(knot.u(run, stride()), first / kWidth + j), p[j]);
        store_vec(to + j * kWidth, stride(), x[j]);
      }
      knot.forward(run);
    }
  }

  static Real* aligned(std::vector<Real>& v) {
    const auto address = reinterpret_cast<std::uintptr_t>(v.data());
    return reinterpret_cast<Real*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }
  // There may be no controls, and no pointer to them.
  COSTATE_INLINE Vec<S, kU> load_controls(const Real* u, int j) const {
    if constexpr (kU == 0)
      return Vec<S, kU>::zero();
    else
      return load_vec<S, kU>(u + j * kWidth, stride());
  }
  static StepContext context(StepContext at, int j) { return {at.k, at.world + j * kWidth, at.seed}; }

  // The control knot in force: counted instead of divided.
  struct Knot {
    std::int64_t index, phase;
    Knot(const Run<Real>& run, std::int64_t k) : index(k / run.hold), phase(k % run.hold) {}
    const Real* u(const Run<Real>& run, int stride) const {
      if constexpr (kU == 0)
        return nullptr;
      else
        return run.u + index * kU * stride;
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

  // Pack j of the block. One at a time: a transpose has work enough in flight, and two would not fit into the registers.
  template <unsigned long kActive>
  __attribute__((noinline)) void reverse_pack(const Run<Real>& run, const Real* states,
                                              const Ring<Real>& lambda, Real* u_bar, Real* p_bar,
                                              int j) const {
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
      y_bar = Kernel::template step_vjp<S>(context(run.context(k), j),
                                           load_vec<S, kX>(states + (k - run.first) * size, kLanes),
                                           load_controls(knot.u(run, kLanes), j), p, y_bar, u_sum, sum);
      if (kU > 0 && u_bar) store_vec(u_bar_k, kLanes, u_sum);
      knot.back(run);
    }
    store_vec(lambda.base + (lambda.start + run.count) % lambda.slots * size + j * kWidth, kLanes, y_bar);
    for (int i = 0; i < kP; ++i) {
      if ((kActive >> i) & 1) store<S>(p_bar + i * kLanes, sum[i]);
    }
  }

  template <int N>
  Vec<Dual<S>, N> load_dual(const Real* value, const Real* tangent, int j) const {
    Vec<Dual<S>, N> r;
    for (int i = 0; i < N; ++i) {
      const std::int64_t at = i * stride() + j * kWidth;
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
  [[no_unique_address]] Kernel kernel_{};
  int lanes_ = kLanes;
  [[no_unique_address]] std::conditional_t<kRecorded, StepProgram<Real>, Nothing> recorded_;
};

}  // namespace costate
