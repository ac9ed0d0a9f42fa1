// A hinge that creases: elastic up to a curvature, and what it bends beyond that stays.
//
//   o = theta - theta_rest - crease        how far the hinge is open, and Y = yield h how far it may be:
//                                          yield is a curvature [1/m], h = l/c the width over which the
//                                          hinge bends (c = 3 l^2/(A0 + A1), l its edge)
//   g = o where |o| <= Y, else Y sign(o)   what is elastic: the moment is 2 bending c g
//   crease' = crease + o - g               at the end of the step
//   W = bending c (o^2, or 2 Y |o| - Y^2)  the least of elastic energy and dissipated work over crease'
//
// This is perfect plasticity by return mapping [1] as the minimum of an incremental potential [2], so a step
// with creases is a minimum too, and its matrix is symmetric. g has a corner at |o| = Y, as friction has.
// [1] Simo, Hughes: Computational Inelasticity, section 1.4. [2] Ortiz, Stainier: The variational formulation
// of viscoplastic constitutive updates, CMAME 171 (1999). The yield curvature of sheets: Narain, Pfaff,
// O'Brien: Folding and crumpling adaptive sheets, ACM TOG 32 (2013). Tests: tests/soft/crease_test.cpp.
#pragma once

#include <cmath>

namespace costate::soft {

struct Yielding {
  double open;         // g
  double energy;       // W/(bending c)
  double elastic = 1;  // dg/do: 1, or 0 where it yields
  double side = 0;     // dg/dY: 0, or where it yields the sign of o
};
inline Yielding yielding(double o, double most) {
  if (!(std::abs(o) > most)) return {o, o * o};
  const double side = std::copysign(1.0, o);
  return {side * most, most * (2 * std::abs(o) - most), 0, side};
}

}  // namespace costate::soft
