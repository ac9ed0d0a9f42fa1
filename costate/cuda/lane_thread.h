// What one thread of a GPU does for a small physics: one world, all steps of a run, state in registers.
//
//   x_{k+1} = step(x_k, u_k, p)                 k = first ... first + count - 1
//   l_k     = step_vjp(x_k, u_k, p; l_{k+1})    u_bar and p_bar add up on the way
//
// The kernel is that of a LaneSystem (system/lane_system.h) with S = float or double instead of a pack, or a
// Program that was written out as source (program_source.h): this file is also part of what NVRTC compiles,
// so it uses nothing of the standard library.
//
// The transposes need the states in reverse order. record_world writes every kSegment-th state to the tape;
// reverse_world takes them from the last to the first, computes the states of a segment again into registers,
// and runs the transposes over it: one more forward pass in return for kSegment times less memory.
// A register is indexed only by constants because the loops over a whole segment unroll. A segment that a run
// or a sample of the adjoint's norm cuts takes its steps one by one.
//
// Nothing here needs a GPU: tests run the same functions on the host. Who calls them: lane_kernels.h.
// Tests: tests/cuda/device_rollout_test.cpp.
#pragma once

#if !defined(COSTATE_COMPILED_AT_RUN_TIME)
#include <cstdint>
#include <cstring>

#include "costate/core/vec.h"
#include "costate/system/system.h"
#endif

#if defined(__CUDA_ARCH__)
#define COSTATE_PRAGMA(text) _Pragma(#text)
#define COSTATE_UNROLL COSTATE_PRAGMA(unroll)
// A step of a thousand instructions gains nothing from being written four times.
#if defined(COSTATE_LONG_STEP)
#define COSTATE_UNROLL_BY_4 COSTATE_PRAGMA(unroll 1)
#else
#define COSTATE_UNROLL_BY_4 COSTATE_PRAGMA(unroll 4)
#endif
// A step belongs into the loop around it.
#define COSTATE_STEP COSTATE_INLINE
#else
#define COSTATE_UNROLL
#define COSTATE_UNROLL_BY_4
// One body for every loop: a compiler that may contract products and sums chooses once, and the bits do not
// depend on how a schedule cuts the steps.
#define COSTATE_STEP __attribute__((noinline))
#endif

namespace costate::cuda {

inline constexpr int kWatchEvery = 128;  // steps between looks at whether a state is finite

// Steps [first, first + count) of many worlds. States and parameters lie as [index][world], number i of world
// w at i * worlds + w: neighbouring threads touch neighbouring addresses. Controls come with their strides:
// those that all worlds share lie there once.
template <class S>
struct DeviceRun {
  std::int64_t worlds, first, count;
  std::int64_t first_world;  // of this block
  std::uint64_t seed;
  const S* p;
  const S* u;
  std::int64_t u_index, u_world, u_knot;  // strides
  std::int64_t hold;                      // steps that share a knot of controls
};

// States of steps tape_begin, tape_begin + kSegment, ..., each with the `extra` numbers per world that the
// physics leaves for its transposes.
template <class S>
struct DeviceTape {
  S* base;
  std::int64_t begin;
  std::int64_t extra = 0;
};

// x is replaced; u, as [knot][index][world], and the wanted parameters are added to. norms[sample][world] is
// |x_bar|^2 at the steps between first and first + count, exclusive, that are multiples of `spacing`.
template <class S>
struct DeviceCotangents {
  S* x;
  S* u;  // null: not wanted
  S* p;  // null: not wanted
  double* norms;
  std::int64_t spacing;
};

template <class S>
COSTATE_HD COSTATE_INLINE bool is_finite(S value) {  // by bits: a comparison with NaN raises an exception
  if constexpr (sizeof(S) == 8) {
    unsigned long bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x7ff0000000000000ul) != 0x7ff0000000000000ul;
  } else {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x7f800000u) != 0x7f800000u;
  }
}

// Longer segments need more registers: the compiler keeps the stages of all their steps.
template <class Kernel>
COSTATE_HD constexpr int segment_of() {
  if constexpr (requires { Kernel::segment; })
    return Kernel::segment;
  else
    return Kernel::states <= 4 ? 4 : Kernel::states <= 8 ? 2 : 1;
}

