// Cells (solids, C = 3, and membranes, C = 2) of one part: elasticity, Kelvin-Voigt viscosity, mass.
//
//   J = sum_a X_a dN_a       of a membrane: in an orthonormal frame Q of its rest plane, J = Q' sum_a X_a
// dN_a
//   g_a = dN_a J^-1, vol = weight det J (membranes: times the thickness)
//   F = sum_a z_a g_a', Fn = sum_a x_a g_a', B = sum_a (z - w)_a g_a'
//   r_a = sum over points  vol (P(F) + V) g_a,      V = viscosity rate Fn sym(Fn' B)
//   m_a = share_a density sum of weight det J
//
// Viscosity resists the rate of Green's strain, measured with the Fn of the start of the step: its matrix is
// symmetric and positive, and rotations cost nothing to first order.
//
// Transpose: for mu, with G = sum_a mu_a g_a', mu . r = vol (P + V) : G, and
//   F_bar = vol A(F) G,  B_bar = vol V(G),  Fn_bar = vol viscosity rate (B sym(Fn'G) + G sym(Fn'B)),
//   G_bar = vol (P + V);  each Y in {F, Fn, B, G} depends on J by dY = -Y dJ J^-1, the volume by
//   d vol = vol tr(J^-1 dJ):   J_bar = (vol vol_bar I - sum_Y Y' Y_bar) J^-T,   X_a_bar = Q J_bar dN_a
// (the last for membranes because all of them are isotropic: a turn of the frame changes nothing).
// [1] Bonet, Wood: Nonlinear Continuum Mechanics for Finite Element Analysis, 2nd ed., chapter 9.
// Tests: tests/soft/soft_test.cpp, law_test.cpp.
#pragma once

#include <array>
#include <memory>

#include "costate/soft/elements/term.h"
#include "costate/soft/laws/law.h"
#include "costate/soft/soft_model.h"

namespace costate::soft {

// Where the numbers of a part lie among the parameters.
struct CellPlaces {
  std::int64_t rest = 0;
  std::vector<std::int64_t> numbers = {};  // of the law: that of the first cell
  std::int64_t stride = 0;                 // to that of the next cell; 0: all share one
  std::int64_t density = 0, viscosity = 0, thickness = -1;
  std::array<double, 3> warp = {1, 0, 0};
  int driven = -1;            // number of the law that a control adds to; -1: none
  std::int64_t control = -1;  // which control that is
};

std::unique_ptr<Term> solid_term(const Part& part, const SolidLaw& law, const CellPlaces& places);
std::unique_ptr<Term> membrane_term(const Part& part, const MembraneLaw& law, const CellPlaces& places);

}  // namespace costate::soft
