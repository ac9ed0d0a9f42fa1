// The reverse sweep alone, with the wave's kernel: against a transpose that scatters what the sweep gathers,
// and the same bits whatever the depth of the sweep, the slabs, and what it reads: states or tapes.
#include "costate/grid/stencil_sweep_adjoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/grid/wave_kernel.h"

namespace costate::grid::stencil {
namespace {

constexpr int kSteps = 3;
constexpr double kGamma = 0.3, kDx = 0.8, kDt = 0.2;

using Numbers = std::vector<double>;

// Cotangents before the first step, of the speeds and of (damping, dx, dt).
struct Bars {
  Numbers x, speed, constants;
};

struct Pond {
  Index nx, ny, cells = nx * ny;
  Numbers p;
  std::vector<Numbers> states;
  Numbers y_bar, speed_bar;  // speed_bar: what is there already

  Pond(Index nx_, Index ny_) : nx(nx_), ny(ny_) {
    const auto wavy = [](Index count, double mean, double swing, double pace) {
      Numbers r;
      for (Index i = 0; i < count; ++i) r.push_back(mean + swing * std::sin(pace * double(i)));
      return r;
    };
    p = wavy(cells, 1, 0.3, 0.9);
    p.insert(p.end(), {kGamma, kDx, kDt});
    y_bar = wavy(2 * cells, 0, 1, 1.7);
    speed_bar = wavy(cells, 0, 0.5, 2.3);
    states = {wavy(2 * cells, 0, 1, 0.7)};
    for (int k = 0; k < kSteps; ++k) states.push_back(step(states.back()));
  }

  double laplacian(const Numbers& x, Index i, Index j) const {
    const auto u = [&](Index a, Index b) {
      return a < 0 || b < 0 || a >= nx || b >= ny ? 0.0 : x[std::size_t(b * nx + a)];
    };
    return u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j);
  }
  Numbers step(const Numbers& x) const {
    Numbers y = x;
    for (Index j = 0; j < ny; ++j)
      for (Index i = 0; i < nx; ++i) {
        const auto at = std::size_t(j * nx + i), v = at + std::size_t(cells);
        y[v] = (1 - kDt * kGamma) * x[v] + kDt * p[at] * p[at] * laplacian(x, i, j) / (kDx * kDx);
        y[at] = x[at] + kDt * y[v];
      }
    return y;
  }
  // The transpose of step(): every cell gives to its neighbours.
  void scatter(const Numbers& x, Bars& bar) const {
    const Numbers in = bar.x;
    std::fill(bar.x.begin(), bar.x.end(), 0.0);
    for (Index j = 0; j < ny; ++j)
      for (Index i = 0; i < nx; ++i) {
        const auto at = std::size_t(j * nx + i), v = at + std::size_t(cells);
        const double c = p[at], lap = laplacian(x, i, j), w = in[v] + kDt * in[at];
        const double rate = c * c * lap / (kDx * kDx) - kGamma * x[v];
        bar.x[v] += (1 - kDt * kGamma) * w;
        bar.x[at] += in[at];
        const auto give = [&](Index a, Index b, double share) {
          if (a >= 0 && b >= 0 && a < nx && b < ny)
            bar.x[std::size_t(b * nx + a)] += share * kDt * c * c / (kDx * kDx) * w;
        };
        give(i - 1, j, 1), give(i + 1, j, 1), give(i, j - 1, 1), give(i, j + 1, 1), give(i, j, -4);
        bar.speed[at] += 2 * kDt * c * lap / (kDx * kDx) * w;
        bar.constants[0] -= kDt * x[v] * w;
        bar.constants[1] -= 2 * kDt * c * c * lap / (kDx * kDx * kDx) * w;
        bar.constants[2] += in[at] * (x[v] + kDt * rate) + w * rate;
      }
  }
  Bars scattered() const {
    Bars bar{y_bar, speed_bar, Numbers(3, 0.0)};
    for (int k = kSteps; k-- > 0;) scatter(states[std::size_t(k)], bar);
    return bar;
  }

