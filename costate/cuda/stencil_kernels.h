// StencilKernels: the kernels of a grid, one thread per cell and one launch per step (stencil_thread.h).
// Sources, several of which may lie in one cell, have a thread for each such cell. `Exec` launches: see
// lane_kernels.h. Tests: tests/cuda/device_grid_test.cpp.
#pragma once

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "costate/cuda/kernels.h"
#include "costate/cuda/plane_sums.h"
#include "costate/cuda/stencil_thread.h"

namespace costate::cuda {

// Cells with sources: those of cell number n are controls[begin[n]] ... controls[begin[n + 1] - 1].
struct SourceList {
  const std::int64_t *cell, *begin, *control;
  std::int64_t cells;
};

namespace thread {

template <class Kernel, class S>
struct StepCell {
  StencilField<Kernel, S> field;
  const S* x;
  S* y;
  COSTATE_HD void operator()(int i, int j) const { step_cell(field, i, j, x, y); }
};
template <class Kernel, class S>
struct StepCellBack {
  StencilField<Kernel, S> field;
  const S* y;
  S* x;
  COSTATE_HD void operator()(std::int64_t cell) const {
    const auto before = field.kernel.step_back(field.scale, cell_at(field, cell, y, y));
    for (int f = 0; f < Kernel::fields; ++f) x[f * field.cells() + cell] = before[f];
  }
};
template <class Kernel, class S>
struct TransposeCell {
  StencilField<Kernel, S> field;
  const S *x, *y_bar;
  S *x_bar, *coefficients_bar, *constants_bar;
  COSTATE_HD void operator()(int i, int j) const {
    transpose_cell(field, i, j, x, y_bar, x_bar, coefficients_bar, constants_bar);
  }
};
template <class Kernel, class S>
struct AddSources {
  StencilField<Kernel, S> field;
  SourceList sources;
  const S* controls;
  S* y;
  bool back;
  COSTATE_HD void operator()(std::int64_t n) const {
    Vec<S, Kernel::fields> at = load_vec<S, Kernel::fields>(y + sources.cell[n], field.cells());
    for (std::int64_t c = sources.begin[n]; c < sources.begin[n + 1]; ++c) {
      if (!back) field.kernel.source(field.scale, controls[sources.control[c]], at);
      if constexpr (requires { field.kernel.source_back(field.scale, S(0), at); })
        if (back) field.kernel.source_back(field.scale, controls[sources.control[c]], at);
    }
    store_vec(y + sources.cell[n], field.cells(), at);
  }
};
// Before the transposes of the cells, which replace y_bar.
template <class Kernel, class S>
struct TransposeSources {
  StencilField<Kernel, S> field;
  SourceList sources;
  const S *controls, *y_bar;
  S *controls_bar, *constants_bar;
  COSTATE_HD void operator()(std::int64_t n) const {
    const std::int64_t cell = sources.cell[n];
    const Vec<S, Kernel::fields> at = load_vec<S, Kernel::fields>(y_bar + cell, field.cells());
    Vec<S, Kernel::constants> bar = Vec<S, Kernel::constants>::zero();
    for (std::int64_t c = sources.begin[n]; c < sources.begin[n + 1]; ++c) {
      const std::int64_t control = sources.control[c];
      const S control_bar = field.kernel.source_vjp(field.scale, controls[control], at, bar);
      if (controls_bar != nullptr) controls_bar[control] += control_bar;
    }
    for (int c = 0; constants_bar != nullptr && c < Kernel::constants; ++c)
      constants_bar[c * field.cells() + cell] += bar[c];
  }
};
// The energy of the cells in kPartials parts.
template <class Kernel, class S>
struct EnergyOfCells {
  StencilField<Kernel, S> field;
  const S* x;
  double* partials;
  COSTATE_HD void operator()(std::int64_t part) const {
    double sum = 0;
    for (std::int64_t cell = part; cell < field.cells(); cell += kPartials)
      sum += double(field.kernel.energy(field.scale, cell_at(field, cell, x, x)));
    partials[part] = sum;
  }
};

}  // namespace thread

// What a grid is made of, besides its kernel's own settings.
struct GridDescription {
  std::int64_t nx, ny;
  std::vector<std::int64_t> source_cells;  // of each control
};

template <class Kernel, class Real, class Exec>
class StencilKernels final : public DeviceKernels<Real> {
  using Index = std::int64_t;

 public:
  StencilKernels(const Device& device, const Exec& exec, const Kernel& kernel, const GridDescription& grid,
                 bool wants_constants)
      : exec_(exec),
        device_(device),
        wants_constants_(wants_constants),
        scratch_(device),
        constants_bar_(device),
        partials_(device),
        source_numbers_(device) {
    field_.kernel = kernel;
    field_.nx = int(grid.nx), field_.ny = int(grid.ny);
    field_.periodic_x = grid::stencil::periodic(kernel, 0),
    field_.periodic_y = grid::stencil::periodic(kernel, 1);
    list_sources(grid.source_cells);
  }

  Index scratch_numbers() const override {
    return Kernel::fields * cells() + (wants_constants_ ? Kernel::constants * cells() : 0);
  }

  // Constants become the scale of a step here, on the host.
  void load(const Real* p_host, const Real* p_device) override {
    if constexpr (grid::stencil::HasCheck<Kernel>) field_.kernel.check(p_host, cells());
    Vec<Real, Kernel::constants> constants;
    for (int c = 0; c < Kernel::constants; ++c) constants[c] = p_host[Kernel::coefficients * cells() + c];
    field_.scale = field_.kernel.scale(constants);
    field_.coefficients = p_device;
    scratch_.reserve(Kernel::fields * cells());
  }

