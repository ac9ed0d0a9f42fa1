// Rows of cells in scratch memory, as the loops of stencil_sweep.h see them: with room at both ends for the
// cells beyond the sides and for whole packs, so that no loop has a special case at an end. A row carries
// tangents too where they are asked for: the same loops then give values, tangents, cotangents and second
// order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "costate/ad/dual.h"
#include "costate/core/aligned_buffer.h"
#include "costate/core/stream.h"
#include "costate/grid/stencil_kernel.h"

namespace costate::grid::stencil {

using Index = std::int64_t;

// One row, from its first cell on; cells from -pad to width + pad may be touched.
template <class Real, bool kDual>
struct Line {
  using Wide = NativePack<Real>;
  using S = std::conditional_t<kDual, Dual<Wide>, Wide>;
  using N = std::conditional_t<kDual, Dual<Real>, Real>;
  Real* value = nullptr;
  Real* tangent = nullptr;

  COSTATE_INLINE S get(Index i) const {
    if constexpr (kDual)
      return S(Wide::load_unaligned(value + i), Wide::load_unaligned(tangent + i));
    else
      return Wide::load_unaligned(value + i);
  }
  COSTATE_INLINE void put(Index i, const S& s) const {
    if constexpr (kDual) {
      s.v.store_unaligned(value + i);
      s.d[0].store_unaligned(tangent + i);
    } else {
      s.store_unaligned(value + i);
    }
  }
  COSTATE_INLINE N one(Index i) const {
    if constexpr (kDual)
      return N(value[i], tangent[i]);
    else
      return value[i];
  }
  COSTATE_INLINE void set(Index i, const N& x) const {
    if constexpr (kDual)
      value[i] = x.v, tangent[i] = x.d[0];
    else
      value[i] = x;
  }
  static COSTATE_INLINE S spread(const N& x) {
    if constexpr (kDual)
      return S(Wide(x.v), Wide(x.d[0]));
    else
      return S(x);
  }
};

// Numbers of the caller, rows without pads. No tangent: zero.
template <class Real>
struct In {
  const Real* value = nullptr;
  const Real* tangent = nullptr;
  In operator+(Index i) const { return {value + i, tangent ? tangent + i : nullptr}; }
};
template <class Real>
struct Out {
  Real* value = nullptr;
  Real* tangent = nullptr;
  Out operator+(Index i) const { return {value + i, tangent ? tangent + i : nullptr}; }
  operator In<Real>() const { return {value, tangent}; }
};

// Memory of one slab, handed out piece by piece. Without a base it only counts.
template <class Real>
struct Arena {
  Real* base = nullptr;
  Index used = 0;
  Real* take(Index numbers) {
    constexpr Index line = kAlignment / Index(sizeof(Real));
    Real* const at = base ? base + used : nullptr;
    used += (numbers + line - 1) / line * line;
    return at;
  }
};

// Extents of a grid and of its rows in scratch memory.
template <class Real>
struct GridShape {
  static constexpr Index lanes = NativePack<Real>::lanes;
  Index nx = 0, ny = 0;
  bool periodic_x = false, periodic_y = false;
  Index cells() const { return nx * ny; }
  Index width() const { return (nx + lanes - 1) / lanes * lanes; }
  Index pad() const { return 2 * lanes; }
  Index stride() const { return width() + 2 * pad() + lanes; }
  bool inside(Index j) const { return periodic_y || (j >= 0 && j < ny); }
  // Whether the face south of row j, or west of column i, lies between two cells of the grid.
  bool open_y(Index j) const { return periodic_y || (j > 0 && j < ny); }
  bool open_x(Index i) const { return periodic_x || (i > 0 && i < nx); }
  // Rows that all slabs share: zeros, then 1 where a west face is open and 0 where it is a wall.
  Index shared_numbers() const { return 2 * stride(); }
  void fill_shared(Real* rows) const {
    std::fill_n(rows, stride(), Real(0));
    for (Index i = 0; i < stride(); ++i) rows[stride() + i] = open_x(i - pad()) ? Real(1) : Real(0);
  }
  const Real* open_faces(const Real* shared) const { return shared + stride() + pad(); }
  Index wrap(Index j) const { return periodic_y ? ((j % ny) + ny) % ny : j; }
};

// Some planes of a slab, `held` consecutive rows at a time, and the rows beyond south and north.
template <class Real, bool kDual>
class RowStore {
 public:
  using L = Line<Real, kDual>;
  using S = typename L::S;
  using N = typename L::N;
  using Beyond = Outside<N>;

