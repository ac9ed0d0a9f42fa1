// The momentum flux of the flow and the force that it makes, with their transposes.
//
//   T_aa = -m^2 + 2 nu d_a u_a                               in cells,  m the mean of u_a over two faces
//   T_ab = -<u_a>_b <u_b>_a + nu (d_b u_a + d_a u_b)         on edges,  < >_b the mean of two along b
//   F_a  = d_a T_aa + sum_b d_b T_ab                         on faces,  b != a
//
// d is the difference of two neighbours over the width h, nu on an edge the mean of the cells around it. T is
// symmetric, so an edge pushes two components with one number. Index `at` of an edge (a, b) is that of the
// cell whose corner towards lower a and b it is.
//
// Transpose. Given F_bar, zero where no face is free:
//
//   T_aa_bar = -d_a F_a_bar     T_ab_bar = -(d_b F_a_bar + d_a F_b_bar)       (differences the other way)
//   u_a_bar  = sum over the two cells and the edges that read u_a of T_bar dT/du_a
//
// every number gathers what it caused. Where speeds are traced back (carry/trace.h), `Inertia` is false and
// T has no products of speeds.
//
// On a `Stretched` grid (grid/metric.h) what carries u_a across an edge is the mean of u_b weighted by width,
// which is what flows into the space of u_a; what is carried is the plain mean, which keeps the energy [1].
// T_ab then pushes u_a with one number and u_b with another:
//
//   T_ab = -<u_a>_b [u_b]_a + nu (...)        [u_b]_a = low u_b(below) + (1 - low) u_b
//
// [1] Verstappen, Veldman, J. Comput. Phys. 187 (2003).
// Tests: tests/fluid/flow_test.cpp, stretched_test.cpp, tests/contract.
#pragma once

#include "costate/fluid/grid/edges.h"
#include "costate/fluid/grid/metric.h"

namespace costate::fluid {

template <class S, int Dim, bool Inertia, bool Stretched>
struct Stress {
  using Real = value_t<S>;
  std::array<Index, 3> stride;
  Metric<S, Stretched> per;
  Speeds<Real> u;
  Plane<Real> nu;                    // in cells
  std::array<Plane<Real>, 3> edges;  // nu on edges

  // The viscosity of all cells, where they have the same: four fields less to read.
  bool uniform = false;
  S everywhere_nu;

  Stress(const Shape& shape, const Metric<S, Stretched>& metric, const Speeds<Real>& speeds,
         const Plane<Real>& viscosity, const std::array<Plane<Real>, 3>& on_edges, bool same)
      : stride(shape.stride),
        per(metric),
        u(speeds),
        nu(viscosity),
        edges(on_edges),
        uniform(same),
        everywhere_nu(everywhere<S>(load<Single<S>>(viscosity, shape.at(0, 0, 0)))) {}
  COSTATE_INLINE Index s(int a) const { return stride[std::size_t(a)]; }
  COSTATE_INLINE S speed(int a, Index at) const { return load<S>(u[std::size_t(a)], at); }

  // In a cell, and on the edge (a, b).
  COSTATE_INLINE S mean(int a, Index at) const { return Real(0.5) * (speed(a, at) + speed(a, at + s(a))); }
  COSTATE_INLINE S stretch(int a, Index at) const {
    return per.cell(a, at) * (speed(a, at + s(a)) - speed(a, at));
  }
  COSTATE_INLINE S mean(int a, int b, Index at) const {
    return Real(0.5) * (speed(a, at - s(b)) + speed(a, at));
  }
  // What carries component a across the edge: u_b.
  COSTATE_INLINE S carrier(int a, int b, Index at) const {
    if constexpr (!Stretched) {
      return mean(b, a, at);
    } else {
      const S below = speed(b, at - s(a)), above = speed(b, at);
      return above + per.low(a, at) * (below - above);
    }
  }
  COSTATE_INLINE S shear(int a, int b, Index at) const {
    return per.face(b, at) * (speed(a, at) - speed(a, at - s(b))) +
           per.face(a, at) * (speed(b, at) - speed(b, at - s(a)));
  }
  COSTATE_INLINE S viscosity(int a, int b, Index at) const {
    return uniform ? everywhere_nu : load<S>(edges[std::size_t(edge(a, b))], at);
  }

