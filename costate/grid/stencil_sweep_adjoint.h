// The transposes of stencil_sweep.h: a slab of rows back through several steps at once.
//
// Level l is the cotangent l steps before the end. The same front as forwards: row j of level l gathers from
// rows j - halo ... j + halo of level l - 1, of the coefficients, and of the state before its step, or takes
// the tape of its own row. Cotangents of coefficients are added up in scratch rows while all levels pass,
// steps in descending order.
//
// Sides. x beyond a side is slope * x inside + offset, so with g the cotangent that the cell beyond would
// have,
//
//   x_bar inside += slope g         offset_bar += g         coefficient_bar inside += that of the cell beyond
//
// g comes from the same kernel, evaluated in the cells beyond the sides, where y_bar = 0: columns first in
// the row, rows beyond south and north into rows of their own. They are added in the reverse of the order in
// which the values were made.
// Tests: tests/grid/stencil_sweep_adjoint_test.cpp, stencil_system_test.cpp.
#pragma once

#include "costate/grid/stencil_sweep.h"

namespace costate::grid::stencil {

// Parameters whose cotangents are wanted.
enum class Wanted { none, coefficients, all };

template <class Real>
struct ReverseTask {
  int levels = 1;
  In<Real> y_bar = {};
  Out<Real> x_bar[kMostLevels] = {};  // before the last step, before the one before it, ...; null: not wanted
  In<Real> state[kMostLevels] = {};   // before each of these steps, or
  const Real* tape[kMostLevels] = {};  // their tapes
  In<Real> controls[kMostLevels] = {};
  Out<Real> controls_bar[kMostLevels] = {};  // added to; null: not wanted
  Out<Real> coefficients_bar = {};           // added to
  double* sums = nullptr;  // [level][row][constant][value, tangent]: of the constants' cotangents
};

template <class Kernel, class Real, bool kDual>
class ReverseSweep {
  using Set = Setting<Kernel, Real, kDual>;
  using Store = RowStore<Real, kDual>;
  using View = RowView<Kernel, Real, kDual>;
  using L = Line<Real, kDual>;
  using S = typename L::S;
  using N = typename L::N;
  using Constants = Vec<N, Kernel::constants>;
  static constexpr Index kHalo = Kernel::halo, kLanes = NativePack<Real>::lanes;
  static constexpr Index kTapeAhead = 2048 / Index(sizeof(Real));  // how far ahead tapes are asked for
  static constexpr bool kGhosts = HasOutside<Kernel>;
  // With drives, the cotangent of a cell is read by that cell alone: all levels share its place.
  static constexpr bool kInPlace = Kernel::drives > 0;
  static_assert(!kGhosts || Kernel::tapes == 0,
                "a kernel with outside() reads the state: there is no tape beyond a side");

 public:
  ReverseSweep(const Set& set, const Slab<Real>& slab, Arena<Real> arena, Real* shared,
               const ReverseTask<Real>& task)
      : set_(set), slab_(slab), held_(arena, set.grid, slab.levels, shared), shared_(shared) {
    if (!kInPlace || kGhosts || kDual || set.grid.nx % kLanes != 0) return;
    // Rows of this slab that need no ends are worked on where the caller has them.
    const Out<Real> x_bar = task.x_bar[slab.levels - 1];
    if (x_bar.value) {
      for (Store& level : held_.cotangent) level.lend(x_bar, slab.begin, slab.end);
      // Level 0 is read only.
      held_.cotangent[0].lend({const_cast<Real*>(task.y_bar.value)}, slab.begin, slab.end);
    }
    if (task.coefficients_bar.value) held_.coefficients_bar.lend(task.coefficients_bar, slab.begin, slab.end);
  }
  static Index numbers(const GridShape<Real>& grid, int levels) {
    Arena<Real> count;
    Held(count, grid, levels, nullptr);
    return count.used;
  }

