// What a flow carries along, and what pushes it in return: temperature, salt, smoke.
//
//   dc/dt = -div(u c) + D lap c + source            in cells, on the speeds of the same stage
//   f_a  += buoyancy_a <c>_a                        on faces, < >_a the mean of two cells (Boussinesq)
//
//   Q_a = -u_a <c>_a + D d_a c  on faces            rate = sum_a d_a Q_a + source
//
// Central fluxes keep the sum of c and, where u has no divergence, of c^2. Beyond a side c goes on as inside,
// or has a given value on the side itself: 2 given - inside. Limited fluxes (carry/limited.h) carry it
// without ripples instead; the flux Q is diffusion alone then.
//
// Transpose, with rate_bar zero outside of the box and wrapped:
//
//   Q_a_bar = -d_a rate_bar        u_a_bar -= <c>_a Q_a_bar        D_bar += d_a c Q_a_bar
//   c_bar   = sum over the faces of a cell of Q_bar dQ/dc, and buoyancy / 2 times f_bar of its faces
//
// Tests: tests/fluid/scalar_test.cpp.
#pragma once

#include "costate/fluid/carry/limited.h"
#include "costate/fluid/grid/metric.h"
#include "costate/fluid/step/flow_scratch.h"

namespace costate::fluid {

template <class S, int Dim, bool Stretched>
struct Transport {
  using Real = value_t<S>;
  std::array<Index, 3> stride;
  Metric<S, Stretched> per;
  Speeds<Real> u;
  Plane<Real> c;
  S diffusivity;
  bool moves;    // by central fluxes; otherwise the flux is diffusion alone
  bool limited;  // by limited ones; neither: it is traced back (carry/trace.h)
  Limited<S, Dim> upwind;

  Transport(const Shape& shape, const Metric<S, Stretched>& metric, const Speeds<Real>& speeds,
            const Plane<Real>& carried, const S& d, Scalar::Carried how)
      : stride(shape.stride),
        per(metric),
        u(speeds),
        c(carried),
        diffusivity(d),
        moves(how == Scalar::Carried::central),
        limited(how == Scalar::Carried::limited),
        upwind(shape, speeds, carried, -1) {}
  COSTATE_INLINE S mean(std::size_t a, Index at) const {
    return Real(0.5) * (load<S>(c, at) + load<S>(c, at - stride[a]));
  }
  COSTATE_INLINE S slope(std::size_t a, Index at) const {
    return per.face(int(a), at) * (load<S>(c, at) - load<S>(c, at - stride[a]));
  }
  COSTATE_INLINE S flux(std::size_t a, Index at) const {
    if (!moves) return diffusivity * slope(a, at);
    return diffusivity * slope(a, at) - load<S>(u[a], at) * mean(a, at);
  }
  COSTATE_INLINE S rate(Index at) const {
    S sum = per.cell(0, at) * (flux(0, at + 1) - flux(0, at));
    for (std::size_t a = 1; a < Dim; ++a)
      sum = sum + per.cell(int(a), at) * (flux(a, at + stride[a]) - flux(a, at));
    if (limited) sum = sum + upwind.rate(at);
    return sum;
  }

  // --- transpose, given the plane of rate_bar --------------------------------------------------------------

  COSTATE_INLINE S flux_bar(const Plane<Real>& rate_bar, std::size_t a, Index at) const {
    const Index below = at - stride[a];
    return per.cell(int(a), below) * load<S>(rate_bar, below) - per.cell(int(a), at) * load<S>(rate_bar, at);
  }
  COSTATE_INLINE S speed_bar(const Plane<Real>& rate_bar, std::size_t a, Index at) const {
    if (limited) return upwind.speed_bar(rate_bar, int(a), at);
    if (!moves) return S(Real(0));
    return -(mean(a, at) * flux_bar(rate_bar, a, at));
  }
  COSTATE_INLINE S carried_bar(const Plane<Real>& rate_bar, Index at) const {
    S sum(Real(0));
    for (std::size_t a = 0; a < Dim; ++a) {
      const Index next = at + stride[a];
      const S low = flux_bar(rate_bar, a, at), high = flux_bar(rate_bar, a, next);
      sum = sum + diffusivity * (per.face(int(a), at) * low - per.face(int(a), next) * high);
      if (moves) sum = sum - Real(0.5) * (load<S>(u[a], at) * low + load<S>(u[a], next) * high);
    }
    if (limited) sum = sum + upwind.carried_bar(rate_bar, at);
    return sum;
  }
  COSTATE_INLINE S diffusivity_bar(const Plane<Real>& rate_bar, std::size_t a, Index at) const {
    return slope(a, at) * flux_bar(rate_bar, a, at);
  }
};

}  // namespace costate::fluid
