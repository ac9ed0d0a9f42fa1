// The signed distances of shape.h on any scalar of one point, so that Dual gives the normal and Dual of Dual
// its derivative. AnyShape and AnyLattice are Shape and DistanceLattice, or what a GPU has in their places
// (cuda/mpm/points_bodies.h).
#pragma once

#include "costate/ad/dual.h"
#include "costate/mpm/bodies/shape.h"

namespace costate::mpm {

namespace shape_detail {

// sqrt(a^2 + b^2) with derivative 0 at the origin.
template <class S>
COSTATE_HD S length(const S& a, const S& b) {
  const S square = a * a + b * b;
  return square > S(0) ? S(sqrt(square)) : S(0);
}
template <class S>
COSTATE_HD S larger(const S& a, const S& b) {
  return a < b ? b : a;
}
template <class S>
COSTATE_HD S smaller(const S& a, const S& b) {
  return b < a ? b : a;
}
// Distance to a rectangle |a| < 0, |b| < 0 given how far a point is beyond each pair of sides.
template <class S>
COSTATE_HD S corner(const S& a, const S& b) {
  const S zero(0);
  return length(larger(a, zero), larger(b, zero)) + smaller(larger(a, b), zero);
}
template <class S>
COSTATE_HD S to_segment(const S& x, const S& y, const std::array<double, 2>& p,
                        const std::array<double, 2>& q) {
  using T = value_t<S>;
  const T ex = T(q[0] - p[0]), ey = T(q[1] - p[1]), square = ex * ex + ey * ey;
  const S dx = x - T(p[0]), dy = y - T(p[1]);
  S along = square > 0 ? S((dx * ex + dy * ey) / square) : S(0);
  along = smaller(larger(along, S(0)), S(1));
  return length(S(dx - along * ex), S(dy - along * ey));
}

template <class AnyLattice, class S>
COSTATE_HD S sampled(const AnyLattice& lattice, const S (&x)[3]) {
  using T = value_t<S>;
  int cell[3];
  S part[3], outside(0);
  for (int a = 0; a < 3; ++a) {
    const int last = lattice.points[a] - 1;
    const S at = (x[a] - T(lattice.origin[a])) * T(1 / lattice.spacing);
    if (last == 0) {  // a plane: the coordinate does not count
      cell[a] = 0;
      part[a] = S(0);
      continue;
    }
    const S inside = smaller(larger(at, S(0)), S(T(last)));
    outside = outside + (at - inside) * (at - inside);
    cell[a] = std::min(static_cast<int>(primal(inside)), last - 1);
    part[a] = inside - T(cell[a]);
  }
  S phi(0);
  for (int corner = 0; corner < 8; ++corner) {
    std::int64_t at = 0;
    S weight(1);
    bool exists = true;
    for (int a = 0; a < 3; ++a) {
      const int step = corner >> a & 1, points = lattice.points[a];
      exists &= step == 0 || points > 1;
      at = at * points + cell[a] + (points > 1 ? step : 0);
      weight = weight * (step ? part[a] : S(S(1) - part[a]));
    }
    if (exists) phi = phi + weight * T(lattice.phi[at]);
  }
  return outside > S(0) ? S(phi + T(lattice.spacing) * sqrt(outside)) : phi;
}

}  // namespace shape_detail

template <class AnyShape, class S>
COSTATE_HD S distance(const AnyShape& shape, const S (&x)[3], int dimension) {
  using namespace shape_detail;
  using T = value_t<S>;
  const T a = T(shape.size[0]), b = T(shape.size[1]), c = T(shape.size[2]);
  switch (shape.kind) {
    case ShapeKind::sphere:
      return length(x[0], length(x[1], x[2])) - a;
    case ShapeKind::box: {
      const S qx = abs(x[0]) - a, qy = abs(x[1]) - b;
      if (dimension == 2) return corner(qx, qy);
      const S qz = abs(x[2]) - c, zero(0);
      return length(larger(qx, zero), length(larger(qy, zero), larger(qz, zero))) +
             smaller(larger(qx, larger(qy, qz)), zero);
    }
    case ShapeKind::capsule: {
      const S y = x[1] - smaller(larger(x[1], S(-b)), S(b));
      return length(length(x[0], x[2]), y) - a;
    }
    case ShapeKind::cylinder:
      return corner(S(length(x[0], x[2]) - a), S(abs(x[1]) - b));
    case ShapeKind::plane:
      return x[1];
    case ShapeKind::revolution: {
      // Which piece is nearest is found with plain numbers; only that one is differentiated.
      const auto r = primal(length(x[0], x[2])), y = primal(x[1]);
      std::size_t nearest = 0;
      auto least = to_segment(r, y, shape.profile[0], shape.profile[1]);
      for (std::size_t i = 1; i + 1 < shape.profile.size(); ++i) {
        const auto d = to_segment(r, y, shape.profile[i], shape.profile[i + 1]);
        if (d < least) least = d, nearest = i;
      }
      return to_segment(length(x[0], x[2]), x[1], shape.profile[nearest], shape.profile[nearest + 1]) -
             T(0.5) * a;
    }
    case ShapeKind::sampled:
      return sampled(*shape.lattice, x);
    default:
      return S(0);  // check() refuses the others
  }
}

}  // namespace costate::mpm
