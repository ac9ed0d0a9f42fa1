// StencilSystem: a System of one large world, made from a kernel that is written for one cell of a 2-D grid.
//
// From the kernel (stencil_kernel.h): S = Pack gives the step, S = Dual<Pack> the tangent, step_vjp at
// S = Dual<Pack> the second order; runs of steps go through the grid in slabs of rows, several steps at a
// time (stencil_sweep.h, stencil_sweep_adjoint.h).
//
//   state       `fields` fields of nx * ny numbers, x fastest
//   parameters  `coefficients` fields of nx * ny numbers, then the `constants`
//   control     one number per source cell, where the kernel has sources
//
// Results do not depend on the number of threads: a cell's number does not depend on its slab, and the
// cotangents of constants are added up row by row in the order of the rows.
// Tests: tests/grid/stencil_system_test.cpp, wave_test.cpp, heat_test.cpp.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/parallel.h"
#include "costate/grid/split_rows.h"
#include "costate/grid/stencil_sweep_adjoint.h"
#include "costate/system/system.h"

namespace costate::grid {

template <class Kernel, class Real>
class StencilSystem final : public System<Real>, public RowsSystem<Real> {
  using Index = std::int64_t;
  using In = stencil::In<Real>;
  using Out = stencil::Out<Real>;
  using Wanted = stencil::Wanted;
  using Mode = stencil::Mode;
  static constexpr int kFields = Kernel::fields, kCoefficients = Kernel::coefficients,
                       kConstants = Kernel::constants;
  static constexpr Index kCacheBytes = 1 << 20;    // that the rows of one slab may take
  static constexpr Index kSmallestSlab = 1 << 14;  // cells that are worth a thread

 public:
  // Source cells are numbered j * nx + i.
  StencilSystem(Signature signature, Kernel kernel, Index nx, Index ny,
                const std::vector<Index>& sources = {})
      : signature_(std::move(signature)),
        kernel_(kernel),
        grid_{nx, ny, stencil::periodic(kernel, 0), stencil::periodic(kernel, 1)} {
    if (nx < 2 * Kernel::halo || ny < 2 * Kernel::halo) {
      throw Error({"a grid of " + std::to_string(nx) + " x " + std::to_string(ny) + " cells is too small",
                   {},
                   "each side needs at least " + std::to_string(2 * Kernel::halo) + " cells"});
    }
    sort_sources(sources);
    while (levels_ > 1 && Reverse<false>::numbers(grid_, levels_) * Index(sizeof(Real)) > kCacheBytes)
      --levels_;
  }