  template <Wanted wanted, bool kFromTape>
  void run(const ReverseTask<Real>& task, Real* kept) const {
    for (Index front = slab_.first(0); front < slab_.end + slab_.levels * kHalo; ++front) {
      if (front < slab_.last(0)) fetch<wanted>(task, front, kept);
      for (int level = 1; level <= slab_.levels; ++level) {
        const Index j = front - level * kHalo, ahead = j + kHalo;
        if (!kFromTape && ahead >= slab_.clip(slab_.first(level) - kHalo) &&
            ahead < slab_.clip(slab_.last(level) + kHalo))
          fetch_state<wanted>(task, level, ahead);
        if (j >= slab_.first(level) && j < slab_.last(level)) make_row<wanted, kFromTape>(task, level, j);
      }
    }
  }

 private:
  struct Held {
    Store cotangent[kMostLevels + 1], drive[kMostLevels + 1], state[kMostLevels + 1];
    Store coefficients, coefficients_bar, beyond, coefficients_beyond;
    Held(Arena<Real>& arena, const GridShape<Real>& grid, int levels, Real* zero) {
      const Index seen = 2 * kHalo + 1, all = (levels + 1) * kHalo + 1;
      for (int level = 0; level <= levels; ++level) {
        if (kInPlace && level > 0)
          cotangent[level] = cotangent[0];
        else
          cotangent[level] = Store(arena, grid, Kernel::fields, kInPlace ? all : seen, kHalo, false, zero);
        // Nobody reads the drives of the last level. They are made all the same: another loop without them
        // might round differently.
        const Index drives_held = level < levels ? seen : 1;
        drive[level] = Store(arena, grid, Kernel::drives, drives_held, kHalo, false, zero);
      }
      coefficients = Store(arena, grid, Kernel::coefficients, all, kHalo, kGhosts, zero);
      coefficients_bar = Store(arena, grid, Kernel::coefficients, all, kHalo, false, zero);
      beyond = Store(arena, grid, Kernel::fields, 1, kHalo, false, zero);
      coefficients_beyond = Store(arena, grid, Kernel::coefficients, 1, kHalo, false, zero);
      // The last, because a sweep that reads tapes never touches them: what is in use lies together.
      for (int level = 1; level <= levels; ++level)
        state[level] = Store(arena, grid, Kernel::fields, seen, kHalo, kGhosts, zero);
    }
  };
  // The rows that one row of transposes writes: y and coefficients, and the drive of the new cotangent.
  struct Target {
    L x_bar[Kernel::fields], coefficients[View::at_least_one(Kernel::coefficients)],
        drive[View::at_least_one(Kernel::drives)];
    const Real* tape;
    Index tape_stride;
  };

  Out<Real> global(Out<Real> planes, int plane, Index j) const {
    return planes + plane * set_.grid.cells() + j * set_.grid.nx;
  }

  template <Wanted wanted>
  void fetch(const ReverseTask<Real>& task, Index j, Real* kept) const {
    for (int f = 0; f < Kernel::fields; ++f) {
      held_.cotangent[0].fetch(f, j, slab_.row(task.y_bar, Kernel::fields, f, j, kept));
      held_.cotangent[0].finish(f, j, set_.nothing);
    }
    fetch_coefficients(set_, held_.coefficients, j);
    make_drive(0, j);
    for (int c = 0; wanted != Wanted::none && c < Kernel::coefficients; ++c) {
      if (slab_.owns(j)) {
        held_.coefficients_bar.fetch(c, j, global(task.coefficients_bar, c, j));
        held_.coefficients_bar.finish(c, j, set_.nothing);
      } else {
        held_.coefficients_bar.clear(c, j);
      }
    }
  }
  // Without a constant's cotangent, a kernel with tapes reads what makes its tape and no more.
  template <Wanted wanted>
  static bool reads(int field) {
    if constexpr (Kernel::tapes > 0 && wanted != Wanted::all) return field < Kernel::tape_fields;
    return true;
  }
  template <Wanted wanted>
  void fetch_state(const ReverseTask<Real>& task, int level, Index j) const {
    for (int f = 0; f < Kernel::fields; ++f) {
      if (!reads<wanted>(f)) continue;
      const In<Real> plane = task.state[level - 1] + f * set_.grid.cells();
      held_.state[level].fetch(f, j, plane + set_.grid.wrap(j) * set_.grid.nx);
      held_.state[level].finish(f, j, set_.beyond[f]);
    }
  }

