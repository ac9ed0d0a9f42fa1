// A slab of rows through several steps at once, forwards. The transposes: stencil_sweep_adjoint.h.
//
// Level l is the state after l steps. Row j of level l needs rows j - halo ... j + halo of level l - 1, so a
// front that moves up the slab row by row is followed at distance l * halo by level l:
//
//   front f:   level 0 fetches row f;   level 1 makes row f - halo;   level 2 makes row f - 2 halo;   ...
//
// Only 2 halo + 1 rows of each level are held, which stay in the cache: memory sees one read and one write of
// the state for `depth` steps instead of one per step (wavefront temporal blocking: Wellein et al., COMPSAC
// 2009). Slabs run in parallel. Each also makes the rows of its neighbours that its own depend on,
// (depth - l) * halo of them at each end of level l, so slabs exchange nothing on the way. A cell's number
// does not depend on where slabs begin or how deep they are.
// Tests: tests/grid/stencil_system_test.cpp.
#pragma once

#include <vector>

#include "costate/grid/stencil_rows.h"

namespace costate::grid::stencil {

inline constexpr int kMostLevels = 8;
// Of a larger grid, a row that is written beside the state that was read is out of the caches before it is
// read again.
inline constexpr Index kCellsPastCaches = 1 << 18;

// Cells that controls act on, in the order of their rows.
struct SourceCells {
  std::vector<Index> column, control;  // column of the cell; which control
  std::vector<Index> row_begin;        // of row j: [row_begin[j], row_begin[j + 1])
};

// What all slabs of a step share.
template <class Kernel, class Real, bool kDual>
struct Setting {
  using L = Line<Real, kDual>;
  using S = typename L::S;
  using N = typename L::N;
  const Kernel& kernel;
  const SourceCells& sources;
  GridShape<Real> grid;
  typename Kernel::template Scale<S> wide;
  typename Kernel::template Scale<N> narrow;
  Outside<N> beyond[Kernel::fields][4], mirrored[4], nothing[4];
  In<Real> coefficients;

  Setting(const Kernel& kernel_, const SourceCells& sources_, const GridShape<Real>& grid_, In<Real> p)
      : kernel(kernel_), sources(sources_), grid(grid_), coefficients(p) {
    Vec<S, Kernel::constants> wide_constants;
    Vec<N, Kernel::constants> narrow_constants;
    const In<Real> constants = p + Kernel::coefficients * grid.cells();
    for (int c = 0; c < Kernel::constants; ++c) {
      narrow_constants[c] = number(constants, c);
      wide_constants[c] = L::spread(narrow_constants[c]);
    }
    wide = kernel.scale(wide_constants);
    narrow = kernel.scale(narrow_constants);
    for (int side = 0; side < 4; ++side) {
      mirrored[side] = {N(1), N(0)};
      nothing[side] = {N(0), N(0)};
      for (int f = 0; f < Kernel::fields; ++f) {
        if constexpr (HasOutside<Kernel>)
          beyond[f][side] = kernel.outside(narrow, Side(side), f);
        else
          beyond[f][side] = nothing[side];
      }
    }
  }
  static N number(In<Real> from, Index i) {
    if constexpr (kDual)
      return N(from.value[i], from.tangent ? from.tangent[i] : Real(0));
    else
      return from.value[i];
  }
};

// Rows [begin, end) of the grid, and the rows of its neighbours as they were before the step, which
// neighbours may overwrite.
template <class Real>
struct Slab {
  Index begin = 0, end = 0;
  int levels = 1, halo = 1;
  const GridShape<Real>* grid = nullptr;
  bool saved = false;

  bool owns(Index j) const { return j >= begin && j < end; }
  Index reach(int level) const { return Index(levels - level) * halo; }
  // Rows that level l makes.
  Index first(int level) const { return clip(begin - reach(level)); }
  Index last(int level) const { return clip(end + reach(level)); }
  Index clip(Index j) const { return grid->periodic_y ? j : std::clamp<Index>(j, 0, grid->ny); }