  void advance(const DeviceRun<Real>& run, const Real* from, Real* to, char* diverged) override {
    for (Index done = 0; done < run.count; ++done) {
      Real* const next = (run.count - done) % 2 == 1 ? to : scratch_.data();
      if (next == from) {  // an odd number of steps in place
        scratch_.copy(from, Kernel::fields * cells());
        from = scratch_.data();
      }
      step(run, run.first + done, from, next);
      from = next;
    }
    if (run.count == 0 && from != to) device_.copy(to, from, Kernel::fields * cells() * Index(sizeof(Real)));
    exec_.launch(Kernel::fields * cells(), thread::WatchNumbers<Real>{to, diverged});
  }
  void record(const DeviceRun<Real>& run, const Real* from, Real* to, const DeviceTape<Real>& tape,
              char* diverged) override {
    const Index n = Kernel::fields * cells(), end = run.first + run.count;
    Real* kept = tape.base + (run.first - tape.begin) * n;
    device_.copy(kept, from, n * Index(sizeof(Real)));
    for (Index k = run.first; k < end; ++k, kept += n) step(run, k, kept, k + 1 < end ? kept + n : to);
    exec_.launch(n, thread::WatchNumbers<Real>{to, diverged});
  }
  void reverse(const DeviceRun<Real>& run, const DeviceTape<Real>& tape,
               const DeviceCotangents<Real>& bar) override {
    const Index n = Kernel::fields * cells();
    Real *after = bar.x, *before = scratch_.data();
    Real* const constants_bar = bar.p != nullptr && wants_constants_ ? start_constants() : nullptr;
    for (Index k = run.first + run.count - 1; k >= run.first; --k) {
      if constexpr (grid::stencil::HasSources<Kernel>)
        exec_.launch(sources_.cells,
                     thread::TransposeSources<Kernel, Real>{field_, sources_, controls(run, run.u, k), after,
                                                            controls(run, bar.u, k), constants_bar});
      exec_.launch_cells(field_.nx, field_.ny,
                         thread::TransposeCell<Kernel, Real>{field_, tape.base + (k - tape.begin) * n, after,
                                                             before, bar.p, constants_bar});
      std::swap(after, before);
    }
    if (after != bar.x) device_.copy(bar.x, after, n * Index(sizeof(Real)));
    if (constants_bar) finish_constants(bar.p + Kernel::coefficients * cells());
  }
  void step_back(const DeviceRun<Real>& run, Real* state) override {
    if constexpr (grid::stencil::Reversible<Kernel>) {
      scratch_.copy(state, Kernel::fields * cells());
      exec_.launch(cells(), thread::StepCellBack<Kernel, Real>{field_, scratch_.data(), state});
      add_sources(run, run.first, state, true);
    }
  }
  void energy(const DeviceRun<Real>&, const Real* state, Real* value) override {
    if constexpr (grid::stencil::HasEnergy<Kernel>) {
      partials_.reserve(std::max(1, Kernel::constants) * kPartials);
      exec_.launch(kPartials, thread::EnergyOfCells<Kernel, Real>{field_, state, partials_.data()});
      exec_.launch(1, thread::AddPartials<Real>{partials_.data(), value, true});
    }
  }

 private:
  Index cells() const { return field_.cells(); }

  // Sorted by cell; the controls of one cell in their order.
  void list_sources(const std::vector<Index>& cell_of) {
    std::vector<Index> order(cell_of.size()), cell, begin;
    std::iota(order.begin(), order.end(), Index(0));
    std::ranges::stable_sort(order, {}, [&](Index c) { return cell_of[std::size_t(c)]; });
    for (std::size_t n = 0; n < order.size(); ++n) {
      const Index at = cell_of[std::size_t(order[n])];
      if (cell.empty() || cell.back() != at) cell.push_back(at), begin.push_back(Index(n));
    }
    begin.push_back(Index(order.size()));
    std::vector<Index> all = cell;
    all.insert(all.end(), begin.begin(), begin.end());
    all.insert(all.end(), order.begin(), order.end());
    source_numbers_.upload(all.data(), Index(all.size()));
    const Index* const first = source_numbers_.data();
    sources_ = {first, first + cell.size(), first + cell.size() + begin.size(), Index(cell.size())};
  }
  template <class T>
  static T* controls(const DeviceRun<Real>& run, T* knots, Index k) {
    return knots ? knots + k / run.hold * run.u_knot : nullptr;
  }
  void step(const DeviceRun<Real>& run, Index k, const Real* x, Real* y) {
    exec_.launch_cells(field_.nx, field_.ny, thread::StepCell<Kernel, Real>{field_, x, y});
    add_sources(run, k, y, false);
  }
  void add_sources(const DeviceRun<Real>& run, Index k, Real* y, bool back) {
    if constexpr (grid::stencil::HasSources<Kernel>)
      exec_.launch(sources_.cells,
                   thread::AddSources<Kernel, Real>{field_, sources_, controls(run, run.u, k), y, back});
  }

  Real* start_constants() {
    constants_bar_.zero(Kernel::constants * cells());
    return constants_bar_.data();
  }
  void finish_constants(Real* to) {
    partials_.reserve(std::max(1, Kernel::constants) * kPartials);
    exec_.launch(Kernel::constants * kPartials,
                 thread::SumOfPlane<Real>{constants_bar_.data(), cells(), partials_.data()});
    exec_.launch(Kernel::constants, thread::AddPartials<Real>{partials_.data(), to, false});
  }

  Exec exec_;
  const Device& device_;
  bool wants_constants_;
  StencilField<Kernel, Real> field_;
  SourceList sources_{};
  DeviceArray<Real> scratch_, constants_bar_;
  DeviceArray<double> partials_;
  DeviceArray<Index> source_numbers_;
};

}  // namespace costate::cuda