  const Signature& signature() const override { return signature_; }
  const Kernel& kernel() const { return kernel_; }
  Index nx() const { return grid_.nx; }
  Index ny() const { return grid_.ny; }
  // The cell of each control.
  std::vector<Index> source_cells() const {
    std::vector<Index> cells(sources_.control.size());
    for (Index j = 0; j < grid_.ny; ++j)
      for (Index n = sources_.row_begin[std::size_t(j)]; n < sources_.row_begin[std::size_t(j) + 1]; ++n)
        cells[std::size_t(sources_.control[std::size_t(n)])] = j * grid_.nx + sources_.column[std::size_t(n)];
    return cells;
  }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true,
            .vjp = true,
            .second_order = true,
            .reversible = stencil::Reversible<Kernel>,
            .energy = stencil::conserves_energy(kernel_)};
  }

  std::unique_ptr<Workspace> make_workspace() const override {
    auto work = std::make_unique<Scratch>();
    const int threads = thread_count();
    const Index fair = threads == 1 ? grid_.ny : (grid_.ny + 2 * threads - 1) / (2 * threads);
    work->slab_rows = std::max({fair, Index(8 * levels_ * Kernel::halo), kSmallestSlab / grid_.nx});
    work->slabs = (grid_.ny + work->slab_rows - 1) / work->slab_rows;
    work->numbers =
        std::max({Forward<false>::numbers(grid_, levels_), Reverse<false>::numbers(grid_, levels_),
                  Forward<true>::numbers(grid_, 1), Reverse<true>::numbers(grid_, 1)});
    work->kept = std::max(stencil::Slab<Real>::saved_numbers(grid_, levels_, Kernel::halo, kFields, false),
                          stencil::Slab<Real>::saved_numbers(grid_, 1, Kernel::halo, kFields, true));
    work->rows.reserve(work->slabs * (work->numbers + work->kept) + grid_.shared_numbers());
    grid_.fill_shared(work->rows.data());
    work->sums.resize(std::size_t(levels_ * grid_.ny * 2 * std::max(1, kConstants)));
    return work;
  }

  // A tape of its own row stands in for the state, unless the cotangent of a constant is wanted.
  TapePlan tape(const Activity& active, const TapeBudget& budget) const override {
    if (Kernel::tapes == 0 || wanted(active) == Wanted::all || budget.keeps_states) return {};
    return {.size = Kernel::tapes * grid_.width() * grid_.ny, .instead_of_states = true};
  }

  // --- single steps ----------------------------------------------------------------------------------------

  void step(const StepContext&, const Inputs<Real>& in, Real* y, Real* tape, Workspace& work) const override {
    stencil::ForwardTask<Real> task{
        .levels = 1, .from = {in.x}, .to = {{y}}, .tape = {tape}, .controls = {{in.u}}};
    forward<false>(tape && Kernel::tapes > 0 ? Mode::taped_step : Mode::step, {in.p}, task, work);
  }
  void step_jvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y, Real* y_dot,
                Workspace& work) const override {
    stencil::ForwardTask<Real> task{
        .levels = 1, .from = {in.x, in_dot.x}, .to = {{y, y_dot}}, .controls = {{in.u, in_dot.u}}};
    forward<true>(Mode::step, {in.p, in_dot.p}, task, work);
  }
  void step_vjp(const StepContext&, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    stencil::ReverseTask<Real> task{.levels = 1,
                                    .y_bar = {y_bar},
                                    .x_bar = {{bar.x}},
                                    .state = {{in.x}},
                                    .tape = {in.x ? nullptr : tape},
                                    .controls = {{in.u}},
                                    .controls_bar = {{bar.u}},
                                    .coefficients_bar = {bar.p}};
    reverse<false>(bar.p ? wanted(active) : Wanted::none, {in.p}, task, work);
  }
  void step_hvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& work) const override {
    stencil::ReverseTask<Real> task{.levels = 1,
                                    .y_bar = {y_bar, y_bar_dot},
                                    .x_bar = {{bar.x, bar_dot.x}},
                                    .state = {{in.x, in_dot.x}},
                                    .controls = {{in.u, in_dot.u}},
                                    .controls_bar = {{bar.u, bar_dot.u}},
                                    .coefficients_bar = {bar.p, bar_dot.p}};
    reverse<true>(bar.p ? wanted(active) : Wanted::none, {in.p, in_dot.p}, task, work);
  }
  void step_back(const StepContext& at, const Inputs<Real>& in, const Real* y, Real* x,
                 Workspace& work) const override {
    if constexpr (stencil::Reversible<Kernel>) {
      stencil::ForwardTask<Real> task{.levels = 1, .from = {y}, .to = {{x}}, .controls = {{in.u}}};
      forward<false>(Mode::step_back, {in.p}, task, work);
    } else {
      System<Real>::step_back(at, in, y, x, work);
    }
  }
  void energy(const Inputs<Real>& in, Real* value, Workspace& work) const override {
    if constexpr (stencil::HasEnergy<Kernel>) {
      *value = energy_sum(in, static_cast<Scratch&>(work));
    } else {
      System<Real>::energy(in, value, work);
    }
  }

  // --- runs of steps ---------------------------------------------------------------------------------------

  void advance(const Run<Real>& run, const Ring<Real>& states, const Tape<Real>& tape,
               Workspace& work) const override {
    if constexpr (stencil::HasCheck<Kernel>) {
      if (run.first == 0) kernel_.check(run.p, grid_.cells());
    }
    const Passes passes(run.count, states, levels_);
    for (Index done = 0, slot = states.start; done < run.count;) {
      stencil::ForwardTask<Real> task{.levels = passes.levels(done), .from = {state(states, slot)}};
      for (int l = 0; l < task.levels; ++l) {
        task.to[l] = {passes.target(done, l + 1, slot, [&](Index s) { return state(states, s); })};
        task.tape[l] = tape.at(done + l);
        task.controls[l] = {knot(run.u, run, run.first + done + l)};
      }
      forward<false>(tape.base && Kernel::tapes > 0 ? Mode::taped_step : Mode::step, {run.p}, task, work);
      slot = passes.next(done, slot);
      done += task.levels;
      stop_if_interrupted();
    }
  }

  void reverse(const Run<Real>& run, const Real* states, const Tape<const Real>& tape,
               const Ring<Real>& lambda, Real* u_bar, Real* p_bar, const Activity& active,
               Workspace& work) const override {
    const Passes passes(run.count, lambda, levels_);
    for (Index done = 0, slot = lambda.start; done < run.count;) {
      stencil::ReverseTask<Real> task{
          .levels = passes.levels(done), .y_bar = {state(lambda, slot)}, .coefficients_bar = {p_bar}};
      for (int l = 0; l < task.levels; ++l) {
        const Index j = run.count - 1 - done - l;  // the step that this level transposes, within the run
        task.x_bar[l] = {passes.target(done, l + 1, slot, [&](Index s) { return state(lambda, s); })};
        task.state[l] = {states ? states + j * kFields * grid_.cells() : nullptr};
        task.tape[l] = states ? nullptr : tape.at(j);
        task.controls[l] = {knot(run.u, run, run.first + j)};
        task.controls_bar[l] = {knot(u_bar, run, run.first + j)};
      }
      reverse<false>(p_bar ? wanted(active) : Wanted::none, {run.p}, task, work);
      slot = passes.next(done, slot);
      done += task.levels;
      stop_if_interrupted();
    }
  }

  // --- a world that is split over ranks (split_rows.h) -----------------------------------------------------

  std::unique_ptr<SplitSystem<Real>> split(Channel& channel) const override {
    return split_rows<Real>(*this, signature_, channel);
  }
  RowsShape rows_shape() const override {
    return {grid_.nx, grid_.ny, Kernel::halo, kFields, kCoefficients, kConstants, grid_.periodic_y};
  }
  std::vector<Index> row_sources() const override { return source_cells(); }
  std::shared_ptr<const System<Real>> with_rows(Index rows,
                                                const std::vector<Index>& sources) const override {
    return std::make_shared<StencilSystem>(Signature(), kernel_, grid_.nx, rows, sources);
  }
  const double* row_sums(const Workspace& work) const override {
    return static_cast<const Scratch&>(work).sums.data();
  }
  void check_parameters(const Real* p) const override {
    if constexpr (stencil::HasCheck<Kernel>) kernel_.check(p, grid_.cells());
  }

 private:
  template <bool kDual>
  using Forward = stencil::ForwardSweep<Kernel, Real, kDual>;
  template <bool kDual>
  using Reverse = stencil::ReverseSweep<Kernel, Real, kDual>;
  template <bool kDual>
  using Setting = stencil::Setting<Kernel, Real, kDual>;

  struct Scratch : Workspace {
    Index slab_rows = 0, slabs = 0;  // made when the number of threads was known
    Index numbers = 0, kept = 0;     // per slab: rows of all levels, rows of its neighbours
    AlignedBuffer<Real> rows;        // those that slabs share, then their own
    std::vector<double> sums;
  };

  // How a run of steps is cut into passes of several, and where each leaves its result. A ring of two slots
  // keeps the end of the run alone: passes then work in place, but for the first one of a run of odd length,
  // which moves to the other slot.
  struct Passes {
    Index count, slots;
    int most;
    Passes(Index count_, const Ring<Real>& ring, int levels)
        : count(count_),
          slots(ring.slots),
          most(slots == 2 ? levels : int(std::min<Index>(levels, slots - 1))) {
      const Index passes = (count + most - 1) / most;
      if (passes > 0) most = int((count + passes - 1) / passes);  // all of about the same depth
    }
    int levels(Index done) const { return int(std::min<Index>(most, count - done)); }
    bool in_place(Index done) const { return slots == 2 && !(done == 0 && count % 2 == 1); }
    Index next(Index done, Index slot) const {
      if (slots == 2) return in_place(done) ? slot : 1 - slot;
      return (slot + levels(done)) % slots;
    }
    template <class F>
    Real* target(Index done, int level, Index slot, const F& state) const {
      if (slots != 2) return state((slot + level) % slots);
      return level == levels(done) ? state(next(done, slot)) : nullptr;
    }
  };

  static Wanted wanted(const Activity& active) {
    bool coefficients = false, constants = false;
    for (std::size_t f = 0; f < active.parameters.size(); ++f)
      (f < std::size_t(kCoefficients) ? coefficients : constants) |= active.parameters[f];
    return constants ? Wanted::all : coefficients ? Wanted::coefficients : Wanted::none;
  }
  Real* state(const Ring<Real>& ring, Index slot) const { return ring.base + slot * kFields * grid_.cells(); }
  template <class T>
  T* knot(T* knots, const Run<Real>& run, Index k) const {
    return knots ? knots + k / run.hold * Index(sources_.control.size()) : nullptr;
  }

  void sort_sources(const std::vector<Index>& cells) {
    sources_.row_begin.assign(std::size_t(grid_.ny) + 1, 0);
    for (Index cell : cells) {
      if (cell < 0 || cell >= grid_.cells()) {
        throw Error({"source cell " + std::to_string(cell) + " lies outside the grid of " +
                         std::to_string(grid_.cells()) + " cells",
                     {},
                     "cells are numbered j * nx + i from 0"});
      }
      ++sources_.row_begin[std::size_t(cell / grid_.nx) + 1];
    }
    for (std::size_t j = 0; j < std::size_t(grid_.ny); ++j)
      sources_.row_begin[j + 1] += sources_.row_begin[j];
    std::vector<Index> next = sources_.row_begin;
    sources_.column.resize(cells.size());
    sources_.control.resize(cells.size());
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const auto at = std::size_t(next[std::size_t(cells[c] / grid_.nx)]++);
      sources_.column[at] = cells[c] % grid_.nx;
      sources_.control[at] = Index(c);
    }
  }

  // f(slab, its rows, rows that it keeps of its neighbours) for all slabs, after they have kept what others
  // overwrite.
  template <class F>
  void each_slab(int levels, In from, Scratch& scratch, const F& f) const {
    const bool saved = scratch.slabs > 1 || grid_.periodic_y;
    const auto slab = [&](Index s) {
      const Index begin = s * scratch.slab_rows;
      return stencil::Slab<Real>{
          begin, std::min(begin + scratch.slab_rows, grid_.ny), levels, Kernel::halo, &grid_, saved};
    };
    Real* const first = scratch.rows.data() + grid_.shared_numbers();
    const auto rows = [&](Index s) { return first + s * (scratch.numbers + scratch.kept); };
    if (saved) {
      parallel_for(scratch.slabs, 1,
                   [&](Index s, Index) { slab(s).save(from, kFields, rows(s) + scratch.numbers); });
    }
    parallel_for(scratch.slabs, 1, [&](Index s, Index) {
      f(slab(s), stencil::Arena<Real>{rows(s)}, rows(s) + scratch.numbers);
    });
  }

  template <bool kDual>
  void forward(Mode mode, In p, const stencil::ForwardTask<Real>& task, Workspace& work) const {
    auto& scratch = static_cast<Scratch&>(work);
    const Setting<kDual> setting(kernel_, sources_, grid_, p);
    each_slab(task.levels, task.from, scratch, [&](const auto& slab, auto arena, Real* kept) {
      const Forward<kDual> sweep(setting, slab, arena, scratch.rows.data());
      if (mode == Mode::step) return sweep.template run<Mode::step>(task, kept);
      if constexpr (!kDual && stencil::Reversible<Kernel>) {
        if (mode == Mode::step_back) return sweep.template run<Mode::step_back>(task, kept);
      }
      if constexpr (!kDual && Kernel::tapes > 0) sweep.template run<Mode::taped_step>(task, kept);
    });
  }

  template <bool kDual>
  void reverse(Wanted wanted, In p, stencil::ReverseTask<Real>& task, Workspace& work) const {
    auto& scratch = static_cast<Scratch&>(work);
    task.sums = scratch.sums.data();
    const Setting<kDual> setting(kernel_, sources_, grid_, p);
    each_slab(task.levels, task.y_bar, scratch, [&](const auto& slab, auto arena, Real* kept) {
      const Reverse<kDual> sweep(setting, slab, arena, scratch.rows.data(), task);
      if constexpr (!kDual && Kernel::tapes > 0) {
        if (!task.state[0].value && wanted == Wanted::none)
          return sweep.template run<Wanted::none, true>(task, kept);
        if (!task.state[0].value) return sweep.template run<Wanted::coefficients, true>(task, kept);
      }
      if (wanted == Wanted::none) return sweep.template run<Wanted::none, false>(task, kept);
      if (wanted == Wanted::coefficients) return sweep.template run<Wanted::coefficients, false>(task, kept);
      sweep.template run<Wanted::all, false>(task, kept);
    });
    if (wanted == Wanted::all) add_constants<kDual>(task);
  }

  template <bool kDual>
  void add_constants(const stencil::ReverseTask<Real>& task) const {
    const Out to = task.coefficients_bar + kCoefficients * grid_.cells();
    for (int level = 0; level < task.levels; ++level) {
      std::array<double, 2 * std::max(1, kConstants)> total{};
      const double* rows = task.sums + level * grid_.ny * 2 * kConstants;
      for (Index j = 0; j < grid_.ny; ++j) {
        for (int c = 0; c < 2 * kConstants; ++c) total[std::size_t(c)] += rows[j * 2 * kConstants + c];
      }
      for (int c = 0; c < kConstants; ++c) {
        to.value[c] += Real(total[std::size_t(2 * c)]);
        if (kDual) to.tangent[c] += Real(total[std::size_t(2 * c + 1)]);
      }
    }
  }

  Real energy_sum(const Inputs<Real>& in, Scratch& scratch) const {
    const Setting<false> setting(kernel_, sources_, grid_, {in.p});
    const stencil::ForwardTask<Real> task{.levels = 1, .from = {in.x}};
    each_slab(1, task.from, scratch, [&](const auto& slab, auto arena, Real* kept) {
      const Forward<false> sweep(setting, slab, arena, scratch.rows.data());
      sweep.each_row(task, kept, [&](Index j, const auto& rows) {
        double sum = 0;
        for (Index i = 0; i < grid_.nx; i += grid_.lanes) {
          const auto pack =
              kernel_.energy(setting.wide, stencil::PackAt<std::remove_cvref_t<decltype(rows)>>{rows, i});
          for (Index l = 0; l < std::min(grid_.lanes, grid_.nx - i); ++l) sum += pack[int(l)];
        }
        scratch.sums[std::size_t(j)] = sum;
      });
    });
    double total = 0;
    for (Index j = 0; j < grid_.ny; ++j) total += scratch.sums[std::size_t(j)];
    return Real(total);
  }

  Signature signature_;
  Kernel kernel_;
  stencil::GridShape<Real> grid_;
  stencil::SourceCells sources_;
  int levels_ = stencil::kMostLevels;  // steps of one pass
};

}  // namespace costate::grid