  RowStore() = default;
  // `zero` is a row of zeros. Without ghosts, zeros lie beyond the sides that are not periodic.
  RowStore(Arena<Real>& arena, const GridShape<Real>& grid, int planes, Index held, int halo, bool ghosts,
           Real* zero)
      : grid_(grid), planes_(planes), halo_(halo), held_(held), zero_(zero) {
    const Index parts = kDual ? 2 : 1;
    rows_ = arena.take(held * planes * parts * grid.stride());
    if (ghosts) ghosts_ = arena.take(2 * halo * planes * parts * grid.stride());
    has_ghosts_ = ghosts;
  }

  // From now on rows [begin, end) lie in the caller's memory itself, without ends: for planes of which a
  // cell reads its own number alone, in rows of whole packs.
  void lend(Out<Real> planes, Index begin, Index end) {
    lent_ = planes;
    lent_begin_ = begin;
    lent_end_ = end;
  }

  // Row j of the grid, which is held.
  L own(int plane, Index j) const {
    if (lent(j)) {
      const Out<Real> row = lent_ + (plane * grid_.cells() + j * grid_.nx);
      return {row.value, row.tangent};
    }
    const Index slot = (j + held_ * kFar) % held_;
    return line(rows_, slot * planes_ + plane);
  }
  // Any row that a cell can see.
  L at(int plane, Index j) const {
    if (grid_.inside(j)) return own(plane, j);
    if (!has_ghosts_) return {zero_ + grid_.pad(), zero_ + grid_.pad()};
    return ghost(
        plane, j < 0 ? std::min<Index>(-1 - j, halo_ - 1) : halo_ + std::min<Index>(j - grid_.ny, halo_ - 1));
  }

  // Copies row j of `plane` from the caller's memory.
  void fetch(int plane, Index j, In<Real> row) const {
    const L to = own(plane, j);
    copy_row<true>(to.value, row.value);
    if constexpr (kDual) {
      if (row.tangent)
        copy_row<true>(to.tangent, row.tangent);
      else
        std::fill_n(to.tangent, grid_.nx, Real(0));
    }
  }
  void clear(int plane, Index j) const {
    const L to = own(plane, j);
    for (Index i = -grid_.pad(); i < grid_.width() + grid_.pad(); i += GridShape<Real>::lanes)
      to.put(i, S(0));
  }
  // The cells beyond the ends of row j, which is complete, and the rows beyond south and north that mirror
  // it.
  void finish(int plane, Index j, const Beyond (&beyond)[4]) const {
    if (lent(j)) return;
    fill_ends(own(plane, j), beyond);
    if (!has_ghosts_ || grid_.periodic_y) return;
    if (j < halo_) mirror(plane, j, ghost(plane, j), beyond[kSouth]);
    if (j >= grid_.ny - halo_) mirror(plane, j, ghost(plane, halo_ + grid_.ny - 1 - j), beyond[kNorth]);
  }
  void put(int plane, Index j, Out<Real> row) const {
    const L from = own(plane, j);
    copy_row<false>(row.value, from.value);
    if constexpr (kDual) copy_row<false>(row.tangent, from.tangent);
  }
  // The same, past the caches. Before others read the row: stream_fence().
  void stream_out(int plane, Index j, Real* row) const {
    constexpr Index lanes = GridShape<Real>::lanes;
    const bool whole =
        reinterpret_cast<std::uintptr_t>(row) % sizeof(NativePack<Real>) == 0 && grid_.nx % lanes == 0;
    if (kDual || !whole) return put(plane, j, {row});
    const Real* const from = own(plane, j).value;
    for (Index i = 0; i < grid_.nx; i += lanes) stream(row + i, NativePack<Real>::load_unaligned(from + i));
  }

 private:
  static constexpr Index kFar =
      1 << 20;  // rows below the grid that own() may be asked for, in units of `held`

  bool lent(Index j) const { return j >= lent_begin_ && j < lent_end_; }
  L line(Real* base, Index number) const {
    Real* const row = base + number * (kDual ? 2 : 1) * grid_.stride() + grid_.pad();
    return {row, kDual ? row + grid_.stride() : nullptr};
  }
  L ghost(int plane, Index number) const { return line(ghosts_, number * planes_ + plane); }

