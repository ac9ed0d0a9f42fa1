// Numbers carried by limited upwind fluxes (van Leer [1, 2]), and their transpose: of second order where they
// are smooth, and without ripples at fronts.
//
//   rate = -sum_b d_b (w_b c^_b)        w_b the speed through a face across b, c^_b what is carried through
//   it
//   c^ = U + slope(U - F, D - U) / 2    U the number upstream of the face, D downstream, F far upstream
//   slope(a, b) = 2 a b / (a + b) where a and b have the same sign, otherwise 0
//
// where nothing flows c^ is the mean of what would come from either side: there the flux has a corner, and
// its derivative is the mean of both slopes. In a flow without divergence, with steps of which no number is
// carried further than half a cell in all (the Courant number of each SSP stage), a number stays between
// those around it [2]. Other corners are where a or b changes its sign: derivatives are exact between those.
// A plain is at such a corner everywhere: differences below kNoise of the numbers count as none, and their
// slope is (a + b) / 2, which has no corner.
//
// The face f of an axis b lies between the number at f - stride[b] and the one at f. c is a component of the
// speed, whose faces move with the mean of two speeds, or a scalar in cells (component -1). On a side the
// line through the two numbers before it is carried on (grid/sides.h), so that through it goes the given
// value.
//
//   transpose, given rate_bar, zero outside of the box and wrapped:
//     Q_bar(f) = (rate_bar(f) - rate_bar(f - b)) / h_b        Q = w c^
//     c_bar    = sum over the four faces that read it of w Q_bar dc^/dc       w_bar = c^ Q_bar
//
// [1] van Leer, J. Comput. Phys. 14 (1974), eq. 67.  [2] Sweby, SIAM J. Numer. Anal. 21 (1984).
// Tests: tests/fluid/limited_test.cpp, tests/contract.
#pragma once

#include "costate/fluid/grid/sides.h"

namespace costate::fluid {

template <class S, int Dim>
struct Limited {
  using Real = value_t<S>;
  static constexpr Real kNoise = Real(sizeof(Real) == 8 ? 1e-12 : 1e-5);

  std::array<Index, 3> stride;
  std::array<Real, 3> per_h;
  Speeds<Real> u;
  Plane<Real> c;
  int component;  // -1: in cells

  Limited(const Shape& shape, const Speeds<Real>& speeds, const Plane<Real>& carried, int of)
      : stride(shape.stride), u(speeds), c(carried), component(of) {
    for (std::size_t a = 0; a < 3; ++a) per_h[a] = Real(1 / shape.h[a]);
  }

  COSTATE_INLINE S speed(int b, Index f) const {
    const Plane<Real>& of = u[std::size_t(b)];
    if (component < 0) return load<S>(of, f);
    return Real(0.5) * (load<S>(of, f) + load<S>(of, f - stride[std::size_t(component)]));
  }

  // --- fluxes ----------------------------------------------------------------------------------------------

  COSTATE_INLINE S carried(int b, Index f) const {
    const S w = speed(b, f);
    return upwind(w, [&](const Along& along) {
      const Around x = around(b, f, along);
      return x.U + Real(0.5) * slope(x.U - x.F, x.D - x.U, x.noise).value;
    });
  }
  COSTATE_INLINE S rate(Index at) const {
    S sum(Real(0));
    for (int b = 0; b < Dim; ++b) {
      const Index up = at + stride[std::size_t(b)];
      sum = sum + per_h[std::size_t(b)] * (speed(b, at) * carried(b, at) - speed(b, up) * carried(b, up));
    }
    return sum;
  }

  // --- transpose, given the plane of rate_bar --------------------------------------------------------------

  COSTATE_INLINE S flux_bar(const Plane<Real>& rate_bar, int b, Index f) const {
    return per_h[std::size_t(b)] * (load<S>(rate_bar, f) - load<S>(rate_bar, f - stride[std::size_t(b)]));
  }
  COSTATE_INLINE S carried_bar(const Plane<Real>& rate_bar, Index at) const {
    S sum(Real(0));
    for (int b = 0; b < Dim; ++b)
      for (int k = -2; k < 2; ++k) {
        const Index f = at - k * stride[std::size_t(b)];
        sum = sum + weight(b, f, k) * (speed(b, f) * flux_bar(rate_bar, b, f));
      }
    return sum;
  }
  // Of component b of the speeds.
  COSTATE_INLINE S speed_bar(const Plane<Real>& rate_bar, int b, Index at) const {
    const S here = carried(b, at) * flux_bar(rate_bar, b, at);
    if (component < 0) return here;
    const Index next = at + stride[std::size_t(component)];
    return Real(0.5) * (here + carried(b, next) * flux_bar(rate_bar, b, next));
  }

 private:
  using Along = decltype(S(Real(0)) > S(Real(0)));
  struct Around {
    S F, U, D, noise;
  };
  struct Slope {
    S value, by_a, by_b;
  };
  COSTATE_INLINE S number(int b, Index f, int k) const { return load<S>(c, f + k * stride[std::size_t(b)]); }
  COSTATE_INLINE Around around(int b, Index f, const Along& along) const {
    const S left = number(b, f, -1), right = number(b, f, 0);
    return {select(along, number(b, f, -2), number(b, f, 1)), select(along, left, right),
            select(along, right, left), kNoise * (abs(left) + abs(right))};
  }
  // of(whether the flow goes along the axis); where nothing flows the mean of both ways. Whole rows of faces
  // lie on walls, so most packs need one of them.
  template <class F>
  static COSTATE_INLINE S upwind(const S& w, const F& of) {
    const Along along = w > S(Real(0)), still = w == S(Real(0));
    const S one = of(along);
    if (!any(still)) return one;
    return select(still, Real(0.5) * (one + of(!along)), one);
  }
  static COSTATE_INLINE Slope slope(const S& a, const S& b, const S& noise) {
    const S zero(Real(0)), half(Real(0.5));
    const auto agree = a * b > zero, plain = abs(a) + abs(b) <= noise;
    const S t = b / select(agree, a + b, S(Real(1))), rest = S(Real(1)) - t;
    const auto chosen = [&](const S& inside, const S& flat) {
      return select(plain, flat, select(agree, inside, zero));
    };
    return {chosen(Real(2) * a * t, half * (a + b)), chosen(Real(2) * t * t, half),
            chosen(Real(2) * rest * rest, half)};
  }
  // dc^/dc of the number k places from the face f.
  COSTATE_INLINE S weight(int b, Index f, int k) const {
    return upwind(speed(b, f), [&](const Along& along) {
      const S zero(Real(0)), half(Real(0.5));
      const Around x = around(b, f, along);
      const Slope s = slope(x.U - x.F, x.D - x.U, x.noise);
      const S far = -(half * s.by_a), upstream = S(Real(1)) + half * (s.by_a - s.by_b),
              downstream = half * s.by_b;
      switch (k) {
        case -2:
          return select(along, far, zero);
        case -1:
          return select(along, upstream, downstream);
        case 0:
          return select(along, downstream, upstream);
        default:
          return select(along, zero, far);
      }
    });
  }
};

}  // namespace costate::fluid
