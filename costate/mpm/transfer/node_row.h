// NodeRow: four consecutive grid nodes of four numbers each (momentum and mass, or velocity), as the
// machine's registers hold them.
//
// A particle's stencil is three or four nodes wide, so along the last axis it is one row: with AVX-512 and
// float a single register. Transfers then run over rows: 9 (or 16) a particle in three dimensions instead of
// 27 (or 64) nodes.
//
//   quad(q)    the four numbers q in every node          expand(w)  number w[k] in all four places of node k
//   fold()     sum over the nodes: four numbers
//
// Dual<NodeRow<Real>> carries tangents through the same code. Tests: tests/mpm/transfer_test.cpp.
#pragma once

#include <algorithm>

#include "costate/ad/dual.h"
#include "costate/mpm/transfer/quad.h"
#include "costate/mpm/transfer/shuffle.h"

namespace costate::mpm {

template <class Real>
struct NodeRow {
  static constexpr int kLanes = std::clamp(kNativeLanes<Real>, 4, 16), kParts = 16 / kLanes;
  using Part = Pack<Real, kLanes>;
  Part e[kParts];

  NodeRow() = default;
  COSTATE_INLINE NodeRow(Real all) {
    for (int i = 0; i < kParts; ++i) e[i] = Part(all);
  }
  static COSTATE_INLINE NodeRow load(const Real* from) {
    NodeRow r;
    for (int i = 0; i < kParts; ++i) r.e[i] = Part::load_unaligned(from + i * kLanes);
    return r;
  }
  COSTATE_INLINE void store(Real* to) const {
    for (int i = 0; i < kParts; ++i) e[i].store_unaligned(to + i * kLanes);
  }
  static COSTATE_INLINE NodeRow quad(const Real* q) {
    NodeRow r;
    const Part all = repeat_quad<Real, kLanes>(q);
    for (int i = 0; i < kParts; ++i) r.e[i] = all;
    return r;
  }
  static COSTATE_INLINE NodeRow expand(const Real* w) {
    NodeRow r;
    if constexpr (kLanes == 4) {
      for (int i = 0; i < 4; ++i) r.e[i] = Part(w[i]);
    } else {
      const Part all = repeat_quad<Real, kLanes>(w);
      for (int i = 0; i < kParts; ++i) {
        typename Mask<Real, kLanes>::Vector pick;
        for (int l = 0; l < kLanes; ++l) pick[l] = (l & ~3) + i * (kLanes / 4) + l / 4;
        r.e[i] = Part(shuffled(all.v, pick));
      }
    }
    return r;
  }
  COSTATE_INLINE Pack<Real, 4> fold() const {
    Part s = e[0];
    for (int i = 1; i < kParts; ++i) s += e[i];
    if constexpr (kLanes == 16)
      return (quad_of<0>(s) + quad_of<1>(s)) + (quad_of<2>(s) + quad_of<3>(s));
    else if constexpr (kLanes == 8)
      return quad_of<0>(s) + quad_of<1>(s);
    else
      return s;
  }
  // Four folds at once, one after the other in memory: halves are added in pairs, so that the shuffles serve
  // all four.
  static COSTATE_INLINE void store_folds(Real* to, const NodeRow& a, const NodeRow& b, const NodeRow& c,
                                         const NodeRow& d) {
    if constexpr (kLanes == 16) {
      typename Mask<Real, kLanes>::Vector low, high, even, odd;
      for (int l = 0; l < 16; ++l) {
        low[l] = l < 8 ? l : l + 8;  // quads 0, 1 of both
        high[l] = low[l] + 8;        // quads 2, 3
        even[l] = (l & 3) + 8 * (l / 4);
        odd[l] = even[l] + 4;
      }
      const auto pairs = [&](const Part& p, const Part& q) {
        return shuffled(p.v, q.v, low) + shuffled(p.v, q.v, high);
      };
      const auto ab = pairs(a.e[0], b.e[0]), cd = pairs(c.e[0], d.e[0]);
      Part(shuffled(ab, cd, even) + shuffled(ab, cd, odd)).store_unaligned(to);
    } else {
      a.fold().store_unaligned(to);
      b.fold().store_unaligned(to + 4);
      c.fold().store_unaligned(to + 8);
      d.fold().store_unaligned(to + 12);
    }
  }

  friend COSTATE_INLINE NodeRow operator+(const NodeRow& a, const NodeRow& b) {
    NodeRow r;
    for (int i = 0; i < kParts; ++i) r.e[i] = a.e[i] + b.e[i];
    return r;
  }
  friend COSTATE_INLINE NodeRow operator*(const NodeRow& a, const NodeRow& b) {
    NodeRow r;
    for (int i = 0; i < kParts; ++i) r.e[i] = a.e[i] * b.e[i];
    return r;
  }
  friend COSTATE_INLINE NodeRow operator/(const NodeRow& a, const NodeRow& b) {
    NodeRow r;
    for (int i = 0; i < kParts; ++i) r.e[i] = a.e[i] / b.e[i];
    return r;
  }
  COSTATE_INLINE NodeRow& operator+=(const NodeRow& b) { return *this = *this + b; }

