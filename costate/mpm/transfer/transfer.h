// Transfers of one particle between itself and the rows of its stencil. Offsets d are in cells; a row is four
// nodes of the last axis.
//
//   scatter      node_i += w_i (Q + A d_i)
//   gather       V = sum w_i node_i,  B = sum w_i node_i d_i'
//
// To the grid Q = (m v, m), A = dx (m C - dt V D^-1 tau); to the particles V = v+ and C+ = (D^-1/dx) B. The
// transpose of the gather is the scatter of Q = V_bar, A = B_bar; the transpose of the scatter is the gather
// of the nodes' cotangents n_i. What remains is the position, through w_i and d_i:
//
//   X_bar = sum_i slope(w_i) (g_i.(V_bar + B_bar d_i) + n_i.(Q + A d_i)) - B_bar' V - A' (sum w_i n_i)
//
// gather_vjp does the last two at once: it walks the velocities g and the cotangents n side by side. Weights
// factor over the axes, so sums run row by row, then plane by plane, and the last axis' weights come in once,
// at the end.
//
// A particle's numbers travel in a record of quads (four numbers: components x, y, z and mass).
// Tests: tests/mpm/transfer_test.cpp.
#pragma once

#include "costate/mpm/transfer/node_row.h"

namespace costate::mpm {

// Places in a record. Columns of A and B are quads: A d = A_x d_x + A_y d_y + A_z d_z. "Last" is the last
// axis, along rows.
struct Record {
  enum : int {
    A = 0,  // three columns; the first axis first
    Q = 12,
    w_last = 16,    // 4 weights
    d_last = 20,    // 4 offsets
    w_first = 24,   // of the first axis
    w_second = 28,  // of the second; 3-D only
    wd_first = 32,  // weight times offset
    wd_second = 36,
    B = 40,  // cotangent of B, columns as A
    V = 52,  // cotangent of V
    slope_last = 56,
    slope_first = 60,
    slope_second = 64,
    d_first = 68,
    d_second = 72,
    size = 80  // whole cache lines
  };
};
// Places in the answer of a gather, and of gather_vjp.
struct Gathered {
  enum : int {
    B = 0,   // three columns; in 2-D the second is not used
    V = 12,  // gather: V.   gather_vjp: sum w_i n_i, the cotangent of Q
    // gather_vjp: the first sum of X_bar, for first, second and last axis, each as four parts to be added
    X = 16,
    velocity = 28,  // gather_vjp: sum w_i g_i
    size = 32
  };
};
// Where the column of an axis, and its sum of X_bar, stand: the last axis is always third.
template <int D>
constexpr int column_of(int axis) {
  return axis == D - 1 ? 2 : axis;
}

struct RowStrides {
  std::int64_t first, second;  // from a row to the next along the first and the second axis, in numbers
};

template <class Mode, int D, int kTaps>
struct Transfer {
  using Real = typename Mode::Real;
  using Number = typename Mode::Number;
  using Row = typename Mode::Row;
  using In = Slice<const Real>;
  using Out = Slice<Real>;

  // The rows of one stencil, held in registers while the particles of a cell go by.
  struct Rows {
    Row e[D == 3 ? kTaps * kTaps : kTaps];

    static COSTATE_INLINE Rows load(In grid, const RowStrides& strides) {
      Rows r;
      for (int i = 0; i < kTaps; ++i) {
        if constexpr (D == 2)
          r.e[i] = load_row<Mode>(grid, i * strides.first);
        else
          for (int j = 0; j < kTaps; ++j)
            r.e[i * kTaps + j] = load_row<Mode>(grid, i * strides.first + j * strides.second);
      }
      return r;
    }
    static COSTATE_INLINE Rows zero() {
      Rows r;
      for (Row& row : r.e) row = Row(Real(0));
      return r;
    }
    // The grid is read here and not before the particles: by now what the cell before has stored, which
    // overlaps this, has reached the cache.
    COSTATE_INLINE void add_to(Out grid, const RowStrides& strides) const {
      const auto add = [&](std::int64_t at, const Row& row) {
        store_row<Mode>(grid, at, load_row<Mode>(In{grid.v, grid.d}, at) + row);
      };
      for (int i = 0; i < kTaps; ++i) {
        if constexpr (D == 2)
          add(i * strides.first, e[i]);
        else
          for (int j = 0; j < kTaps; ++j) add(i * strides.first + j * strides.second, e[i * kTaps + j]);
      }
    }
  };

  static COSTATE_INLINE void scatter(In r, int A, int Q, Rows& rows) {
    const Row w = expand_row<Mode>(r, Record::w_last), d = expand_row<Mode>(r, Record::d_last);
    const Row along = w * (quad_row<Mode>(r, Q) + quad_row<Mode>(r, A + 4 * (D - 1)) * d);
    const Row across_first = w * quad_row<Mode>(r, A);
    if constexpr (D == 2) {
      for (int i = 0; i < kTaps; ++i) {
        rows.e[i] += splat_row<Mode>(number_at<Mode>(r, Record::w_first + i)) * along;
        rows.e[i] += splat_row<Mode>(number_at<Mode>(r, Record::wd_first + i)) * across_first;
      }
    } else {
      const Row across_second = w * quad_row<Mode>(r, A + 4);
      for (int j = 0; j < kTaps; ++j) {
        const Row w1 = splat_row<Mode>(number_at<Mode>(r, Record::w_second + j));
        const Row wd1 = splat_row<Mode>(number_at<Mode>(r, Record::wd_second + j));
        const Row column = w1 * along + wd1 * across_second, slope = w1 * across_first;
        for (int i = 0; i < kTaps; ++i) {
          Row& row = rows.e[i * kTaps + j];
          row += splat_row<Mode>(number_at<Mode>(r, Record::w_first + i)) * column;
          row += splat_row<Mode>(number_at<Mode>(r, Record::wd_first + i)) * slope;
        }
      }
    }
  }