  template <Wanted wanted, bool kFromTape>
  void make_row(const ReverseTask<Real>& task, int level, Index j) const {
    const GridShape<Real>& grid = set_.grid;
    Target to{{}, {}, {}, nullptr, grid.width() * grid.ny};
    for (int f = 0; f < Kernel::fields; ++f) to.x_bar[f] = held_.cotangent[level].own(f, j);
    for (int c = 0; c < Kernel::coefficients; ++c) to.coefficients[c] = held_.coefficients_bar.own(c, j);
    for (int d = 0; d < Kernel::drives; ++d) to.drive[d] = held_.drive[level].own(d, j);
    if (kFromTape) to.tape = task.tape[level - 1] + grid.wrap(j) * grid.width();
    Constants driven = Constants::zero();  // read before the row overwrites its cotangent
    if constexpr (HasSources<Kernel>) {
      if (slab_.owns(j)) sources_vjp(task, level, j, driven);
    }
    Constants bar = row<wanted, kFromTape>(set_.kernel, set_.wide, view<wanted, kFromTape>(level, j), to,
                                           row_begin(), row_end(), grid.nx);
    bar += driven;
    if constexpr (kGhosts) {
      if (!grid.periodic_y) {
        for (Index m :
             {Index(-1) - j, 2 * grid.ny - 1 - j}) {  // rows beyond south and north that mirror row j
          if (m >= -kHalo && m < grid.ny + kHalo) add_row_beyond<wanted>(level, m, to, bar);
        }
      }
      if (!grid.periodic_x) add_cells_beyond<wanted>(to, bar);
    }
    if (wanted == Wanted::all && slab_.owns(j)) store_sums(task, level, j, bar);
    finish<wanted>(task, level, j);
  }

  template <Wanted wanted>
  void finish(const ReverseTask<Real>& task, int level, Index j) const {
    for (int f = 0; f < Kernel::fields; ++f) {
      held_.cotangent[level].finish(f, j, set_.nothing);
      if (task.x_bar[level - 1].value && slab_.owns(j))
        held_.cotangent[level].put(f, j, global(task.x_bar[level - 1], f, j));
    }
    if (level < slab_.levels) {
      if constexpr (kGhosts)
        make_drive(level, j);  // of cotangents that are complete only now
      else
        for (int d = 0; d < Kernel::drives; ++d) held_.drive[level].finish(d, j, set_.nothing);
    }
    if (wanted != Wanted::none && level == slab_.levels) {
      for (int c = 0; c < Kernel::coefficients; ++c)
        held_.coefficients_bar.put(c, j, global(task.coefficients_bar, c, j));
    }
  }

  // Cells of a row at which the kernel is evaluated: those beyond its ends too where they pass cotangents on.
  Index row_begin() const { return kGhosts && !set_.grid.periodic_x ? -kLanes : 0; }
  Index row_end() const { return set_.grid.width() + (kGhosts && !set_.grid.periodic_x ? kLanes : 0); }

  template <Wanted wanted, bool kFromTape>
  View view(int level, Index j) const {
    View rows;
    View::look(held_.cotangent[level - 1], j, Kernel::fields, rows.cotangent);
    View::look(held_.drive[level - 1], j, Kernel::drives, rows.driven);
    View::look(held_.coefficients, j, Kernel::coefficients, rows.coefficient);
    View::look(held_.state[level], j, Kernel::fields, rows.state);
    rows.find_walls(set_.grid, shared_, j);
    Real* const zero = shared_ + set_.grid.pad();
    for (int f = 0; f < Kernel::fields; ++f) {
      if (kFromTape || !reads<wanted>(f)) std::fill_n(rows.state[f], View::rows, L{zero, zero});
    }
    return rows;
  }

