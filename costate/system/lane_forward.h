// LaneForward: what the two kinds of lane systems share (lane_system.h, program/recorded_lane_system.h): a
// kernel's steps, its tangents, its inverse steps and its energy, over packs of worlds with the state in
// registers.
//
// `Self` derives from it and says what a step is and how many lanes a block has:
//
//   static constexpr int kX, kU, kP;   int stride() const;
//     Vec<Scalar, kX> kernel_step<Scalar>(at, x, u, p) const
//
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/core/vec.h"
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
concept HasEnergy = requires(Vec<double, K::states> x, Vec<double, K::parameters> p) {
  K::template energy<double>(x, p);
};

// The control knot in force: counted instead of divided.
template <class Real, int kControls>
struct Knot {
  std::int64_t index, phase;
  Knot(const Run<Real>& run, std::int64_t k) : index(k / run.hold), phase(k % run.hold) {}
  const Real* u(const Run<Real>& run, int stride) const {
    if constexpr (kControls == 0)
      return nullptr;
    else
      return run.u + index * kControls * stride;
  }
  void forward(const Run<Real>& run) {
    if constexpr (kControls > 0) {
      if (++phase == run.hold) phase = 0, ++index;
    }
  }
  void back(const Run<Real>& run) {
    if constexpr (kControls > 0) {
      if (phase-- == 0) phase = run.hold - 1, --index;
    }
  }
};

}  // namespace kernel

template <class Self, class Kernel, class Real>
class LaneForward : public System<Real> {
 public:
  const Signature& signature() const override { return signature_; }
  int lanes() const override { return self().stride(); }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true,
            .vjp = true,
            .second_order = true,
            .reversible = kernel::Reversible<Kernel>,
            .energy = kernel::HasEnergy<Kernel>};
  }

  void advance(const Run<Real>& run, const Ring<Real>& states, const Tape<Real>&, Workspace&) const override {
    for (int first = 0; first < self().stride(); first += kLanes) advance_group(run, states, first);
  }

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real*, Workspace& work) const override {
    // Through advance(), so that single steps and runs have the same bits.
    Real* base = static_cast<Scratch&>(work).two_states();
    const std::int64_t size = kX * self().stride();
    std::copy(in.x, in.x + size, base);
    advance(one_step(at, in), {base, 2, 0}, {}, work);
    std::copy(base + size, base + 2 * size, y);
  }

  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                Real* y_dot, Workspace&) const override {
    using D = Dual<S>;
    const int stride = self().stride();
    for (int j = 0; j < stride / kWidth; ++j) {
      const Vec<D, kX> r =
          self().template kernel_step<D>(context(at, j), load_dual<kX>(in.x, in_dot.x, j),
                                         load_dual<kU>(in.u, in_dot.u, j), load_dual<kP>(in.p, in_dot.p, j));
      for (int i = 0; i < kX; ++i) {
        store<S>(y + i * stride + j * kWidth, r[i].v);
        store<S>(y_dot + i * stride + j * kWidth, r[i].d[0]);
      }
    }
  }

  void step_back(const StepContext& at, const Inputs<Real>& in, const Real* y, Real* x,
                 Workspace& work) const override {
    if constexpr (kernel::Reversible<Kernel>) {
      const int stride = self().stride();
      for (int j = 0; j < stride / kWidth; ++j) {
        store_vec(x + j * kWidth, stride,
                  Kernel::template step_back<S>(context(at, j), load_vec<S, kX>(y + j * kWidth, stride),
                                                load_controls(in.u, j),
                                                load_vec<S, kP>(in.p + j * kWidth, stride)));
      }
    } else {
      System<Real>::step_back(at, in, y, x, work);
    }
  }

  void energy(const Inputs<Real>& in, Real* value, Workspace& work) const override {
    if constexpr (kernel::HasEnergy<Kernel>) {
      const int stride = self().stride();
      for (int j = 0; j < stride / kWidth; ++j) {
        Kernel::template energy<S>(load_vec<S, kX>(in.x + j * kWidth, stride),
                                   load_vec<S, kP>(in.p + j * kWidth, stride))
            .store_unaligned(value + j * kWidth);
      }
    } else {
      System<Real>::energy(in, value, work);
    }
  }

 protected:
  using S = NativePack<Real>;
  using Knot = kernel::Knot<Real, Kernel::controls>;
  static constexpr int kWidth = lanes_of<S>;
  static constexpr int kUnroll = kernel::unroll_of<Kernel>();  // packs in flight
  static constexpr int kLanes = kWidth * kUnroll;
  static constexpr int kX = Kernel::states, kU = Kernel::controls, kP = Kernel::parameters;

  // Room for a ring of two states.
  struct Scratch : Workspace {
    explicit Scratch(int stride)
        : ring(static_cast<std::size_t>(2 * kX * stride) + kAlignment / sizeof(Real)) {}
    Real* two_states() {
      const auto address = reinterpret_cast<std::uintptr_t>(ring.data());
      return reinterpret_cast<Real*>((address + kAlignment - 1) / kAlignment * kAlignment);
    }
    std::vector<Real> ring;
  };

  explicit LaneForward(Signature signature) : signature_(std::move(signature)) {}

  const Self& self() const { return static_cast<const Self&>(*this); }
  static Run<Real> one_step(const StepContext& at, const Inputs<Real>& in) {
    return {at.k, 1, at.world, at.seed, in.u, at.k + 1, in.p};
  }
  static StepContext context(StepContext at, int j) { return {at.k, at.world + j * kWidth, at.seed}; }
  // There may be no controls, and no pointer to them.
  COSTATE_INLINE Vec<S, kU> load_controls(const Real* u, int j) const {
    if constexpr (kU == 0)
      return Vec<S, kU>::zero();
    else
      return load_vec<S, kU>(u + j * kWidth, self().stride());
  }
  template <int N>
  Vec<Dual<S>, N> load_dual(const Real* value, const Real* tangent, int j) const {
    Vec<Dual<S>, N> r;
    for (int i = 0; i < N; ++i) {
      const std::int64_t at = i * self().stride() + j * kWidth;
      r[i] = Dual<S>(load<S>(value + at), tangent ? load<S>(tangent + at) : S(0));
    }
    return r;
  }

 private:
  // Lanes [first, first + kLanes) of a block through all steps of a run.
  void advance_group(const Run<Real>& run, const Ring<Real>& states, int first) const {
    const int stride = self().stride();
    const std::int64_t size = kX * stride;
    Vec<S, kX> x[kUnroll];
    Vec<S, kP> p[kUnroll];
    for (int j = 0; j < kUnroll; ++j) {
      x[j] = load_vec<S, kX>(states.base + states.start * size + first + j * kWidth, stride);
      p[j] = load_vec<S, kP>(run.p + first + j * kWidth, stride);
    }
    std::int64_t slot = states.start;
    Knot knot(run, run.first);
    for (std::int64_t k = run.first; k < run.first + run.count; ++k) {
      slot = states.next(slot);
      Real* to = states.base + slot * size + first;
      for (int j = 0; j < kUnroll; ++j) {
        x[j] = self().template kernel_step<S>(context(run.context(k), first / kWidth + j), x[j],
                                              load_controls(knot.u(run, stride), first / kWidth + j), p[j]);
        store_vec(to + j * kWidth, stride, x[j]);
      }
      knot.forward(run);
    }
  }

 protected:
  Signature signature_;
};

}  // namespace costate