  // kAhead: asks for the row that follows `from` in memory.
  template <bool kAhead>
  void copy_row(Real* to, const Real* from) const {
    using Wide = NativePack<Real>;
    constexpr Index lanes = Wide::lanes;
    Index i = 0;
    for (; i + lanes <= grid_.nx; i += lanes) {
      if constexpr (kAhead) __builtin_prefetch(from + i + grid_.nx, 0, 2);
      if (to != from) Wide::load_unaligned(from + i).store_unaligned(to + i);
    }
    for (; i < grid_.nx; ++i) to[i] = from[i];
  }
  void fill_ends(const L& row, const Beyond (&beyond)[4]) const {
    const Index nx = grid_.nx;
    const auto west = [&](Index m) {
      return grid_.periodic_x ? row.one(nx - 1 - m)
             : has_ghosts_    ? beyond[kWest].slope * row.one(m) + beyond[kWest].offset
                              : N(0);
    };
    const auto east = [&](Index m) {
      return grid_.periodic_x ? row.one(m)
             : has_ghosts_    ? beyond[kEast].slope * row.one(nx - 1 - m) + beyond[kEast].offset
                              : N(0);
    };
    const Index last = halo_ - 1;
    const S far_west = L::spread(west(last)), far_east = L::spread(east(last));
    for (Index i = -grid_.pad(); i < 0; i += GridShape<Real>::lanes) row.put(i, far_west);
    for (Index i = nx; i < grid_.width() + grid_.pad(); i += GridShape<Real>::lanes) row.put(i, far_east);
    for (Index m = 0; m < last; ++m) {
      row.set(-1 - m, west(m));
      row.set(nx + m, east(m));
    }
  }
  void mirror(int plane, Index j, const L& to, const Beyond& beyond) const {
    const L from = own(plane, j);
    const S slope = L::spread(beyond.slope), offset = L::spread(beyond.offset);
    for (Index i = -grid_.pad(); i < grid_.width() + grid_.pad(); i += GridShape<Real>::lanes)
      to.put(i, slope * from.get(i) + offset);
  }

  GridShape<Real> grid_;
  int planes_ = 0;
  Index halo_ = 1, held_ = 1, lent_begin_ = 0, lent_end_ = 0;
  Out<Real> lent_ = {};
  bool has_ghosts_ = false;
  Real *rows_ = nullptr, *ghosts_ = nullptr, *zero_ = nullptr;
};

// What a kernel sees of the pack of cells at i: rows j - halo ... j + halo of each plane.
template <class Kernel, class Real, bool kDual>
struct RowView {
  using L = Line<Real, kDual>;
  using S = typename L::S;
  static constexpr int rows = 2 * Kernel::halo + 1, drives = Kernel::drives;
  static constexpr int at_least_one(int n) { return n > 0 ? n : 1; }
  L state[Kernel::fields][rows], coefficient[at_least_one(Kernel::coefficients)][rows],
      cotangent[Kernel::fields][rows], driven[at_least_one(Kernel::drives)][rows];
  const Real* west_open = nullptr;  // 1 or 0 per cell
  Real south_open[rows] = {};       // of each row

  void find_walls(const GridShape<Real>& grid, const Real* shared, Index j) {
    west_open = grid.open_faces(shared);
    for (int d = 0; d < rows; ++d) south_open[d] = grid.open_y(j + d - Kernel::halo) ? Real(1) : Real(0);
  }
  static void look(const RowStore<Real, kDual>& store, Index j, int planes, L (*to)[rows]) {
    for (int f = 0; f < planes; ++f) {
      for (int d = 0; d < rows; ++d) to[f][d] = store.at(f, j + d - Kernel::halo);
    }
  }
};

// The pack at cell i of a view. Reads of what a kernel does not use disappear.
template <class View>
struct PackAt {
  using S = typename View::S;
  static constexpr int halo = (View::rows - 1) / 2;
  const View& rows;
  Index i;
  COSTATE_INLINE S x(int f, int di = 0, int dj = 0) const { return rows.state[f][dj + halo].get(i + di); }
  COSTATE_INLINE S p(int f, int di = 0, int dj = 0) const {
    return rows.coefficient[f][dj + halo].get(i + di);
  }
  COSTATE_INLINE S y_bar(int f) const { return rows.cotangent[f][halo].get(i); }
  // Only for kernels without drives: with them, rows of y_bar are overwritten as soon as their own cells
  // have read them.
  COSTATE_INLINE S y_bar(int f, int di, int dj) const requires(View::drives == 0) {
    return rows.cotangent[f][dj + halo].get(i + di);
  }
  COSTATE_INLINE S drive(int f, int di = 0, int dj = 0) const {
    return rows.driven[f][dj + halo].get(i + di);
  }
  COSTATE_INLINE S open(int axis, int di = 0, int dj = 0) const {
    using Wide = typename View::L::Wide;
    return axis == 0 ? S(Wide::load_unaligned(rows.west_open + i + di)) : S(Wide(rows.south_open[dj + halo]));
  }
};

// The same cells, with a cotangent that is still in registers.
template <class View, int fields>
struct DriveAt {
  using S = typename View::S;
  const PackAt<View>& at;
  const Vec<S, fields>& fresh;
  COSTATE_INLINE S p(int f, int di = 0, int dj = 0) const { return at.p(f, di, dj); }
  COSTATE_INLINE S y_bar(int f) const { return fresh[f]; }
};

}  // namespace costate::grid::stencil
