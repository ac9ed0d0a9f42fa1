// Particles of a pack: from arrays of structures (the state, the records of a stage) to lanes and back, by
// transposing 4 x 4 blocks.
//
// Lane l of a pack holds particle index[l]. Reading N numbers of a particle reads up to the next multiple of
// four: every array that is read this way has at least three more numbers behind it.
#pragma once

#include "costate/mpm/transfer/node_row.h"

namespace costate::mpm {

// Within each group of four lanes: t[r] lane c <- t[c] lane r. Its own inverse.
template <class Real, int L>
COSTATE_INLINE void transpose_groups(Pack<Real, L> (&t)[4]) {
  using Pick = typename Mask<Real, L>::Vector;
  Pick low, high, first, second;
  for (int l = 0; l < L; ++l) {
    const int group = l & ~3, k = l & 3;
    low[l] = group + k / 2 + (k & 1) * L;  // a0 b0 a1 b1
    high[l] = low[l] + 2;                  // a2 b2 a3 b3
    first[l] = group + (k & 1) + (k / 2) * L;
    second[l] = first[l] + 2;
  }
  const auto ab = shuffled(t[0].v, t[1].v, low), cd = shuffled(t[2].v, t[3].v, low);
  const auto ef = shuffled(t[0].v, t[1].v, high), gh = shuffled(t[2].v, t[3].v, high);
  t[0].v = shuffled(ab, cd, first);
  t[1].v = shuffled(ab, cd, second);
  t[2].v = shuffled(ef, gh, first);
  t[3].v = shuffled(ef, gh, second);
}

// Numbers [0, 4) at place(l) of each lane.
template <class Real, int L, class Place>
COSTATE_INLINE void read_four(const Place& place, Pack<Real, L> (&out)[4]) {
  if constexpr (L >= 4) {
    for (int r = 0; r < 4; ++r) out[r] = join_quads<Real, L>([&](int g) { return place(4 * g + r); });
    transpose_groups(out);
  } else {
    for (int c = 0; c < 4; ++c)
      for (int l = 0; l < L; ++l) out[c].set(l, place(l)[c]);
  }
}
// The first kCount of four numbers to place(l) of each of the first `lanes` lanes.
template <int kCount = 4, class Real, int L, class Place>
COSTATE_INLINE void write_four(const Place& place, int lanes, Pack<Real, L> (&in)[4]) {
  if constexpr (L >= 4) {
    transpose_groups(in);
    for (int r = 0; r < 4; ++r) {
      if (r < lanes) store_part<kCount>(quad_of<0>(in[r]), place(r));
      if constexpr (L >= 8)
        if (4 + r < lanes) store_part<kCount>(quad_of<1>(in[r]), place(4 + r));
      if constexpr (L >= 16) {
        if (8 + r < lanes) store_part<kCount>(quad_of<2>(in[r]), place(8 + r));
        if (12 + r < lanes) store_part<kCount>(quad_of<3>(in[r]), place(12 + r));
      }
    }
  } else {
    for (int l = 0; l < std::min(L, lanes); ++l)
      for (int c = 0; c < kCount; ++c) place(l)[c] = in[c][l];
  }
}

template <int kFirst = 0, class Real, int L, int N>
COSTATE_INLINE void read_lanes(const Real* from, const std::int32_t* index, Pack<Real, L>* out) {
  if constexpr (N == 1) {
    Real buffer[L] __attribute__((aligned(64)));
    for (int l = 0; l < L; ++l) buffer[l] = from[index[l]];
    out[0] = Pack<Real, L>::load(buffer);
  } else {
    // A single last number is read with the three before it: a pack loaded from just stored numbers would
    // wait for them.
    constexpr int kBack = N - kFirst == 1 ? 3 : 0;
    Pack<Real, L> four[4];
    read_four([&](int l) { return from + std::int64_t(index[l]) * N + (kFirst - kBack); }, four);
    for (int c = kFirst; c < std::min(kFirst + 4, N); ++c) out[c] = four[c - kFirst + kBack];
    if constexpr (N - kFirst > 4) read_lanes<kFirst + 4, Real, L, N>(from, index, out);
  }
}
template <int kFirst = 0, class Real, int L, int N>
COSTATE_INLINE void write_lanes(Real* to, const std::int32_t* index, int lanes, const Pack<Real, L>* in) {
  constexpr int kCount = N - kFirst < 4 ? N - kFirst : 4;
  const auto place = [&](int l) { return to + std::int64_t(index[l]) * N + kFirst; };
  if constexpr (kCount == 1) {
    Real buffer[L] __attribute__((aligned(64)));
    in[kFirst].store(buffer);
    if (lanes == L)
      for (int l = 0; l < L; ++l) *place(l) = buffer[l];
    else
      for (int l = 0; l < lanes; ++l) *place(l) = buffer[l];
  } else {
    Pack<Real, L> four[4];
    for (int c = 0; c < 4; ++c) four[c] = in[kFirst + (c < kCount ? c : 0)];
    if (lanes == L)
      write_four<kCount>(place, L, four);
    else
      write_four<kCount>(place, lanes, four);
    if constexpr (N - kFirst > 4) write_lanes<kFirst + 4, Real, L, N>(to, index, lanes, in);
  }
}

// The same for packs with tangents.
template <class Mode, int N>
COSTATE_INLINE void gather_lanes(Slice<const typename Mode::Real> from, const std::int32_t* index,
                                 typename Mode::Lanes* out) {
  using Real = typename Mode::Real;
  using Plain = NativePack<Real>;
  if constexpr (Mode::kTangent) {
    Plain v[N], d[N];
    read_lanes<0, Real, Plain::lanes, N>(from.v, index, v);
    if (from.d)
      read_lanes<0, Real, Plain::lanes, N>(from.d, index, d);
    else
      for (int c = 0; c < N; ++c) d[c] = Plain(0);
    for (int c = 0; c < N; ++c) out[c] = {v[c], d[c]};
  } else {
    read_lanes<0, Real, Plain::lanes, N>(from.v, index, out);
  }
}
template <class Mode, int N>
COSTATE_INLINE void scatter_lanes(Slice<typename Mode::Real> to, const std::int32_t* index, int lanes,
                                  const typename Mode::Lanes* in) {
  using Real = typename Mode::Real;
  using Plain = NativePack<Real>;
  if constexpr (Mode::kTangent) {
    Plain v[N], d[N];
    for (int c = 0; c < N; ++c) v[c] = in[c].v, d[c] = in[c].d[0];
    write_lanes<0, Real, Plain::lanes, N>(to.d, index, lanes, d);
    write_lanes<0, Real, Plain::lanes, N>(to.v, index, lanes, v);
  } else {
    write_lanes<0, Real, Plain::lanes, N>(to.v, index, lanes, in);
  }
}

}  // namespace costate::mpm
