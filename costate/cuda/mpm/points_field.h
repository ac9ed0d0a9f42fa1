// Material points as the threads of a device see them: constants, where numbers lie, which cell a particle is
// in.
//
// A cell is named by the first node of its particles' stencils: base = floor(x / dx - shift), node and cell
// (i, j, k) have the number (i n_1 + j) n_2 + k. Node numbers are momentum and mass, or a velocity, or
// cotangents of these: four each (Quad).
// Tests: tests/cuda/device_points_test.cpp.
#pragma once

#include <cstdint>

#include "costate/core/functions.h"
#include "costate/core/vec3.h"
#include "costate/mpm/model.h"

namespace costate::cuda {

// Read and written at once.
template <class S>
struct alignas(16) Quad {
  S e[4];
};

template <class S, int D>
struct PointsField {
  int nodes[D];
  int node_count;
  S dx, inverse_dx, courant, floor;    // floor: added to a node's mass
  S shift[D], limit[D];                // 0 <= x / dx - shift < limit inside the grid
  S first_shift, inverse_moment;       // of the kernel: mpm/transfer/spline.h
  double origin[D], spacing;           // of the nodes
  std::int64_t particles, states;      // numbers of a state
  std::int64_t x, v, C, F, plastic;    // in the state; plastic = -1: none
  std::int64_t gravity, dt, friction;  // in the parameters; friction = -1: no wall has any
  std::int64_t actuation;              // in the controls; -1: none
  const S* volume;                     // of each particle, or one for all
  bool same_volume;
  struct Wall {
    mpm::Contact contact;
    int nodes;
  };
  Wall walls[2 * D];  // low x, high x, low y, ...