template <class Kernel, class S>
class LaneThread {
 public:
  static constexpr int kX = Kernel::states, kU = Kernel::controls, kP = Kernel::parameters;
  static constexpr int kSegment = segment_of<Kernel>();
  using X = Vec<S, kX>;
  using U = Vec<S, kU>;
  using P = Vec<S, kP>;

  COSTATE_HD COSTATE_INLINE LaneThread(const DeviceRun<S>& run, std::int64_t index)
      : run_(run), index_(index), p_(load_vec<S, kP>(run.p + index, run.worlds)) {}

  COSTATE_HD COSTATE_INLINE X load(const S* from) const {
    return load_vec<S, kX>(from + index_, run_.worlds);
  }
  COSTATE_HD COSTATE_INLINE void store(S* to, const X& x) const { store_vec(to + index_, run_.worlds, x); }
  COSTATE_HD COSTATE_INLINE std::int64_t stride() const { return kX * run_.worlds; }

  COSTATE_HD COSTATE_STEP X step(int k, const X& x) const {
    return Kernel::template step<S>(context(k), x, controls(k), p_);
  }
  COSTATE_HD COSTATE_STEP X step_back(int k, const X& y) const {
    return Kernel::template step_back<S>(context(k), y, controls(k), p_);
  }
  COSTATE_HD COSTATE_INLINE S energy(const X& x) const { return Kernel::template energy<S>(x, p_); }

  // Returns x_bar, adds to p_bar and to the knot's cotangent.
  COSTATE_HD COSTATE_STEP X step_vjp(int k, const X& x, const X& y_bar, S* u_bar, P& p_bar) const {
    U knot_bar = U::zero();
    const X x_bar = Kernel::template step_vjp<S>(context(k), x, controls(k), p_, y_bar, knot_bar, p_bar);
    if constexpr (kU > 0) {
      if (u_bar != nullptr) {
        S* to = u_bar + (k / int(run_.hold)) * (kU * run_.worlds) + index_;
        store_vec(to, run_.worlds, load_vec<S, kU>(to, run_.worlds) + knot_bar);
      }
    }
    return x_bar;
  }

  static COSTATE_HD COSTATE_INLINE bool finite(const X& x) {
    bool all = true;
    for (int i = 0; i < kX; ++i) all = all && is_finite(x[i]);
    return all;
  }
  static COSTATE_HD COSTATE_INLINE double norm2(const X& x) {
    double sum = 0;
    for (int i = 0; i < kX; ++i) sum += double(x[i]) * double(x[i]);
    return sum;
  }

 private:
  COSTATE_HD COSTATE_INLINE StepContext context(int k) const {
    return {k, run_.first_world + index_, run_.seed};
  }
  COSTATE_HD COSTATE_INLINE U controls(int k) const {
    if constexpr (kU == 0)
      return U::zero();
    else
      return load_vec<S, kU>(run_.u + (k / int(run_.hold)) * run_.u_knot + index_ * run_.u_world,
                             run_.u_index);
  }

  const DeviceRun<S>& run_;
  std::int64_t index_;
  P p_;
};

template <class Kernel, class S>
COSTATE_HD inline void advance_world(const DeviceRun<S>& run, std::int64_t index, const S* from, S* to,
                                     char* diverged) {
  const LaneThread<Kernel, S> world(run, index);
  auto x = world.load(from);
  bool finite = world.finite(x);
  const int end = int(run.first + run.count);
  for (int k = int(run.first); k < end;) {
    const int watch = (k / kWatchEvery + 1) * kWatchEvery, stop = watch < end ? watch : end;
    COSTATE_UNROLL_BY_4
    for (; k < stop; ++k) x = world.step(k, x);
    finite = finite && world.finite(x);
  }
  world.store(to, x);
  if (!finite) diverged[index] = 1;
}

