// The pressure of a box: transforms against their sums, solutions against the equation that they solve.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/philox.h"
#include "costate/fluid/pressure/pressure_solver.h"

namespace costate::fluid {
namespace {

constexpr Ends kEnds[] = {Ends::periodic, Ends::even_even, Ends::odd_odd, Ends::even_odd, Ends::odd_even};

// The number beyond an end: the index of the cell it equals, and its sign.
std::pair<Index, double> beyond(Ends ends, Index i, Index n) {
  if (i >= 0 && i < n) return {i, 1.0};
  if (ends == Ends::periodic) return {(i + n) % n, 1.0};
  const bool even = ends == Ends::even_even || (i < 0 ? ends == Ends::even_odd : ends == Ends::odd_even);
  return {i < 0 ? 0 : n - 1, even ? 1.0 : -1.0};
}

TEST(Transform, DiagonalisesTheSecondDifferenceForEveryPairOfEnds) {
  using P = NativePack<double>;
  for (const Ends ends : kEnds) {
    for (const Index n : {2, 3, 4, 6, 7, 8, 10, 12, 16, 22, 30, 34, 64, 96}) {
      const Transform<double> transform(ends, n);
      EXPECT_EQ(transform.dense(), n % 2 == 1 || n == 2 || n == 34);
      std::vector<P> x(std::size_t(n), P(0)), d(x), a(x), b(x);
      for (Index i = 0; i < n; ++i) x[std::size_t(i)] = P(uniform(1, 2, std::uint32_t(i)) - 0.5);
      for (Index i = 0; i < n; ++i) {
        const auto [low, low_sign] = beyond(ends, i - 1, n);
        const auto [high, high_sign] = beyond(ends, i + 1, n);
        d[std::size_t(i)] = P(2) * x[std::size_t(i)] - P(low_sign) * x[std::size_t(low)] -
                            P(high_sign) * x[std::size_t(high)];
      }
      std::vector<P> given = x, c(std::size_t(n), P(0));
      P* of_x = transform.forward(given.data(), a.data());
      P* of_d = transform.forward(d.data(), b.data());
      for (Index k = 0; k < n; ++k)
        EXPECT_NEAR(of_d[k][0], transform.lambda()[std::size_t(k)] * of_x[k][0], 1e-12)
            << n << ", mode " << k;
      const P* back = transform.inverse(of_x, c.data());
      for (Index i = 0; i < n; ++i)
        EXPECT_NEAR(back[i][0] / transform.gain(), x[std::size_t(i)][0], 1e-14) << "of " << n;
    }
  }
}

// D G of the solution is the right-hand side, whatever the sides of the box are.
template <class Real>
void expect_solves(const Shape& shape, const std::array<Ends, 3>& ends, double gate) {
  const PressureSolver<Real> solver(shape, ends);
  std::vector<Real> r(std::size_t(shape.size)), scratch(std::size_t(solver.scratch_numbers()) + 64);
  double mean = 0;
  const auto each = [&](const auto& f) {
    for (Index k = 0; k < shape.n[2]; ++k)
      for (Index j = 0; j < shape.n[1]; ++j)
        for (Index i = 0; i < shape.n[0]; ++i) f(std::array<Index, 3>{i, j, k});
  };
  const auto at = [&](const std::array<Index, 3>& c) { return std::size_t(shape.at(c[0], c[1], c[2])); };
  each([&](const auto& c) { r[at(c)] = Real(uniform(3, 4, std::uint32_t(at(c))) - 0.5); });
  double volume = 0;
  each([&](const auto& c) {
    const double here = shape.width(0, c[0]) * shape.width(1, c[1]) * shape.width(2, c[2]);
    mean += here * double(r[at(c)]), volume += here;
  });
  mean /= volume;
  if (solver.singular()) each([&](const auto& c) { r[at(c)] = Real(double(r[at(c)]) - mean); });
  std::vector<Real> p = r;
  Real* const aligned =
      reinterpret_cast<Real*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
  solver.solve(p.data(), aligned);
  double largest = 0, pressure = 0;
  each([&](const auto& c) { pressure = std::max(pressure, std::abs(double(p[at(c)]))); });
  each([&](const auto& c) {
    double sum = 0;
    for (int a = 0; a < shape.dim; ++a) {
      for (const Index side : {-1, 1}) {
        auto other = c;
        const auto [i, sign] =
            beyond(ends[std::size_t(a)], c[std::size_t(a)] + side, shape.n[std::size_t(a)]);
        other[std::size_t(a)] = i;
        const Index face = c[std::size_t(a)] + (side > 0 ? 1 : 0);
        sum += (sign * double(p[at(other)]) - double(p[at(c)])) /
               (shape.distance(a, face) * shape.width(a, c[std::size_t(a)]));
      }
    }
    largest = std::max(largest, std::abs(sum - double(r[at(c)])));
  });
  EXPECT_LT(largest / (1 + pressure), gate) << shape.n[0] << " x " << shape.n[1] << " x " << shape.n[2];
}

TEST(PressureSolver, SolvesTheDifferenceEquationWithEveryKindOfSide) {
  for (const Ends x : kEnds) {
    for (const Ends y : kEnds) {
      for (const auto& [nx, ny] : {std::pair<Index, Index>{16, 16}, {20, 9}, {7, 5}, {96, 70}, {3, 2}}) {
        const Shape flat(2, {nx, ny, 1}, {0.5, 0.4, 1}, {}, 16);
        expect_solves<double>(flat, {x, y, Ends::periodic}, 1e-11);
        expect_solves<float>(flat, {x, y, Ends::periodic}, 1e-3);
      }
      for (const Ends z : kEnds)
        expect_solves<double>(Shape(3, {10, 6, 5}, {0.5, 0.4, 0.7}, {}, 16), {x, y, z}, 1e-12);
    }
  }
}

// Along every axis, and along several of them.
TEST(PressureSolver, SolvesTheDifferenceEquationOnStretchedGrids) {
  const auto stretched = [](int dim, std::array<Index, 3> n, const std::array<Ends, 3>& ends, unsigned axes) {
    std::array<bool, 3> wraps{};
    for (std::size_t a = 0; a < 3; ++a) wraps[a] = ends[a] == Ends::periodic;
    Shape shape(dim, n, {0.5, 0.4, 1}, wraps, 16);
    std::array<std::vector<double>, 3> lines;
    for (std::size_t a = 0; a < 3; ++a) {
      lines[a] = {0};
      for (Index i = 0; i < n[a]; ++i)
        lines[a].push_back(lines[a].back() +
                           shape.h[a] * (axes >> a & 1 ? 0.6 + 0.8 * uniform(7, 8, std::uint32_t(i)) : 1));
      shape.h[a] = lines[a].back() / double(n[a]);
    }
    shape.lines = std::make_shared<const std::array<std::vector<double>, 3>>(lines);
    return shape;
  };
  for (const Ends x : kEnds)
    for (const Ends y : kEnds) {
      const std::array<Ends, 3> ends = {x, y, x};
      for (const unsigned axes : {1U, 2U, 3U})
        for (const auto& [nx, ny] : {std::pair<Index, Index>{20, 9}, {7, 12}, {2, 3}}) {
          expect_solves<double>(stretched(2, {nx, ny, 1}, ends, axes), ends, 1e-11);
          expect_solves<float>(stretched(2, {nx, ny, 1}, ends, axes), ends, 2e-3);
        }
      for (const unsigned axes : {1U, 2U, 4U, 5U, 7U})
        expect_solves<double>(stretched(3, {10, 6, 5}, ends, axes), ends, 1e-12);
    }
}

TEST(PressureSolver, TheFreeMeanOfAClosedBoxIsZero) {
  const Shape shape(2, {8, 6, 1}, {1, 1, 1}, {}, 16);
  const PressureSolver<double> solver(shape, {Ends::even_even, Ends::even_even, Ends::periodic});
  AlignedBuffer<double> scratch(solver.scratch_numbers());
  std::vector<double> p(std::size_t(shape.size), 0.0);
  p[std::size_t(shape.at(3, 4, 0))] = 1;
  solver.solve(p.data(), scratch.data());
  double sum = 0;
  for (Index j = 0; j < 6; ++j)
    for (Index i = 0; i < 8; ++i) sum += p[std::size_t(shape.at(i, j, 0))];
  EXPECT_NEAR(sum, 0.0, 1e-13);
}

}  // namespace
}  // namespace costate::fluid