  static COSTATE_INLINE void gather(In r, const Rows& rows, Out out) {
    Row sum(Real(0)), first(Real(0)), second(Real(0));
    for (int i = 0; i < kTaps; ++i) {
      const Row w0 = splat_row<Mode>(number_at<Mode>(r, Record::w_first + i));
      const Row wd0 = splat_row<Mode>(number_at<Mode>(r, Record::wd_first + i));
      Row plane;
      if constexpr (D == 2) {
        plane = rows.e[i];
      } else {
        Row plane_second(Real(0));
        plane = Row(Real(0));
        for (int j = 0; j < kTaps; ++j) {
          plane += splat_row<Mode>(number_at<Mode>(r, Record::w_second + j)) * rows.e[i * kTaps + j];
          plane_second += splat_row<Mode>(number_at<Mode>(r, Record::wd_second + j)) * rows.e[i * kTaps + j];
        }
        second += w0 * plane_second;
      }
      sum += w0 * plane;
      first += wd0 * plane;
    }
    const Row w = expand_row<Mode>(r, Record::w_last), d = expand_row<Mode>(r, Record::d_last);
    const Row weighted = w * sum;
    store_folds<Mode>(out, Gathered::B, w * first, w * second, weighted * d, weighted);
  }

  // velocity: g; cotangent: n. Values only.
  static COSTATE_INLINE void gather_vjp(const Real* r, const Real* velocity, const Real* cotangent,
                                        const RowStrides& strides, Real* out) {
    const In g_grid{velocity, nullptr}, n_grid{cotangent, nullptr};
    const Out to{out, nullptr};
    const Row w = Row::expand(r + Record::w_last), d = Row::expand(r + Record::d_last);
    const Row from_g = Row::quad(r + Record::V) + Row::quad(r + Record::B + 4 * (D - 1)) * d;
    const Row from_n = Row::quad(r + Record::Q) + Row::quad(r + Record::A + 4 * (D - 1)) * d;
    const Row g_first = Row::quad(r + Record::B), n_first = Row::quad(r + Record::A);
    Row power(Real(0)), power_first(Real(0)), power_second(Real(0));  // of s_i = g.(V_ + B_ d) + n.(Q + A d)
    Row n_sum(Real(0)), n_sum_first(Real(0)), n_sum_second(Real(0)), g_sum(Real(0));
    for (int i = 0; i < kTaps; ++i) {
      const Real w0 = r[Record::w_first + i], slope0 = r[Record::slope_first + i],
                 d0 = r[Record::d_first + i];
      const Row field_g = from_g + g_first * Row(d0), field_n = from_n + n_first * Row(d0);
      Row s, n, g;
      if constexpr (D == 2) {
        g = load_row<Mode>(g_grid, i * strides.first);
        n = load_row<Mode>(n_grid, i * strides.first);
        s = g * field_g + n * field_n;
      } else {
        const Row g_second = Row::quad(r + Record::B + 4), n_second = Row::quad(r + Record::A + 4);
        Row s_second(Real(0)), n_plane_second(Real(0));
        s = n = g = Row(Real(0));
        for (int j = 0; j < kTaps; ++j) {
          const Real w1 = r[Record::w_second + j], slope1 = r[Record::slope_second + j],
                     d1 = r[Record::d_second + j];
          const std::int64_t at = i * strides.first + j * strides.second;
          const Row gj = load_row<Mode>(g_grid, at), nj = load_row<Mode>(n_grid, at);
          const Row sj = gj * (field_g + g_second * Row(d1)) + nj * (field_n + n_second * Row(d1));
          s += Row(w1) * sj;
          s_second += Row(slope1) * sj;
          n += Row(w1) * nj;
          n_plane_second += Row(r[Record::wd_second + j]) * nj;
          g += Row(w1) * gj;
        }
        power_second += Row(w0) * s_second;
        n_sum_second += Row(w0) * n_plane_second;
      }
      power += Row(w0) * s;
      power_first += Row(slope0) * s;
      n_sum += Row(w0) * n;
      n_sum_first += Row(r[Record::wd_first + i]) * n;
      g_sum += Row(w0) * g;
    }
    const Row weighted = w * n_sum;
    store_folds<Mode>(to, Gathered::B, w * n_sum_first, w * n_sum_second, weighted * d, weighted);
    store_folds<Mode>(to, Gathered::X, w * power_first, w * power_second,
                      Row::expand(r + Record::slope_last) * power, w * g_sum);
  }
};

}  // namespace costate::mpm