  // Each node's fourth number in all its places; the sum of each node's four numbers in all its places.
  COSTATE_INLINE NodeRow masses() const {
    return permuted([](int l) { return l | 3; });
  }
  COSTATE_INLINE NodeRow quad_sum() const {
    const NodeRow pairs = *this + permuted([](int l) { return l ^ 1; });
    return pairs + pairs.permuted([](int l) { return l ^ 2; });
  }

 private:
  template <class From>
  COSTATE_INLINE NodeRow permuted(const From& from) const {
    typename Mask<Real, kLanes>::Vector pick;
    for (int l = 0; l < kLanes; ++l) pick[l] = from(l);
    NodeRow r;
    for (int i = 0; i < kParts; ++i) r.e[i] = Part(shuffled(e[i].v, pick));
    return r;
  }
};

}  // namespace costate::mpm

namespace costate {
template <class Real>
struct ScalarTraits<mpm::NodeRow<Real>> {
  using Value = Real;
  using MaskType = bool;
  static constexpr int lanes = 16;
};
}  // namespace costate

namespace costate::mpm {

// What a stage computes with: plain numbers, or numbers with a tangent. Lanes hold particles, rows hold
// nodes.
template <class Real_>
struct Values {
  using Real = Real_;
  using Number = Real;
  using Lanes = NativePack<Real>;
  using Row = NodeRow<Real>;
  using Four = Pack<Real, 4>;
  static constexpr bool kTangent = false;
};
template <class Real_>
struct Tangents {
  using Real = Real_;
  using Number = Dual<Real>;
  using Lanes = Dual<NativePack<Real>>;
  using Row = Dual<NodeRow<Real>>;
  using Four = Dual<Pack<Real, 4>>;
  static constexpr bool kTangent = true;
};

// An array and, in tangent mode, the array of its tangents (null: zero).
template <class T>
struct Slice {
  T* v = nullptr;
  T* d = nullptr;
  COSTATE_INLINE Slice operator+(std::int64_t n) const { return {v + n, d ? d + n : nullptr}; }
};

template <class Mode>
COSTATE_INLINE typename Mode::Number number_at(Slice<const typename Mode::Real> from, std::int64_t i) {
  if constexpr (Mode::kTangent)
    return {from.v[i], from.d ? from.d[i] : typename Mode::Real(0)};
  else
    return from.v[i];
}
template <class Mode>
COSTATE_INLINE typename Mode::Row load_row(Slice<const typename Mode::Real> from, std::int64_t i) {
  using Rows = NodeRow<typename Mode::Real>;
  if constexpr (Mode::kTangent)
    return {Rows::load(from.v + i), Rows::load(from.d + i)};
  else
    return Rows::load(from.v + i);
}
template <class Mode>
COSTATE_INLINE void store_row(Slice<typename Mode::Real> to, std::int64_t i, const typename Mode::Row& row) {
  if constexpr (Mode::kTangent)
    row.v.store(to.v + i), row.d[0].store(to.d + i);
  else
    row.store(to.v + i);
}
template <class Mode>
COSTATE_INLINE typename Mode::Row quad_row(Slice<const typename Mode::Real> from, std::int64_t i) {
  using Rows = NodeRow<typename Mode::Real>;
  if constexpr (Mode::kTangent)
    return {Rows::quad(from.v + i), Rows::quad(from.d + i)};
  else
    return Rows::quad(from.v + i);
}
template <class Mode>
COSTATE_INLINE typename Mode::Row expand_row(Slice<const typename Mode::Real> from, std::int64_t i) {
  using Rows = NodeRow<typename Mode::Real>;
  if constexpr (Mode::kTangent)
    return {Rows::expand(from.v + i), Rows::expand(from.d + i)};
  else
    return Rows::expand(from.v + i);
}
template <class Mode>
COSTATE_INLINE typename Mode::Row splat_row(const typename Mode::Number& s) {
  using Rows = NodeRow<typename Mode::Real>;
  if constexpr (Mode::kTangent)
    return {Rows(s.v), Rows(s.d[0])};
  else
    return Rows(s);
}
template <class Mode>
COSTATE_INLINE void store_folds(Slice<typename Mode::Real> to, std::int64_t i, const typename Mode::Row& a,
                                const typename Mode::Row& b, const typename Mode::Row& c,
                                const typename Mode::Row& d) {
  using Rows = NodeRow<typename Mode::Real>;
  if constexpr (Mode::kTangent) {
    Rows::store_folds(to.v + i, a.v, b.v, c.v, d.v);
    Rows::store_folds(to.d + i, a.d[0], b.d[0], c.d[0], d.d[0]);
  } else {
    Rows::store_folds(to.v + i, a, b, c, d);
  }
}

}  // namespace costate::mpm
