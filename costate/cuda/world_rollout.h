// A rollout and its gradient as one thread of a GPU sees them: one world, all its steps, state in registers.
//
//   x_{k+1} = step(x_k, u_k, p)              k = 0 ... T-1
//   l_k     = step_vjp(x_k, u_k, p; l_{k+1})   l_T given;  l_0 is x0_bar, u_bar and p_bar add up on the way
//
// The kernel is that of a LaneSystem (system/lane_system.h), instantiated for S = float or double instead of
// a pack.
//
// The transposes need the states in reverse order. record_world writes a checkpoint every kSegment steps to
// device memory; reverse_world takes them from the last to the first, recomputes the states of a segment into
// registers, and runs the transposes over it. That is one more forward pass in return for kSegment times less
// memory traffic, and a register is indexed only by constants because the loops over a segment unroll. The T
// mod kSegment steps at the end are segments of one step.
//
// Nothing here needs a GPU: the functions also run on the host, where tests compare them with Rollout.
// The __global__ kernels that call them: device_rollout.h. Tests: tests/cuda/world_rollout_test.cpp,
// device_rollout_test.cu.
#pragma once

#include <cstdint>

#include "costate/core/vec.h"
#include "costate/system/system.h"

#if defined(__CUDA_ARCH__)
#define COSTATE_PRAGMA(text) _Pragma(#text)
#define COSTATE_UNROLL COSTATE_PRAGMA(unroll)
#define COSTATE_UNROLL_BY_4 COSTATE_PRAGMA(unroll 4)
#else
#define COSTATE_UNROLL
#define COSTATE_UNROLL_BY_4
#endif

namespace costate::cuda {

// Many worlds of one kernel. Arrays lie as [index][world], number i of world w at i * worlds + w:
// neighbouring threads touch neighbouring addresses. Controls are [knot][index][world]; a knot holds for
// `hold` steps.
template <class S>
struct WorldBatch {
  std::int64_t worlds = 0;
  int steps = 0;
  int hold = 1;
  std::uint64_t seed = 0;
  const S* x0 = nullptr;
  const S* u = nullptr;
  const S* p = nullptr;

  constexpr int knots() const { return (steps + hold - 1) / hold; }
};

// States that a recorded rollout keeps.
COSTATE_HD constexpr int checkpoint_count(int steps, int segment) {
  return steps / segment + steps % segment;
}

// Where a gradient goes. x holds the cotangent of the final state on entry and of the initial state on
// return; u is added to; p is written, the active parameters only.
template <class S>
struct WorldCotangents {
  S* x = nullptr;
  S* u = nullptr;
  S* p = nullptr;
};

template <class Kernel, class S>
class World {
 public:
  static constexpr int kX = Kernel::states, kU = Kernel::controls, kP = Kernel::parameters;
  using X = Vec<S, kX>;
  using U = Vec<S, kU>;
  using P = Vec<S, kP>;

  COSTATE_HD COSTATE_INLINE World(const WorldBatch<S>& batch, std::int64_t index)
      : batch_(batch), index_(index), p_(load_vec<S, kP>(batch.p + index, batch.worlds)) {}

  COSTATE_HD COSTATE_INLINE X load_state(const S* from) const {
    return load_vec<S, kX>(from + index_, batch_.worlds);
  }
  COSTATE_HD COSTATE_INLINE void store_state(S* to, const X& x) const {
    store_vec(to + index_, batch_.worlds, x);
  }
  COSTATE_HD COSTATE_INLINE std::int64_t state_stride() const { return kX * batch_.worlds; }