  // Arguments are taken by value, so that the loop keeps its pointers in registers.
  template <Wanted wanted, bool kFromTape>
  static __attribute__((noinline)) Constants row(const Kernel& kernel_, typename Kernel::template Scale<S> k,
                                                 View rows, Target to, Index begin, Index end, Index nx) {
    const Kernel kernel = kernel_;
    Vec<S, Kernel::constants> sum = Vec<S, Kernel::constants>::zero();
    Constants total = Constants::zero();  // of the last pack, which may be cut
    for (Index i = begin; i < end; i += kLanes) {
      const PackAt<View> at{rows, i};
      Vec<S, Kernel::tapes> tape;
      if constexpr (kFromTape) {
        for (int t = 0; t < Kernel::tapes; ++t) {
          const Real* from = to.tape + t * to.tape_stride + i;
          __builtin_prefetch(from + kTapeAhead);
          tape[t] = NativePack<Real>::load_unaligned(from);
        }
      } else {
        tape = kernel.tape(k, at);
      }
      const CellCotangent<S, Kernel> bar = kernel.step_vjp(k, at, tape);
      for (int f = 0; f < Kernel::fields; ++f) to.x_bar[f].put(i, bar.x[f]);
      if constexpr (wanted != Wanted::none) {
        for (int c = 0; c < Kernel::coefficients; ++c)
          to.coefficients[c].put(i, to.coefficients[c].get(i) + bar.coefficients[c]);
      }
      if constexpr (wanted == Wanted::all) {
        if (i >= 0 && i + kLanes <= nx)
          sum += bar.constants;
        else if (i >= 0 && i < nx)
          add_lanes(bar.constants, nx - i, total);
      }
      if constexpr (!kGhosts && Kernel::drives > 0) {
        const auto drive = kernel.drive(k, DriveAt<View, Kernel::fields>{at, bar.x});
        for (int d = 0; d < Kernel::drives; ++d) to.drive[d].put(i, drive[d]);
      }
    }
    if constexpr (wanted == Wanted::all) add_lanes(sum, kLanes, total);
    return total;
  }
  // Adds the first `lanes` lanes.
  static void add_lanes(const Vec<S, Kernel::constants>& sum, Index lanes, Constants& total) {
    for (int c = 0; c < Kernel::constants; ++c) {
      for (int l = 0; l < int(lanes); ++l) {
        if constexpr (kDual)
          total[c] += N(sum[c].v[l], sum[c].d[0][l]);
        else
          total[c] += sum[c][l];
      }
    }
  }

  void make_drive(int level, Index j) const {
    if constexpr (Kernel::drives > 0) {
      View rows;
      View::look(held_.cotangent[level], j, Kernel::fields, rows.cotangent);
      View::look(held_.coefficients, j, Kernel::coefficients, rows.coefficient);
      rows.find_walls(set_.grid, shared_, j);
      for (Index i = 0; i < set_.grid.width(); i += kLanes) {
        const PackAt<View> at{rows, i};
        const auto drive = set_.kernel.drive(set_.wide, at);
        for (int d = 0; d < Kernel::drives; ++d) held_.drive[level].own(d, j).put(i, drive[d]);
      }
      for (int d = 0; d < Kernel::drives; ++d) held_.drive[level].finish(d, j, set_.nothing);
    }
  }

