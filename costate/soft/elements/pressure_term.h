// Pressure inside a closed surface, which pushes it outwards along its normals.
//
//   W = -p V(z),  V = sum over triangles of z0 . (z1 x z2)/6
//   grad_0 W = -p/6 z1 x z2, and so on around;   d(grad_0)/dz1 = p/6 [z2]x,   d(grad_0)/dz2 = -p/6 [z1]x
//
// p [Pa]: a parameter and, where it is driven, a control that is added to it. It does not change with the
// volume. The energy is that of the enclosed volume, so H is symmetric.
// Tests: tests/soft/load_test.cpp.
#pragma once

#include <memory>

#include "costate/soft/elements/term.h"
#include "costate/soft/soft_model.h"

namespace costate::soft {

struct PressurePlaces {
  std::int64_t pressure = 0, control = -1;
};

// Error where the surface of the part is not closed.
std::unique_ptr<Term> pressure_term(const Part& part, const PressurePlaces& places);

}  // namespace costate::soft