  // From a node to the next along an axis.
  COSTATE_HD COSTATE_INLINE int stride(int axis) const {
    int s = 1;
    for (int a = D - 1; a > axis; --a) s *= nodes[a];
    return s;
  }
  COSTATE_HD COSTATE_INLINE void coordinates(int node, int (&at)[D]) const {
    for (int a = D - 1; a >= 0; --a) at[a] = node % nodes[a], node /= nodes[a];
  }
  COSTATE_HD COSTATE_INLINE Vec3<S> position(const int (&at)[D]) const {
    Vec3<S> r = Vec3<S>::zero();
    for (int a = 0; a < D; ++a) r[a] = S(origin[a] + double(at[a]) * spacing);
    return r;
  }
};

// The cell of a position, or -1 outside the grid. f: the way from the cell's first node, in cells. A number
// that is not finite is outside.
template <class S, int D>
COSTATE_HD COSTATE_INLINE int cell_of(const PointsField<S, D>& field, const S* x, S (&f)[D]) {
  int cell = 0;
  bool inside = true;
  for (int a = 0; a < D; ++a) {
    const S place = fma(x[a], field.inverse_dx, -field.shift[a]);
    const bool good = place >= S(0) && place < field.limit[a];
    const int first = good ? int(place) : 0;
    f[a] = place - S(first) + field.first_shift;
    cell = cell * field.nodes[a] + first;
    inside = inside && good;
  }
  return inside ? cell : -1;
}

// The weight of a node d cells from the particle: mpm/transfer/spline.h, one node at a time.
template <int kTaps, class S>
COSTATE_HD COSTATE_INLINE S weight_at(const S& d) {
  const S a = d < S(0) ? -d : d;
  if constexpr (kTaps == 3) {
    const S beyond = S(1.5) - a;
    return a < S(0.5) ? S(0.75) - d * d : S(0.5) * beyond * beyond;
  } else {
    const S beyond = S(2) - a;
    return S(1.0 / 6) * (a < S(1) ? S(4) + d * d * (S(3) * a - S(6)) : beyond * beyond * beyond);
  }
}

template <int D, int kTaps>
inline constexpr int kStencil = D == 3 ? kTaps* kTaps* kTaps : kTaps* kTaps;

// Node number n of a stencil, the last axis fastest.
template <int D, int kTaps>
COSTATE_HD COSTATE_INLINE void offsets_of(int n, int (&o)[D]) {
  for (int a = D - 1; a >= 0; --a) o[a] = n % kTaps, n /= kTaps;
}

// What a particle spreads: w (Q + A d), in a row of its own. f first, then Q = (momentum, mass), then A row
// by row.
template <int D>
struct SpreadRecord {
  static constexpr int f = 0, Q = D, A = 2 * D + 1, size = D == 3 ? 16 : 12;
};
// What the nodes answer a particle: row by row.
template <int D>
struct MovedRecord {
  static constexpr int V = 0, B = D, size = D == 3 ? 12 : 8;
};
// What the transposes bring back: cotangents of Q and A, velocities, cotangents of positions in cells.
template <int D>
struct PulledRecord {
  static constexpr int Q = 0, v = D + 1, X = 2 * D + 1, A = 3 * D + 1, size = D == 3 ? 20 : 12;
};

template <int kSize, class S>
COSTATE_HD COSTATE_INLINE void load_record(const S* from, S (&r)[kSize]) {
  const Quad<S>* const quads = reinterpret_cast<const Quad<S>*>(from);
  for (int q = 0; q < kSize / 4; ++q) {
    const Quad<S> four = quads[q];
    for (int i = 0; i < 4; ++i) r[4 * q + i] = four.e[i];
  }
}
template <int kSize, class S>
COSTATE_HD COSTATE_INLINE void store_record(S* to, const S (&r)[kSize]) {
  Quad<S>* const quads = reinterpret_cast<Quad<S>*>(to);
  for (int q = 0; q < kSize / 4; ++q) {
    Quad<S> four;
    for (int i = 0; i < 4; ++i) four.e[i] = r[4 * q + i];
    quads[q] = four;
  }
}

// N numbers of a particle. On a GPU the threads of a warp that hold neighbouring particles read or write all
// of their numbers together, side by side, and exchange them among themselves: threads that write nine
// numbers each, one after the other, touch every sector of memory nine times.
inline constexpr int kBlockThreads = 128;

#if defined(__CUDA_ARCH__)
// The first particle of the warp; -1 where its particles are not neighbours, or a thread is missing.
__device__ __forceinline__ std::int64_t first_of_warp(std::int64_t particle) {
  constexpr unsigned kAll = 0xffffffffu;
  if (__activemask() != kAll) return -1;
  const std::int64_t first = __shfl_sync(kAll, particle, 0);
  return __all_sync(kAll, particle == first + threadIdx.x % 32) ? first : -1;
}
template <int N, class S>
__device__ __forceinline__ S* place_of_warp() {
  __shared__ S places[kBlockThreads * N];
  return places + threadIdx.x / 32 * 32 * N;
}
#endif

template <int N, class S>
COSTATE_HD COSTATE_INLINE void load_numbers(const S* from, std::int64_t particle, S* to) {
#if defined(__CUDA_ARCH__)
  if (const std::int64_t first = first_of_warp(particle); first >= 0) {
    S* const place = place_of_warp<N, S>();
    const int lane = threadIdx.x % 32;
    __syncwarp();
    for (int i = 0; i < N; ++i) place[i * 32 + lane] = from[first * N + i * 32 + lane];
    __syncwarp();
    for (int i = 0; i < N; ++i) to[i] = place[lane * N + i];
    return;
  }
#endif
  for (int i = 0; i < N; ++i) to[i] = from[particle * N + i];
}
template <int N, class S>
COSTATE_HD COSTATE_INLINE void store_numbers(S* to, std::int64_t particle, const S* from) {
#if defined(__CUDA_ARCH__)
  if (const std::int64_t first = first_of_warp(particle); first >= 0) {
    S* const place = place_of_warp<N, S>();
    const int lane = threadIdx.x % 32;
    __syncwarp();
    for (int i = 0; i < N; ++i) place[lane * N + i] = from[i];
    __syncwarp();
    for (int i = 0; i < N; ++i) to[first * N + i * 32 + lane] = place[i * 32 + lane];
    return;
  }
#endif
  for (int i = 0; i < N; ++i) to[particle * N + i] = from[i];
}

}  // namespace costate::cuda