  void sources_vjp(const ReverseTask<Real>& task, int level, Index j, Constants& bar) const {
    const SourceCells& sources = set_.sources;
    for (Index n = sources.row_begin[std::size_t(j)]; n < sources.row_begin[std::size_t(j) + 1]; ++n) {
      const Index i = sources.column[std::size_t(n)], c = sources.control[std::size_t(n)];
      Vec<N, Kernel::fields> y_bar;
      for (int f = 0; f < Kernel::fields; ++f) y_bar[f] = held_.cotangent[level - 1].own(f, j).one(i);
      const N control_bar =
          set_.kernel.source_vjp(set_.narrow, Set::number(task.controls[level - 1], c), y_bar, bar);
      const Out<Real> to = task.controls_bar[level - 1];
      if (!to.value) continue;
      const L at{to.value, to.tangent};
      at.set(c, at.one(c) + control_bar);
    }
  }

  // What row m beyond south or north passes on to its mirror image.
  template <Wanted wanted>
  void add_row_beyond(int level, Index m, const Target& to, Constants& bar) const {
    Target ghost = to;
    for (int f = 0; f < Kernel::fields; ++f) ghost.x_bar[f] = held_.beyond.own(f, 0);
    for (int c = 0; c < Kernel::coefficients; ++c) {
      held_.coefficients_beyond.clear(c, 0);
      ghost.coefficients[c] = held_.coefficients_beyond.own(c, 0);
    }
    row<wanted, false>(set_.kernel, set_.wide, view<wanted, false>(level, m), ghost, row_begin(), row_end(),
                       set_.grid.nx);
    const Side side = m < 0 ? kSouth : kNorth;
    const Index ends = set_.grid.periodic_x ? 0 : kHalo;
    for (int f = 0; f < Kernel::fields; ++f) {
      N offset_bar(Real(0));
      for (Index i = -ends; i < set_.grid.nx + ends; ++i) {
        const N g = ghost.x_bar[f].one(i);
        to.x_bar[f].set(i, to.x_bar[f].one(i) + set_.beyond[f][side].slope * g);
        offset_bar += g;
      }
      if (wanted == Wanted::all) set_.kernel.outside_vjp(set_.narrow, side, f, offset_bar, bar);
    }
    for (int c = 0; wanted != Wanted::none && c < Kernel::coefficients; ++c) {
      for (Index i = -ends; i < set_.grid.nx + ends; ++i)
        to.coefficients[c].set(i, to.coefficients[c].one(i) + ghost.coefficients[c].one(i));
    }
  }

  // What the cells beyond the ends of a row pass on to the cells inside.
  template <Wanted wanted>
  void add_cells_beyond(const Target& to, Constants& bar) const {
    const Index nx = set_.grid.nx;
    for (Index m = 0; m < kHalo; ++m) {
      for (const Side side : {kWest, kEast}) {
        const Index inside = side == kWest ? m : nx - 1 - m, ghost = side == kWest ? -1 - m : nx + m;
        for (int f = 0; f < Kernel::fields; ++f) {
          const N g = to.x_bar[f].one(ghost);
          to.x_bar[f].set(inside, to.x_bar[f].one(inside) + set_.beyond[f][side].slope * g);
          if (wanted == Wanted::all) set_.kernel.outside_vjp(set_.narrow, side, f, g, bar);
        }
        for (int c = 0; wanted != Wanted::none && c < Kernel::coefficients; ++c) {
          to.coefficients[c].set(inside, to.coefficients[c].one(inside) + to.coefficients[c].one(ghost));
          to.coefficients[c].set(ghost, N(Real(0)));
        }
      }
    }
  }

  void store_sums(const ReverseTask<Real>& task, int level, Index j, const Constants& bar) const {
    double* to = task.sums + ((level - 1) * set_.grid.ny + j) * 2 * Kernel::constants;
    for (int c = 0; c < Kernel::constants; ++c) {
      if constexpr (kDual)
        to[2 * c] = bar[c].v, to[2 * c + 1] = bar[c].d[0];
      else
        to[2 * c] = bar[c], to[2 * c + 1] = 0;
    }
  }

  const Set& set_;
  Slab<Real> slab_;
  Held held_;
  Real* shared_;
};

}  // namespace costate::grid::stencil
