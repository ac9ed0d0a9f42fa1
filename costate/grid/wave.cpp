#include "costate/grid/wave.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/grid/wave_rows.h"

namespace costate::grid {
namespace {

constexpr std::int64_t kCellsPerChunk = 1 << 14;

template <class Real>
class Wave final : public System<Real> {
 public:
  explicit Wave(const WaveOptions& o) : nx_(o.nx), ny_(o.ny), n_(o.nx * o.ny), sources_(o.sources) {
    if (nx_ < 2 || ny_ < 2)
      throw Error("a wave needs at least 2 x 2 cells, not " + std::to_string(nx_) + " x " +
                  std::to_string(ny_));
    if (!(o.dx > 0) || !(o.dt > 0)) throw Error("a wave needs dx > 0 and dt > 0");
    if (!(o.speed >= 0) || !std::isfinite(o.damping)) {
      throw Error("a wave needs a speed that is not negative and a finite damping");
    }
    if (o.speed * o.dt / o.dx > std::sqrt(0.5)) {
      throw Error(
          {"speed dt / dx = " + std::to_string(o.speed * o.dt / o.dx) + " exceeds the stability limit 0.707",
           {},
           "reduce dt below " + std::to_string(std::sqrt(0.5) * o.dx / o.speed)});
    }
    signature_.state("u", n_, "m").state("v", n_, "m/s");
    signature_.parameter_field("speed", n_, o.speed, "m/s")
        .parameter("damping", o.damping, "1/s")
        .parameter("dx", o.dx, "m")
        .parameter("dt", o.dt, "s");
    if (!sources_.empty()) signature_.control("source", static_cast<std::int64_t>(sources_.size()), "m/s^2");
    for (std::int64_t cell : sources_) {
      if (cell < 0 || cell >= n_)
        throw Error("source cell " + std::to_string(cell) + " lies outside the grid of " +
                    std::to_string(n_) + " cells");
    }
    rows_per_chunk_ = std::max<std::int64_t>(4, kCellsPerChunk / nx_);
    chunks_ = (ny_ + rows_per_chunk_ - 1) / rows_per_chunk_;
  }

  const Signature& signature() const override { return signature_; }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true, .vjp = true, .second_order = true, .reversible = true};
  }

  std::unique_ptr<Workspace> make_workspace() const override {
    auto work = std::make_unique<Scratch>();
    work->zero_row.reserve(nx_);
    std::memset(work->zero_row.data(), 0, static_cast<std::size_t>(nx_) * sizeof(Real));
    work->drive.reserve(chunks_ * kDrives * 4 * nx_);
    work->sums.resize(static_cast<std::size_t>(chunks_));
    return work;
  }

  // Of the state, the transpose needs u alone, unless one of the parameters that every cell shares wants a cotangent.
  TapePlan tape(const Activity& active, const TapeBudget& budget) const override {
    if (wants_scalars(active) || budget.keeps_states) return {};
    return {.size = n_, .instead_of_states = true};
  }