  COSTATE_INLINE S viscosity(Index at) const { return uniform ? everywhere_nu : load<S>(nu, at); }

  COSTATE_INLINE S normal(int a, Index at) const {
    if constexpr (!Inertia) return Real(2) * viscosity(at) * stretch(a, at);
    const S m = mean(a, at);
    return Real(2) * viscosity(at) * stretch(a, at) - m * m;
  }
  COSTATE_INLINE S tangential(int a, int b, Index at) const {
    if constexpr (!Inertia) return viscosity(a, b, at) * shear(a, b, at);
    return viscosity(a, b, at) * shear(a, b, at) - mean(a, b, at) * carrier(a, b, at);
  }
  COSTATE_INLINE S force(int a, Index at) const {
    S f = per.face(a, at) * (normal(a, at) - normal(a, at - s(a)));
    for (int b = 0; b < Dim; ++b)
      if (b != a) f = f + per.cell(b, at) * (tangential(a, b, at + s(b)) - tangential(a, b, at));
    return f;
  }
};

template <class S, int Dim, bool Inertia, bool Stretched>
struct StressTranspose {
  using Real = value_t<S>;
  const Stress<S, Dim, Inertia, Stretched>& of;
  Speeds<Real> force_bar;

  COSTATE_INLINE S bar(int a, Index at) const { return load<S>(force_bar[std::size_t(a)], at); }
  COSTATE_INLINE Index s(int a) const { return of.s(a); }

  COSTATE_INLINE S normal_bar(int a, Index at) const {
    return of.per.face(a, at) * bar(a, at) - of.per.face(a, at + s(a)) * bar(a, at + s(a));
  }
  // Of T_ab as it pushes u_a, and of both.
  COSTATE_INLINE S pushing_bar(int a, int b, Index at) const {
    return of.per.cell(b, at - s(b)) * bar(a, at - s(b)) - of.per.cell(b, at) * bar(a, at);
  }
  COSTATE_INLINE S tangential_bar(int a, int b, Index at) const {
    return pushing_bar(a, b, at) + pushing_bar(b, a, at);
  }
  COSTATE_INLINE S speed_bar(int a, Index at) const {
    const S below = normal_bar(a, at - s(a)), above = normal_bar(a, at);
    S sum = Real(2) * (of.per.cell(a, at - s(a)) * of.viscosity(at - s(a)) * below -
                       of.per.cell(a, at) * of.viscosity(at) * above);
    if constexpr (Inertia) sum = sum - (of.mean(a, at - s(a)) * below + of.mean(a, at) * above);
    for (int b = 0; b < Dim; ++b) {
      if (b == a) continue;
      const Index up = at + s(b);
      const S low = tangential_bar(a, b, at), high = tangential_bar(a, b, up);
      sum = sum + (of.per.face(b, at) * of.viscosity(a, b, at) * low -
                   of.per.face(b, up) * of.viscosity(a, b, up) * high);
      if constexpr (Inertia) sum = sum - carried_bar(a, b, at, low, high);
    }
    return sum;
  }
  COSTATE_INLINE S cell_viscosity_bar(Index at) const {
    S sum = normal_bar(0, at) * of.stretch(0, at);
    for (int a = 1; a < Dim; ++a) sum = sum + normal_bar(a, at) * of.stretch(a, at);
    return Real(2) * sum;
  }
  COSTATE_INLINE S edge_viscosity_bar(int a, int b, Index at) const {
    return tangential_bar(a, b, at) * of.shear(a, b, at);
  }

 private:
  // What u_a gets through the products of speeds on the edges below and above it: carried, and carrying u_b.
  COSTATE_INLINE S carried_bar(int a, int b, Index at, const S& low, const S& high) const {
    const Index up = at + s(b);
    if constexpr (!Stretched) {
      return Real(0.5) * (of.mean(b, a, at) * low + of.mean(b, a, up) * high);
    } else {
      const S carried =
          of.carrier(a, b, at) * pushing_bar(a, b, at) + of.carrier(a, b, up) * pushing_bar(a, b, up);
      const S here = of.mean(b, a, at) * pushing_bar(b, a, at);
      return Real(0.5) * carried + (here - of.per.low(b, at) * here) +
             of.per.low(b, up) * (of.mean(b, a, up) * pushing_bar(b, a, up));
    }
  }
};

}  // namespace costate::fluid