  static Index saved_numbers(const GridShape<Real>& grid, int levels, int halo, int fields, bool dual) {
    return 2 * levels * halo * fields * grid.nx * (dual ? 2 : 1);
  }
  void save(In<Real> state, int fields, Real* to) const {
    each_neighbour([&](Index j, Index slot) {
      for (int f = 0; f < fields; ++f) {
        const In<Real> row = state + f * grid->cells() + grid->wrap(j) * grid->nx;
        const Out<Real> at = saved_row(fields, f, slot, to, row.tangent != nullptr);
        std::copy_n(row.value, grid->nx, at.value);
        if (row.tangent) std::copy_n(row.tangent, grid->nx, at.tangent);
      }
    });
  }
  In<Real> row(In<Real> state, int fields, int f, Index j, Real* kept) const {
    if (owns(j) || !saved) return state + f * grid->cells() + grid->wrap(j) * grid->nx;
    const Index slot = j < begin ? begin - 1 - j : Index(levels) * halo + j - end;
    return saved_row(fields, f, slot, kept, state.tangent != nullptr);
  }

 private:
  template <class F>
  void each_neighbour(const F& f) const {
    for (Index m = 0; m < Index(levels) * halo; ++m) {
      if (grid->inside(begin - 1 - m)) f(begin - 1 - m, m);
      if (grid->inside(end + m)) f(end + m, Index(levels) * halo + m);
    }
  }
  Out<Real> saved_row(int fields, int f, Index slot, Real* kept, bool tangent) const {
    Real* const row = kept + (slot * fields + f) * grid->nx * (tangent ? 2 : 1);
    return {row, tangent ? row + grid->nx : nullptr};
  }
};

template <class Set, class Store>
void fetch_coefficients(const Set& set, const Store& store, Index j) {
  using Kernel = std::remove_cvref_t<decltype(set.kernel)>;
  for (int c = 0; c < Kernel::coefficients; ++c) {
    store.fetch(c, j, set.coefficients + c * set.grid.cells() + set.grid.wrap(j) * set.grid.nx);
    store.finish(c, j, set.mirrored);
  }
}

enum class Mode { step, taped_step, step_back };

// One call of step for every slab: `levels` steps from `from`.
template <class Real>
struct ForwardTask {
  int levels = 1;
  In<Real> from = {};
  Out<Real> to[kMostLevels] = {};       // the state after each step; null: not wanted
  Real* tape[kMostLevels] = {};         // of each step; null: not wanted
  In<Real> controls[kMostLevels] = {};  // of each step
};

template <class Kernel, class Real, bool kDual>
class ForwardSweep {
  using Set = Setting<Kernel, Real, kDual>;
  using Store = RowStore<Real, kDual>;
  using View = RowView<Kernel, Real, kDual>;
  using L = Line<Real, kDual>;
  using S = typename L::S;
  using N = typename L::N;
  static constexpr Index kHalo = Kernel::halo;

 public:
  // shared: rows that all slabs share (GridShape).
  ForwardSweep(const Set& set, const Slab<Real>& slab, Arena<Real> arena, Real* shared)
      : set_(set), slab_(slab), held_(arena, set.grid, slab.levels, shared), shared_(shared) {}
  static Index numbers(const GridShape<Real>& grid, int levels) {
    Arena<Real> count;
    Held(count, grid, levels, nullptr);
    return count.used;
  }

  template <Mode mode>
  void run(const ForwardTask<Real>& task, Real* kept) const {
    for (Index front = slab_.first(0); front < slab_.end + slab_.levels * kHalo; ++front) {
      if (front < slab_.last(0)) fetch(task, front, kept);
      for (int level = 1; level <= slab_.levels; ++level) {
        const Index j = front - level * kHalo;
        if (j >= slab_.first(level) && j < slab_.last(level)) make_row<mode>(task, level, j);
      }
    }
    stream_fence();
  }

  // f(j, what row j sees) for each row of the slab.
  template <class F>
  void each_row(const ForwardTask<Real>& task, Real* kept, const F& f) const {
    for (Index front = slab_.first(0); front < slab_.end + kHalo; ++front) {
      if (front < slab_.last(0)) fetch(task, front, kept);
      const Index j = front - kHalo;
      if (slab_.owns(j)) f(j, view(1, j));
    }
  }

 private:
  struct Held {
    Store state[kMostLevels + 1], coefficients;
    Held(Arena<Real>& arena, const GridShape<Real>& grid, int levels, Real* zero) {
      constexpr bool ghosts = HasOutside<Kernel>;
      for (int level = 0; level <= levels; ++level)
        state[level] = Store(arena, grid, Kernel::fields, 2 * kHalo + 1, kHalo, ghosts, zero);
      coefficients = Store(arena, grid, Kernel::coefficients, (levels + 1) * kHalo + 1, kHalo, ghosts, zero);
    }
  };