  COSTATE_HD COSTATE_INLINE X step(int k, const X& x) const {
    return Kernel::template step<S>(context(k), x, controls(k), p_);
  }
  // Returns x_bar, adds to p_bar and to the knot's cotangent in u_bar.
  COSTATE_HD COSTATE_INLINE X step_vjp(int k, const X& x, const X& y_bar, S* u_bar, P& p_bar) const {
    U knot_bar = U::zero();
    const X x_bar = Kernel::template step_vjp<S>(context(k), x, controls(k), p_, y_bar, knot_bar, p_bar);
    if constexpr (kU > 0) {
      S* to = u_bar + knot_offset(k);
      store_vec(to, batch_.worlds, load_vec<S, kU>(to, batch_.worlds) + knot_bar);
    }
    return x_bar;
  }

 private:
  COSTATE_HD COSTATE_INLINE StepContext context(int k) const { return {k, index_, batch_.seed}; }
  COSTATE_HD COSTATE_INLINE std::int64_t knot_offset(int k) const {
    return (k / batch_.hold) * (kU * batch_.worlds) + index_;
  }
  COSTATE_HD COSTATE_INLINE U controls(int k) const {
    if constexpr (kU == 0)
      return U::zero();
    else
      return load_vec<S, kU>(batch_.u + knot_offset(k), batch_.worlds);
  }

  const WorldBatch<S>& batch_;
  std::int64_t index_;
  P p_;
};

template <class Kernel, class S>
COSTATE_HD inline void simulate_world(const WorldBatch<S>& batch, std::int64_t index, S* x_end) {
  const World<Kernel, S> world(batch, index);
  auto x = world.load_state(batch.x0);
  COSTATE_UNROLL_BY_4
  for (int k = 0; k < batch.steps; ++k) x = world.step(k, x);
  world.store_state(x_end, x);
}

template <class Kernel, int kSegment, class S>
COSTATE_HD inline void record_world(const WorldBatch<S>& batch, std::int64_t index, S* checkpoints,
                                    S* x_end) {
  const World<Kernel, S> world(batch, index);
  auto x = world.load_state(batch.x0);
  int k = 0;
  for (; k + kSegment <= batch.steps; k += kSegment) {
    world.store_state(checkpoints, x);
    checkpoints += world.state_stride();
    COSTATE_UNROLL
    for (int j = 0; j < kSegment; ++j) x = world.step(k + j, x);
  }
  for (; k < batch.steps; ++k) {
    world.store_state(checkpoints, x);
    checkpoints += world.state_stride();
    x = world.step(k, x);
  }
  world.store_state(x_end, x);
}

// kActive: bit i asks for the cotangent of parameter i. The compiler drops the work for sums that are not
// stored.
template <class Kernel, int kSegment, unsigned long kActive, class S>
COSTATE_HD inline void reverse_world(const WorldBatch<S>& batch, std::int64_t index, const S* checkpoints,
                                     const WorldCotangents<S>& bar) {
  using W = World<Kernel, S>;
  const W world(batch, index);
  auto x_bar = world.load_state(bar.x);
  auto p_bar = W::P::zero();
  checkpoints += checkpoint_count(batch.steps, kSegment) * world.state_stride();

  const int whole = batch.steps / kSegment * kSegment;
  for (int k = batch.steps - 1; k >= whole; --k) {
    checkpoints -= world.state_stride();
    x_bar = world.step_vjp(k, world.load_state(checkpoints), x_bar, bar.u, p_bar);
  }
  for (int k = whole - kSegment; k >= 0; k -= kSegment) {
    checkpoints -= world.state_stride();
    typename W::X x[kSegment];
    x[0] = world.load_state(checkpoints);
    COSTATE_UNROLL
    for (int j = 0; j + 1 < kSegment; ++j) x[j + 1] = world.step(k + j, x[j]);
    COSTATE_UNROLL
    for (int j = kSegment - 1; j >= 0; --j) x_bar = world.step_vjp(k + j, x[j], x_bar, bar.u, p_bar);
  }

  world.store_state(bar.x, x_bar);
  COSTATE_UNROLL
  for (int i = 0; i < W::kP; ++i) {
    if ((kActive >> i) & 1) bar.p[i * batch.worlds + index] = p_bar[i];
  }
}

}  // namespace costate::cuda
