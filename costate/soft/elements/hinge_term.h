// Bending of triangles at the edges that two of them share.
//
//   W = bending c (theta - theta_rest)^2,   c = 3 |e|^2/(A0 + A1) of the rest shape, theta_rest its angle [1]
//   r = 2 bending c (theta - theta_rest) grad theta(z) + viscosity rate c t (t . (z - w)),  t = grad theta(x)
//
// Where the material has a yield curvature the angle creases: crease.h says what theta - theta_rest becomes.
// Damping acts on the rate of the angle, with the gradient of the start of the step. Transpose, for mu:
//   mu . r = 2 bending c (theta - theta_rest) (grad theta . mu) + viscosity rate c (t.mu) (t.(z - w))
// [1] Grinspun et al.: Discrete Shells, SCA 2003, eq. 3. Tests: tests/soft/hinge_test.cpp, crease_test.cpp.
#pragma once

#include <memory>

#include "costate/soft/elements/term.h"
#include "costate/soft/soft_model.h"

namespace costate::soft {

struct HingePlaces {
  std::int64_t rest = 0, bending = 0, viscosity = 0;
  std::int64_t yield_curvature = -1, crease = 0;  // -1: it does not crease
};

// Edges shared by two triangles: (x0, x1, far vertex of the first, far vertex of the second), in the order in
// which second triangles come. Error for an edge of three triangles.
std::vector<int> hinges_of(const Part& part);
// Whether they keep creases.
bool creases(const SoftModel& model, const Part& part);

std::unique_ptr<Term> hinge_term(const Part& part, const HingePlaces& places);

}  // namespace costate::soft