  // The sweep over all steps, `depth` at a time, in slabs of `rows` rows.
  template <Wanted wanted, bool kFromTape>
  Bars swept(int depth, Index rows) const {
    using Sweep = ReverseSweep<WaveKernel, double, false>;
    const GridShape<double> grid{nx, ny};
    const SourceCells none{{}, {}, std::vector<Index>(std::size_t(ny) + 1, 0)};
    const WaveKernel kernel;
    const Setting<WaveKernel, double, false> set(kernel, none, grid, {p.data()});
    AlignedBuffer<double> shared(grid.shared_numbers());
    grid.fill_shared(shared.data());
    std::vector<Numbers> tapes;
    for (const Numbers& x : states) {
      Numbers& tape = tapes.emplace_back(std::size_t(grid.width() * ny), 0.0);
      for (Index j = 0; j < ny; ++j)
        for (Index i = 0; i < nx; ++i) tape[std::size_t(j * grid.width() + i)] = laplacian(x, i, j);
    }
    Bars bar{y_bar, speed_bar, Numbers(3, 0.0)};
    Numbers sums(std::size_t(depth * ny * 2 * 3));
    for (int done = 0; done < kSteps; done += depth) {
      const Numbers from = bar.x;
      ReverseTask<double> task{.levels = depth, .y_bar = {from.data()}, .sums = sums.data()};
      task.x_bar[depth - 1] = {bar.x.data()};
      task.coefficients_bar = {bar.speed.data()};
      for (int l = 0; l < depth; ++l) {
        const auto k = std::size_t(kSteps - 1 - done - l);
        (kFromTape ? task.tape[l] : task.state[l].value) = (kFromTape ? tapes : states)[k].data();
      }
      for (Index begin = 0; begin < ny; begin += rows) {
        const Slab<double> slab{begin, std::min(begin + rows, ny), depth, 1, &grid, rows < ny};
        Numbers kept(std::size_t(Slab<double>::saved_numbers(grid, depth, 1, 2, false)));
        slab.save(task.y_bar, 2, kept.data());
        AlignedBuffer<double> scratch(Sweep::numbers(grid, depth));
        Sweep(set, slab, {scratch.data()}, shared.data(), task)
            .template run<wanted, kFromTape>(task, kept.data());
      }
      for (int l = 0; wanted == Wanted::all && l < depth; ++l)
        for (Index j = 0; j < ny; ++j)
          for (std::size_t c = 0; c < 3; ++c) bar.constants[c] += sums[std::size_t(l * ny + j) * 6 + 2 * c];
    }
    return bar;
  }
};

void expect_near(const Numbers& a, const Numbers& b) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12) << i;
}

TEST(ReverseSweep, GathersWhatEveryCellGivesToItsNeighbours) {
  for (const Pond& pond : {Pond(16, 9), Pond(7, 11)}) {
    const Bars scattered = pond.scattered(), swept = pond.swept<Wanted::all, false>(kSteps, pond.ny);
    expect_near(swept.x, scattered.x);
    expect_near(swept.speed, scattered.speed);
    expect_near(swept.constants, scattered.constants);
  }
}

TEST(ReverseSweep, HasTheSameBitsAtEveryDepthAndInEverySlab) {
  for (const Pond& pond : {Pond(16, 9), Pond(7, 11)}) {
    const Bars whole = pond.swept<Wanted::coefficients, false>(kSteps, pond.ny);
    for (const int depth : {1, kSteps})
      for (const Index rows : {Index(4), pond.ny}) {
        const Bars other = pond.swept<Wanted::coefficients, false>(depth, rows);
        EXPECT_EQ(other.x, whole.x) << depth << " " << rows;
        EXPECT_EQ(other.speed, whole.speed) << depth << " " << rows;
      }
  }
}

// Tapes of these ponds are computed by other code: to rounding.
TEST(ReverseSweep, ReadsTapesInsteadOfStates) {
  for (const Pond& pond : {Pond(16, 9), Pond(7, 11)}) {
    const Bars states = pond.swept<Wanted::coefficients, false>(kSteps, pond.ny);
    const Bars tapes = pond.swept<Wanted::coefficients, true>(kSteps, pond.ny);
    expect_near(tapes.x, states.x);
    expect_near(tapes.speed, states.speed);
    EXPECT_EQ((pond.swept<Wanted::none, true>(kSteps, 4)).x, tapes.x);  // without cotangents of speeds
  }
}

}  // namespace
}  // namespace costate::grid::stencil
