// Between sorted particles and the nodes of the grid: what each thread does.
//
//   SpreadCell     one node of one cell's stencil: the sum over the cell's particles of w (Q + A d)
//   gather_node    one node: the sum over the cells around it, in their order
//   GatherSlot     V = sum w v_i, B = sum w v_i d_i' of a sorted particle, in the place of what it spread
//   MoveParticle   x+ = x + dt V, v+ = V, C+ = (D^-1/dx) B, in the caller's order
//   PullParticle   the transposes of both, with respect to Q, A and the position (mpm/transfer/transfer.h)
//
// A cell's sums go through memory instead of atomics: the result is the same on every run. Its 27 nodes are
// neighbouring threads, which read the same particle at the same time.
// Tests: tests/cuda/device_points_test.cpp.
#pragma once

#include "costate/cuda/lane_thread.h"
#include "costate/cuda/mpm/points_order.h"
#include "costate/mpm/transfer/spline.h"

#if defined(__CUDA_ARCH__)
#define COSTATE_UNROLL_BY_2 COSTATE_PRAGMA(unroll 2)
#else
#define COSTATE_UNROLL_BY_2
#endif

namespace costate::cuda {

// Threads that a cell's stencil takes: whole warps, or halves.
template <int D, int kTaps>
inline constexpr int kCellThreads = kStencil<D, kTaps> <= 16   ? 16
                                    : kStencil<D, kTaps> <= 32 ? 32
                                                               : 64;

// sums: kStencil quads per rank. False where no particle is near.
template <int kTaps, class S, int D>
COSTATE_HD COSTATE_INLINE bool gather_node(const PointsField<S, D>& field, const PointsOrder& order,
                                           const Quad<S>* sums, const int (&at)[D], Quad<S>& sum) {
  bool live = false;
  for (int i = 0; i < 4; ++i) sum.e[i] = S(0);
  COSTATE_UNROLL
  for (int n = 0; n < kStencil<D, kTaps>; ++n) {
    int o[D], cell = 0;
    offsets_of<D, kTaps>(n, o);
    bool inside = true;
    for (int a = 0; a < D; ++a) {
      inside = inside && at[a] >= o[a];
      cell = cell * field.nodes[a] + at[a] - o[a];
    }
    const int rank = inside ? order.rank[cell] : -1;
    if (rank < 0) continue;
    live = true;
    const Quad<S> part = sums[std::int64_t(rank) * kStencil<D, kTaps> + n];
    for (int i = 0; i < 4; ++i) sum.e[i] += part.e[i];
  }
  return live;
}

namespace thread {

template <class S, int D, int kTaps>
struct SpreadCell {
  PointsOrder order;
  const S* records;
  Quad<S>* sums;
  std::int64_t threads;
  COSTATE_HD void operator()(std::int64_t t) const {
    constexpr int kThreads = kCellThreads<D, kTaps>;
    using R = SpreadRecord<D>;
    const int node = int(t % kThreads), live = *order.live;
    if (node >= kStencil<D, kTaps>) return;
    int o[D];
    offsets_of<D, kTaps>(node, o);
    for (int rank = int(t / kThreads); rank < live; rank += int(threads / kThreads)) {
      S sum[D + 1];
      for (S& s : sum) s = S(0);
      const int end = order.first[rank + 1];
      COSTATE_UNROLL_BY_2
      for (int slot = order.first[rank]; slot < end; ++slot) {
        S r[R::size], d[D], w(1);
        load_record(records + std::int64_t(slot) * R::size, r);
        for (int a = 0; a < D; ++a) {
          d[a] = S(o[a]) - r[R::f + a];
          w = w * weight_at<kTaps>(d[a]);
        }
        for (int i = 0; i < D; ++i) {
          S value = r[R::Q + i];
          for (int b = 0; b < D; ++b) value += r[R::A + i * D + b] * d[b];
          sum[i] += w * value;
        }
        sum[D] += w * r[R::Q + D];
      }
      sums[std::int64_t(rank) * kStencil<D, kTaps> + node] = {
          {sum[0], sum[1], D == 3 ? sum[2] : S(0), sum[D]}};
    }
  }
};

template <class S, int D, int kTaps>
struct GatherSlot {
  PointsField<S, D> field;
  PointsOrder order;
  const Quad<S>* velocity;
  S* records;
  COSTATE_HD void operator()(std::int64_t slot) const {
    if (slot >= order.first[*order.live]) return;
    using R = SpreadRecord<D>;
    using M = MovedRecord<D>;
    S* const record = records + slot * R::size;
    const int cell = order.slot_cell[slot];
    S w[D][4], d[D][4], out[M::size];
    for (S& o : out) o = S(0);
    const Quad<S> f = *reinterpret_cast<const Quad<S>*>(record);  // R::f is 0
    for (int a = 0; a < D; ++a) {
      mpm::spline_weights<kTaps>(f.e[a], w[a]);
      for (int k = 0; k < kTaps; ++k) d[a][k] = S(k) - f.e[a];
    }
    COSTATE_UNROLL
    for (int n = 0; n < kStencil<D, kTaps> / kTaps; ++n) {  // rows along the last axis
      int o[D] = {}, node = cell;
      offsets_of<D, kTaps>(n * kTaps, o);
      S weight(1);
      for (int a = 0; a < D - 1; ++a) node += o[a] * field.stride(a), weight = weight * w[a][o[a]];
      S sum[D], moment[D];
      for (int i = 0; i < D; ++i) sum[i] = moment[i] = S(0);
      for (int k = 0; k < kTaps; ++k) {
        const Quad<S> v = velocity[node + k];
        for (int i = 0; i < D; ++i) {
          const S part = w[D - 1][k] * v.e[i];
          sum[i] += part;
          moment[i] += part * d[D - 1][k];
        }
      }
      for (int i = 0; i < D; ++i) {
        out[M::V + i] += weight * sum[i];
        for (int b = 0; b < D - 1; ++b) out[M::B + i * D + b] += weight * d[b][o[b]] * sum[i];
        out[M::B + i * D + D - 1] += weight * moment[i];
      }
    }
    store_record(record, out);
  }
};

template <class S, int D>
struct MoveParticle {
  PointsField<S, D> field;
  const int* slot;
  const S *records, *p, *x;  // parameters; the state before
  S* y;                      // the state after; may be the one before
  COSTATE_HD void operator()(std::int64_t particle) const {
    using M = MovedRecord<D>;
    const int from = slot[particle];
    S r[M::size], at[D], v[D], C[D * D];
    load_numbers<D>(x + field.x, particle, at);
    if (from < 0) return;
    load_record(records + std::int64_t(from) * SpreadRecord<D>::size, r);
    const S dt = p[field.dt], scale = field.inverse_moment * field.inverse_dx;
    bool slow = true;
    for (int a = 0; a < D; ++a) slow = slow && abs(r[M::V + a]) * dt * field.inverse_dx <= field.courant;
    // A particle that is too fast has no number any more: whoever looks finds its step, and asks the CPU.
    for (int a = 0; a < D; ++a) {
      v[a] = slow ? r[M::V + a] : S(NAN);
      at[a] += dt * v[a];
    }
    for (int i = 0; i < D * D; ++i) C[i] = scale * r[M::B + i];
    store_numbers<D>(y + field.x, particle, at);
    store_numbers<D>(y + field.v, particle, v);
    store_numbers<D * D>(y + field.C, particle, C);
  }
};

// bars: what the transposes spread, Q = V_bar, A = B_bar. grid_bar: of the nodes' momenta and masses.
template <class S, int D, int kTaps>
struct PullParticle {
  PointsField<S, D> field;
  PointsOrder order;
  const S *records, *bars;
  const Quad<S>*velocity, *grid_bar;
  S* pulled;
  COSTATE_HD void operator()(std::int64_t slot) const {
    if (slot >= order.first[*order.live]) return;
    using R = SpreadRecord<D>;
    using P = PulledRecord<D>;
    S r[R::size], bar[R::size], out[P::size], w[D][4], slope[D][4];
    load_record(records + slot * R::size, r);
    load_record(bars + slot * R::size, bar);
    for (S& o : out) o = S(0);
    for (int a = 0; a < D; ++a) {
      mpm::spline_weights<kTaps>(r[R::f + a], w[a]);
      mpm::spline_slopes<kTaps>(r[R::f + a], slope[a]);
    }
    const int cell = order.slot_cell[slot];
    COSTATE_UNROLL
    for (int n = 0; n < kStencil<D, kTaps>; ++n) {
      int o[D], node = cell;
      offsets_of<D, kTaps>(n, o);
      S d[D], weight(1);
      for (int a = 0; a < D; ++a) {
        node += o[a] * field.stride(a);
        d[a] = S(o[a]) - r[R::f + a];
        weight = weight * w[a][o[a]];
      }
      const Quad<S> v = velocity[node], m = grid_bar[node];
      S along = m.e[3] * r[R::Q + D];  // v.(V_bar + B_bar d) + m.(Q + A d)
      out[P::Q + D] += weight * m.e[3];
      for (int i = 0; i < D; ++i) {
        S value = r[R::Q + i], value_bar = bar[R::Q + i];
        for (int b = 0; b < D; ++b) {
          value += r[R::A + i * D + b] * d[b];
          value_bar += bar[R::A + i * D + b] * d[b];
          out[P::A + i * D + b] += weight * m.e[i] * d[b];
        }
        along += m.e[i] * value + v.e[i] * value_bar;
        out[P::Q + i] += weight * m.e[i];
        out[P::v + i] += weight * v.e[i];
      }
      for (int a = 0; a < D; ++a) {
        S turned = along * slope[a][o[a]];
        for (int b = 0; b < D; ++b)
          if (b != a) turned = turned * w[b][o[b]];
        out[P::X + a] += turned;
      }
    }
    for (int a = 0; a < D; ++a)
      for (int i = 0; i < D; ++i)
        out[P::X + a] -= r[R::A + i * D + a] * out[P::Q + i] + bar[R::A + i * D + a] * out[P::v + i];
    store_record(pulled + slot * P::size, out);
  }
};

}  // namespace thread
}  // namespace costate::cuda
