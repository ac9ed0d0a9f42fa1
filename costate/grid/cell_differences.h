// Central differences of a field of cells, and their transposes.
//
//   c_x = (E - W) / (2 dx)   c_xx = (E - 2 c + W) / dx^2   lap_c = c_xx + c_yy        E, W: the neighbours
//
// A neighbour beyond a side is another cell, times 1 or -1: that at the other end, or the cell itself.
// Tests: tests/grid/cell_equation_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "costate/grid/cell_equation.h"

namespace costate::grid {

enum class Difference { value, x, y, xx, yy, lap };
inline constexpr const char* kSuffix[] = {"", "_x", "_y", "_xx", "_yy"};  // lap_ stands before the name

template <class Real>
class CellDifferences {
 public:
  CellDifferences(std::int64_t nx, std::int64_t ny, const std::array<CellEquation::Side, 4>& sides)
      : nx_(nx), ny_(ny) {
    const auto along = [&](std::int64_t n, std::size_t side, std::vector<Neighbours>& to) {
      using Side = CellEquation::Side;
      for (std::int64_t i = 0; i < n; ++i) {
        Neighbours at{i - 1, i + 1, 1, 1};
        if (i == 0)
          beyond(sides[side] == Side::periodic, sides[side] == Side::zero, n - 1, i, at.low, at.low_sign);
        if (i == n - 1)
          beyond(sides[side + 1] == Side::periodic, sides[side + 1] == Side::zero, 0, i, at.high,
                 at.high_sign);
        to.push_back(at);
      }
    };
    along(nx, 0, column_);
    along(ny, 2, row_);
  }

  // out = the difference of c, for a unit dx.
  void apply(Difference kind, const Real* c, Real* out) const {
    each(kind, [&](std::int64_t to, std::int64_t from, Real weight, bool first) {
      out[to] = (first ? Real(0) : out[to]) + weight * c[from];
    });
  }
  // c_bar += the transpose of out_bar.
  void transpose(Difference kind, const Real* out_bar, Real* c_bar) const {
    each(kind,
         [&](std::int64_t to, std::int64_t from, Real weight, bool) { c_bar[from] += weight * out_bar[to]; });
  }
  // The power of dx by which a difference is divided.
  static int order(Difference kind) {
    return kind == Difference::value ? 0 : kind == Difference::x || kind == Difference::y ? 1 : 2;
  }

 private:
  struct Neighbours {
    std::int64_t low, high;
    Real low_sign, high_sign;
  };
  static void beyond(bool wraps, bool odd, std::int64_t other, std::int64_t self, std::int64_t& place,
                     Real& sign) {
    place = wraps ? other : self;
    sign = odd ? Real(-1) : Real(1);
  }
  // f(cell, cell that it reads, weight, first one of the cell)
  template <class F>
  void each(Difference kind, const F& f) const {
    const bool first_order = order(kind) == 1, across = kind == Difference::x || kind == Difference::xx,
               both = kind == Difference::lap;
    for (std::int64_t j = 0; j < ny_; ++j) {
      for (std::int64_t i = 0; i < nx_; ++i) {
        const std::int64_t at = j * nx_ + i;
        const Neighbours &n = column_[std::size_t(i)], &m = row_[std::size_t(j)];
        if (kind == Difference::value) {
          f(at, at, Real(1), true);
        } else if (first_order) {
          f(at, across ? j * nx_ + n.high : m.high * nx_ + i,
            Real(0.5) * (across ? n.high_sign : m.high_sign), true);
          f(at, across ? j * nx_ + n.low : m.low * nx_ + i, Real(-0.5) * (across ? n.low_sign : m.low_sign),
            false);
        } else {
          f(at, at, both ? Real(-4) : Real(-2), true);
          if (across || both)
            f(at, j * nx_ + n.low, n.low_sign, false), f(at, j * nx_ + n.high, n.high_sign, false);
          if (!across || both)
            f(at, m.low * nx_ + i, m.low_sign, false), f(at, m.high * nx_ + i, m.high_sign, false);
        }
      }
    }
  }

  std::int64_t nx_, ny_;
  std::vector<Neighbours> column_, row_;
};

}  // namespace costate::grid