  void fetch(const ForwardTask<Real>& task, Index j, Real* kept) const {
    for (int f = 0; f < Kernel::fields; ++f) {
      held_.state[0].fetch(f, j, slab_.row(task.from, Kernel::fields, f, j, kept));
      held_.state[0].finish(f, j, set_.beyond[f]);
    }
    fetch_coefficients(set_, held_.coefficients, j);
  }

  View view(int level, Index j) const {
    View rows;
    View::look(held_.state[level - 1], j, Kernel::fields, rows.state);
    View::look(held_.coefficients, j, Kernel::coefficients, rows.coefficient);
    rows.find_walls(set_.grid, shared_, j);
    return rows;
  }

  struct Target {
    L state[Kernel::fields];
    Real* tape;  // of the row; the next number of a cell lies `tape_stride` further
    Index tape_stride;
  };

  template <Mode mode>
  void make_row(const ForwardTask<Real>& task, int level, Index j) const {
    Target to{{}, nullptr, set_.grid.width() * set_.grid.ny};
    for (int f = 0; f < Kernel::fields; ++f) to.state[f] = held_.state[level].own(f, j);
    if (mode == Mode::taped_step && slab_.owns(j)) {
      to.tape = task.tape[level - 1] + j * set_.grid.width();
      const bool aligned = reinterpret_cast<std::uintptr_t>(to.tape) % sizeof(NativePack<Real>) == 0;
      (aligned ? row<Mode::taped_step, true>
               : row<Mode::taped_step, false>)(set_.kernel, set_.wide, view(level, j), to, set_.grid.width());
    } else {
      row<mode == Mode::taped_step ? Mode::step : mode, false>(set_.kernel, set_.wide, view(level, j), to,
                                                               set_.grid.width());
    }
    if constexpr (HasSources<Kernel>) add_sources<mode>(task.controls[level - 1], to.state, j);
    for (int f = 0; f < Kernel::fields; ++f) {
      held_.state[level].finish(f, j, set_.beyond[f]);
      const Out<Real> target = task.to[level - 1];
      if (!target.value || !slab_.owns(j)) continue;
      const Out<Real> to_row = target + (f * set_.grid.cells() + j * set_.grid.nx);
      if (!kDual && target.value != task.from.value && set_.grid.cells() > kCellsPastCaches)
        held_.state[level].stream_out(f, j, to_row.value);
      else
        held_.state[level].put(f, j, to_row);
    }
  }

  // Arguments are taken by value, so that the loop keeps its pointers in registers.
  template <Mode mode, bool kStream>
  static __attribute__((noinline)) void row(const Kernel& kernel_, typename Kernel::template Scale<S> k,
                                            View rows, Target to, Index width) {
    const Kernel kernel = kernel_;
    for (Index i = 0; i < width; i += NativePack<Real>::lanes) {
      const PackAt<View> at{rows, i};
      Vec<S, Kernel::fields> y;
      if constexpr (mode == Mode::step_back) {
        y = kernel.step_back(k, at);
      } else {
        const Vec<S, Kernel::tapes> tape = kernel.tape(k, at);
        y = kernel.step(k, at, tape);
        if constexpr (mode == Mode::taped_step && !kDual) {
          for (int t = 0; t < Kernel::tapes; ++t) {
            if constexpr (kStream)
              stream(to.tape + t * to.tape_stride + i, tape[t]);
            else
              tape[t].store_unaligned(to.tape + t * to.tape_stride + i);
          }
        }
      }
      for (int f = 0; f < Kernel::fields; ++f) to.state[f].put(i, y[f]);
    }
  }

  template <Mode mode>
  void add_sources(In<Real> controls, const L (&state)[Kernel::fields], Index j) const {
    const Index row = set_.grid.wrap(j);
    for (Index n = set_.sources.row_begin[std::size_t(row)]; n < set_.sources.row_begin[std::size_t(row) + 1];
         ++n) {
      const Index i = set_.sources.column[std::size_t(n)];
      const N control = Set::number(controls, set_.sources.control[std::size_t(n)]);
      Vec<N, Kernel::fields> y;
      for (int f = 0; f < Kernel::fields; ++f) y[f] = state[f].one(i);
      if constexpr (mode != Mode::step_back)
        set_.kernel.source(set_.narrow, control, y);
      else
        set_.kernel.source_back(set_.narrow, control, y);
      for (int f = 0; f < Kernel::fields; ++f) state[f].set(i, y[f]);
    }
  }

  const Set& set_;
  Slab<Real> slab_;
  Held held_;
  const Real* shared_;
};

}  // namespace costate::grid::stencil
