// Angles of three atoms and torsions of four.
//
//   harmonic_angle   U = k (theta - theta0)^2 / 2,  theta between a = x_0 - x_1 and b = x_2 - x_1, c = a x b:
//                    dtheta/da = a x c / (|a|^2 |c|),  dtheta/db = -b x c / (|b|^2 |c|)
//   torsion          U = k (1 + cos(periodicity phi - phase)),  phi between the planes of b1, b2 and
//                    of b2, b3, m = b1 x b2, n = b2 x b3 [1]:
//                    dphi/db1 = |b2| m / m^2,  dphi/db3 = |b2| n / n^2,
//                    dphi/db2 = -(b1.b2 m / m^2 + b3.b2 n / n^2) / |b2|
//
// Three atoms on a line have no such derivatives.
// [1] Blondel, Karplus: New formulation for derivatives of torsion angles ..., J. Comput. Chem. 17 (1996).
// Tests: tests/md/potential_test.cpp.
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/radial.h"

namespace costate::md {
namespace {

struct HarmonicAngle {
  static constexpr int kAtoms = 3, kParameters = 2;
  static constexpr std::array<Link, 2> kLinks = {{{1, 0}, {1, 2}}};
  explicit HarmonicAngle(const Sites&) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::atan2, costate::sqrt;
    const Point<T>&a = d[0], &b = d[1];
    const Point<T> c = cross_of(a, b);
    const T area = sqrt(square_of(c)), bend = atan2(area, dot(a, b)) - p[1], torque = p[0] * bend;
    d_bar[0] = (torque / (square_of(a) * area)) * cross_of(a, c);
    d_bar[1] = (-torque / (square_of(b) * area)) * cross_of(b, c);
    p_bar[0] = T(0.5) * bend * bend;
    p_bar[1] = -torque;
    return p[0] * p_bar[0];
  }
};

struct Torsion {
  static constexpr int kAtoms = 4, kParameters = 2;
  static constexpr std::array<Link, 3> kLinks = {{{0, 1}, {1, 2}, {2, 3}}};
  explicit Torsion(const Sites& sites) : periodicity(sites.options[0]) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::atan2, costate::sincos, costate::sqrt, costate::sin, costate::cos;
    using V = value_t<T>;
    const Point<T> m = cross_of(d[0], d[1]), n = cross_of(d[1], d[2]);
    const T axis = sqrt(square_of(d[1])), mm = square_of(m), nn = square_of(n);
    const T phi = atan2(axis * dot(d[0], n), dot(m, n)), angle = V(periodicity) * phi - p[1];
    const T sine = p[0] * sin(angle), torque = -(V(periodicity) * sine);  // dU/dphi
    d_bar[0] = (torque * axis / mm) * m;
    d_bar[2] = (torque * axis / nn) * n;
    d_bar[1] = (-torque / axis) * ((dot(d[0], d[1]) / mm) * m + (dot(d[2], d[1]) / nn) * n);
    p_bar[0] = 1 + cos(angle);
    p_bar[1] = sine;
    return p[0] * p_bar[0];
  }
  double periodicity;
};

}  // namespace

PotentialKind harmonic_angle_kind() {
  return local_kind<HarmonicAngle>("harmonic_angle", "k (theta - theta0)^2 / 2",
                                   {{"k", {1}}, {"theta0", {1.9106332362490186}, "rad"}});
}
PotentialKind torsion_kind() {
  return local_kind<Torsion>("torsion", "k (1 + cos(periodicity phi - phase))",
                             {{"k", {1}}, {"phase", {0}, "rad"}}, {{"periodicity", 3}}, 3);
}

}  // namespace costate::md