template <class Kernel, class S>
COSTATE_HD inline void record_world(const DeviceRun<S>& run, std::int64_t index, const S* from, S* to,
                                    const DeviceTape<S>& tape, char* diverged) {
  using World = LaneThread<Kernel, S>;
  constexpr int kSegment = World::kSegment;
  const World world(run, index);
  auto x = world.load(from);
  bool finite = world.finite(x);
  const int end = int(run.first + run.count), begin = int(tape.begin);
  const auto place = [&](int k) { return tape.base + (k - begin) / kSegment * world.stride(); };
  int k = int(run.first);
  for (; k < end && (k - begin) % kSegment != 0; ++k) x = world.step(k, x);
  S* segment = place(k);
  for (; k + kSegment <= end; k += kSegment) {
    world.store(segment, x);
    segment += world.stride();
    COSTATE_UNROLL
    for (int j = 0; j < kSegment; ++j) x = world.step(k + j, x);
    if ((k & (kWatchEvery - 1)) < kSegment) finite = finite && world.finite(x);
  }
  if constexpr (kSegment > 1) {
    if (k < end) world.store(segment, x);
    for (; k < end; ++k) x = world.step(k, x);
  }
  world.store(to, x);
  if (!finite || !world.finite(x)) diverged[index] = 1;
}

template <unsigned long kActive>
COSTATE_HD constexpr bool is_active(int parameter) {
  return kActive == ~0ul || ((kActive >> parameter) & 1) != 0;
}

// kActive: bit i asks for the cotangent of parameter i, all bits for all however many. The compiler drops the
// work for sums that are not stored.
template <class Kernel, unsigned long kActive, class S>
COSTATE_HD inline void reverse_world(const DeviceRun<S>& run, std::int64_t index, const DeviceTape<S>& tape,
                                     const DeviceCotangents<S>& bar) {
  using World = LaneThread<Kernel, S>;
  constexpr int kSegment = World::kSegment;
  const World world(run, index);
  auto x_bar = world.load(bar.x);
  // Continued from where the run before left off: however a schedule cuts the steps into runs, they add up in
  // one order.
  auto p_bar = World::P::zero();
  COSTATE_UNROLL
  for (int i = 0; i < World::kP; ++i)
    if (bar.p != nullptr && is_active<kActive>(i)) p_bar[i] = bar.p[i * run.worlds + index];

  const int first = int(run.first), begin = int(tape.begin), spacing = int(bar.spacing);
  int k = int(run.first + run.count);  // x_bar belongs to the state before step k
  int sample = (k - 1) / spacing * spacing;
  const auto note = [&] {
    if (k != sample || k <= first) return;
    bar.norms[std::int64_t(k / spacing) * run.worlds + index] = world.norm2(x_bar);
    sample -= spacing;
  };
  while (k > first) {
    const int start = begin + (k - 1 - begin) / kSegment * kSegment;
    const S* kept = tape.base + (start - begin) / kSegment * world.stride();
    const int stop = sample > first ? sample : first;
    if (kSegment > 1 && k - start == kSegment && start >= stop) {
      // Whole segments; each asks for the state of the next one before it is needed.
      auto ahead = world.load(kept);
      for (int whole = (k - stop) / kSegment; whole > 0; --whole) {
        typename World::X x[kSegment];
        x[0] = ahead;
        k -= kSegment;
        if (whole > 1) ahead = world.load(kept -= world.stride());
        COSTATE_UNROLL
        for (int j = 0; j + 1 < kSegment; ++j) x[j + 1] = world.step(k + j, x[j]);
        COSTATE_UNROLL
        for (int j = kSegment - 1; j >= 0; --j) x_bar = world.step_vjp(k + j, x[j], x_bar, bar.u, p_bar);
      }
      note();
    } else {
      for (const int end = start > first ? start : first; k > end;) {
        auto x = world.load(kept);
        if constexpr (kSegment > 1)
          for (int j = start; j + 1 < k; ++j) x = world.step(j, x);
        x_bar = world.step_vjp(k - 1, x, x_bar, bar.u, p_bar);
        --k;
        note();
      }
    }
  }

  world.store(bar.x, x_bar);
  COSTATE_UNROLL
  for (int i = 0; i < World::kP; ++i)
    if (bar.p != nullptr && is_active<kActive>(i)) bar.p[i * run.worlds + index] = p_bar[i];
}

}  // namespace costate::cuda