  void step(const StepContext&, const Inputs<Real>& in, Real* y, Real* tape, Workspace& work) const override {
    if (tape)
      forward<false, true>(in, {}, {y, nullptr}, tape, work);
    else
      forward<false, false>(in, {}, {y, nullptr}, nullptr, work);
  }
  void step_jvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y, Real* y_dot,
                Workspace& work) const override {
    forward<true, false>(in, in_dot, {y, y_dot}, nullptr, work);
  }
  void step_vjp(const StepContext&, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    transpose<false>(from(in, tape), {}, {y_bar, nullptr}, bar, {}, active, work);
  }
  void step_hvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& work) const override {
    transpose<true>(in, in_dot, {y_bar, y_bar_dot}, bar, bar_dot, active, work);
  }

  // In place where the ring allows: a run of an even number of steps ends in the slot it began in, and the cotangents of a row are read before they
  // are written. That saves a third of the memory traffic.
  void reverse(const Run<Real>& run, const Real* states, const Tape<const Real>& tape,
               const Ring<Real>& lambda, Real* u_bar, Real* p_bar, const Activity& active,
               Workspace& work) const override {
    Real* y_bar = lambda.base + lambda.start * 2 * n_;
    for (std::int64_t j = run.count - 1; j >= 0; --j) {
      const std::int64_t knot = (run.first + j) / run.hold * static_cast<std::int64_t>(sources_.size());
      const Inputs<Real> in{states ? states + j * 2 * n_ : tape.at(j), run.u ? run.u + knot : nullptr, run.p};
      const bool move = j == run.count - 1 && run.count % 2 == 1;
      Real* x_bar = move ? lambda.base + (lambda.start + 1) % 2 * 2 * n_ : y_bar;
      transpose<false>(in, {}, {y_bar, nullptr}, {x_bar, u_bar ? u_bar + knot : nullptr, p_bar}, {}, active,
                       work);
      y_bar = x_bar;
    }
  }

  // u = u+ - dt v+, then v by the velocity's own equation.
  void step_back(const StepContext&, const Inputs<Real>& in, const Real* y, Real* x,
                 Workspace& work) const override {
    using A = Arrays<Real, false>;
    const auto s = scalars<false>(in, {});
    const Real* zero = static_cast<Scratch&>(work).zero_row.data();
    parallel_for(n_, kCellsPerChunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) x[i] = y[i] - s.dt * y[n_ + i];
    });
    using In = typename A::In;
    parallel_for(ny_, rows_per_chunk_, [&](std::int64_t begin, std::int64_t end) {
      const Scales<Real, false> scale(s);
      for (std::int64_t j = begin; j < end; ++j) {
        const std::int64_t row = j * nx_;
        RowKernels<Real, false>::back(nx_, scale, rows_of<In>({x, nullptr}, j, {zero, nullptr}),
                                      {y + n_ + row, nullptr}, {in.p + row, nullptr},
                                      {x + n_ + row, nullptr});
      }
    });
    for (std::size_t k = 0; k < sources_.size(); ++k)
      x[n_ + sources_[k]] -= s.dt * in.u[k] / (Real(1) - s.dt * s.damping);
  }

 private:
  static constexpr std::int64_t kDrives =
      5;  // rows of w and c^2 w that a chunk holds: three that move, one below, one above
  enum { kSpeed, kDamping, kDx, kDt };  // order of the parameter fields

  static bool wants_scalars(const Activity& active) {
    return active.parameters[kDamping] || active.parameters[kDx] || active.parameters[kDt];
  }
  // The transpose reads u, which is the beginning of x, or the tape where there is no x.
  static Inputs<Real> from(const Inputs<Real>& in, const Real* tape) {
    return {in.x ? in.x : tape, in.u, in.p};
  }

  struct Sums {  // of one chunk, for the parameters that every cell shares; second: tangents
    double damping[2], dx[2], dt[2];
  };
  struct Scratch : Workspace {
    AlignedBuffer<Real> zero_row;
    AlignedBuffer<Real> drive;  // per chunk: kDrives times w, its tangent, c^2 w, its tangent
    std::vector<Sums> sums;
  };

  template <bool kDual>
  auto drive_of(Scratch& scratch, std::int64_t chunk, std::int64_t slot) const {
    Real* rows = scratch.drive.data() + (chunk * kDrives + slot) * 4 * nx_;
    return typename RowKernels<Real, kDual>::Drive{{rows, rows + nx_}, {rows + 2 * nx_, rows + 3 * nx_}};
  }

  template <class In>
  Rows<In> rows_of(In plane, std::int64_t j, In zero_row) const {
    return {plane + j * nx_, j > 0 ? plane + (j - 1) * nx_ : zero_row,
            j + 1 < ny_ ? plane + (j + 1) * nx_ : zero_row};
  }

  template <bool kDual>
  auto scalars(const Inputs<Real>& in, const Inputs<Real>& in_dot) const {
    using A = Arrays<Real, kDual>;
    const typename A::In tail{in.p + n_, in_dot.p ? in_dot.p + n_ : nullptr};
    using N = typename A::template Number<Real>;
    return Scalars<N>{A::template get<Real>(tail, 0), A::template get<Real>(tail, 1),
                      A::template get<Real>(tail, 2)};
  }

  template <bool kDual, bool kTape>
  void forward(const Inputs<Real>& in, const Inputs<Real>& in_dot, typename Arrays<Real, kDual>::Out y,
               Real* tape, Workspace& work) const {
    using A = Arrays<Real, kDual>;
    using In = typename A::In;
    const auto s = scalars<kDual>(in, in_dot);
    const In x{in.x, in_dot.x}, speed{in.p, in_dot.p};
    const In zero{static_cast<Scratch&>(work).zero_row.data(), nullptr};
    const bool aligned = kTape && nx_ % NativePack<Real>::lanes == 0 &&
                         reinterpret_cast<std::uintptr_t>(tape) % sizeof(NativePack<Real>) == 0;
    parallel_for(ny_, rows_per_chunk_, [&](std::int64_t begin, std::int64_t end) {
      const Scales<Real, kDual> scale(s);
      for (std::int64_t j = begin; j < end; ++j) {
        const std::int64_t row = j * nx_;
        RowKernels<Real, kDual>::template step<kTape>(nx_, scale, rows_of(x, j, zero), x + (n_ + row),
                                                      speed + row, y + row, y + (n_ + row),
                                                      kTape ? tape + row : nullptr, aligned);
      }
      if constexpr (kTape) stream_fence();
    });
    const In controls{in.u, in_dot.u};
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      const std::int64_t cell = sources_[k];
      const auto kick = s.dt * A::template get<Real>(controls, static_cast<std::int64_t>(k));
      A::template put<Real>(y, n_ + cell, A::template get<Real>(y, n_ + cell) + kick);
      A::template put<Real>(y, cell, A::template get<Real>(y, cell) + s.dt * kick);
    }
  }

  template <bool kDual>
  void transpose(const Inputs<Real>& in, const Inputs<Real>& in_dot, typename Arrays<Real, kDual>::In y_bar,
                 const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot, const Activity& active,
                 Workspace& work) const {
    using A = Arrays<Real, kDual>;
    using In = typename A::In;
    using Out = typename A::Out;
    auto& scratch = static_cast<Scratch&>(work);
    const auto s = scalars<kDual>(in, in_dot);
    const In x{in.x, in_dot.x}, speed{in.p, in_dot.p}, zero{scratch.zero_row.data(), nullptr};
    const Out x_bar{bar.x, bar_dot.x}, speed_bar{bar.p, bar_dot.p};
    const bool want_speed = bar.p && active.parameters[kSpeed];
    using Kernels = RowKernels<Real, kDual>;

    // w of one cell, read before x_bar is written.
    const auto w_at = [&](std::int64_t cell) {
      return A::template get<Real>(y_bar, n_ + cell) + s.dt * A::template get<Real>(y_bar, cell);
    };
    if (bar.u) {
      const Out u_bar{bar.u, bar_dot.u};
      for (std::size_t k = 0; k < sources_.size(); ++k) {
        const auto at = static_cast<std::int64_t>(k);
        A::template put<Real>(u_bar, at, A::template get<Real>(u_bar, at) + s.dt * w_at(sources_[k]));
      }
    }
    if (bar.p && wants_scalars(active)) {
      transpose_scalars<kDual>(in, in_dot, s, y_bar, {bar.p + n_, bar_dot.p ? bar_dot.p + n_ : nullptr}, w_at,
                               scratch);
    }

    // The fluxes on both sides of every chunk, before any chunk is written.
    parallel_for(chunks_, 1, [&](std::int64_t chunk, std::int64_t) {
      const Scales<Real, kDual> scale(s);
      for (const std::int64_t side : {0, 1}) {
        const std::int64_t j =
            side == 0 ? chunk * rows_per_chunk_ - 1 : std::min((chunk + 1) * rows_per_chunk_, ny_);
        const bool inside = j >= 0 && j < ny_;
        const In u_bar = inside ? y_bar + j * nx_ : zero, v_bar = inside ? y_bar + (n_ + j * nx_) : zero,
                 c = inside ? speed + j * nx_ : zero;
        Kernels::drive(nx_, scale, u_bar, v_bar, c, drive_of<kDual>(scratch, chunk, 3 + side));
      }
    });
    parallel_for(chunks_, 1, [&](std::int64_t chunk, std::int64_t) {
      const Scales<Real, kDual> scale(s);
      const std::int64_t begin = chunk * rows_per_chunk_, end = std::min(begin + rows_per_chunk_, ny_);
      // Three rows of drives move up the chunk; beyond it are those made before.
      const auto drive = [&](std::int64_t j) {
        return drive_of<kDual>(scratch, chunk, j < begin ? 3 : j == end ? 4 : j % 3);
      };
      Kernels::drive(nx_, scale, y_bar + begin * nx_, y_bar + (n_ + begin * nx_), speed + begin * nx_,
                     drive(begin));
      for (std::int64_t j = begin; j < end; ++j) {
        const std::int64_t row = j * nx_, above = row + nx_;
        const bool last = j + 1 == end;
        const typename Kernels::NextRow next =
            last
                ? typename Kernels::NextRow{zero, zero, zero, drive(end)}
                : typename Kernels::NextRow{y_bar + above, y_bar + (n_ + above), speed + above, drive(j + 1)};
        const auto transpose_row = last ? (want_speed ? Kernels::template transpose<true, false>
                                                      : Kernels::template transpose<false, false>)
                                        : (want_speed ? Kernels::template transpose<true, true>
                                                      : Kernels::template transpose<false, true>);
        transpose_row(nx_, scale, next, y_bar + row, drive(j).w, drive(j).flux, drive(j - 1).flux,
                      rows_of(x, j, zero), speed + row, x_bar + row, x_bar + (n_ + row), speed_bar + row);
      }
    });
  }

  // Cotangents of the parameters that every cell shares: sums over the grid, chunk by chunk, added in order.
  template <bool kDual, class S, class W>
  void transpose_scalars(const Inputs<Real>& in, const Inputs<Real>& in_dot, const S& s,
                         typename Arrays<Real, kDual>::In y_bar, typename Arrays<Real, kDual>::Out p_bar,
                         const W& w_at, Scratch& scratch) const {
    using A = Arrays<Real, kDual>;
    using N = typename A::template Number<Real>;
    using In = typename A::In;
    const In x{in.x, in_dot.x}, speed{in.p, in_dot.p}, controls{in.u, in_dot.u},
        zero{scratch.zero_row.data(), nullptr};
    const auto store_sum = [](double(&to)[2], const N& sum) {
      if constexpr (kDual)
        to[0] = sum.v, to[1] = sum.d[0];
      else
        to[0] = sum, to[1] = 0;
    };
    parallel_for(ny_, rows_per_chunk_, [&](std::int64_t begin, std::int64_t end) {
      N damping(Real(0)), dx(Real(0)), dt(Real(0));
      for (std::int64_t j = begin; j < end; ++j) {
        const Rows<In> u = rows_of(x, j, zero);
        for (std::int64_t i = 0; i < nx_; ++i) {
          const std::int64_t cell = j * nx_ + i;
          const N c = A::template get<Real>(speed, cell), v = A::template get<Real>(x, n_ + cell),
                  w = w_at(cell);
          const N pull = c * c * stencil_at<A>(u, i, nx_).laplacian() / (s.dx * s.dx);
          const N rate = pull - s.damping * v;
          damping -= s.dt * v * w;
          dx -= N(Real(2)) * s.dt / s.dx * pull * w;
          dt += A::template get<Real>(y_bar, cell) * (v + s.dt * rate) + w * rate;
        }
      }
      Sums& sums = scratch.sums[static_cast<std::size_t>(begin / rows_per_chunk_)];
      store_sum(sums.damping, damping);
      store_sum(sums.dx, dx);
      store_sum(sums.dt, dt);
    });
    N source_dt(Real(0));
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      const N force = A::template get<Real>(controls, static_cast<std::int64_t>(k));
      source_dt += A::template get<Real>(y_bar, sources_[k]) * s.dt * force + w_at(sources_[k]) * force;
    }
    double total[3][2] = {};
    for (const Sums& sums : scratch.sums) {
      for (int d = 0; d < 2; ++d)
        total[0][d] += sums.damping[d], total[1][d] += sums.dx[d], total[2][d] += sums.dt[d];
    }
    for (int f = 0; f < 3; ++f) {
      N sum(Real(0));
      if constexpr (kDual)
        sum = Dual<Real>(Real(total[f][0]), Real(total[f][1]));
      else
        sum = Real(total[f][0]);
      if (f == 2) sum += source_dt;
      A::template put<Real>(p_bar, f, A::template get<Real>(p_bar, f) + sum);
    }
  }

  Signature signature_;
  std::int64_t nx_, ny_, n_, rows_per_chunk_, chunks_;
  std::vector<std::int64_t> sources_;
};

}  // namespace

template <class Real>
std::shared_ptr<System<Real>> wave(const WaveOptions& options) {
  return std::make_shared<Wave<Real>>(options);
}
template std::shared_ptr<System<float>> wave<float>(const WaveOptions&);
template std::shared_ptr<System<double>> wave<double>(const WaveOptions&);

}  // namespace costate::grid
