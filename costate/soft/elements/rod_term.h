// Rods: stretch of segments, bending and twist where two segments meet.
//
//   W = sum_i k_i (s_i(z) - n_i)^2/2        s strains (rod.h), k their stiffness, n_i = share_i s_i(X)
//   r = sum_i k_i (s_i(z) - n_i) g_i(z) + viscosity rate k_i g_i(x) (g_i(x).(z - w)),     g_i = grad s_i
//
// `viscosity` [s] is the time over which a strain gives way (Kelvin-Voigt); it resists the rate of each
// strain, with the gradient of the start of the step.
//
//   mass: density L per segment. Its frame point has the share gyration/|p|^2, so that the segment turns
//   about its axis with the inertia of its cross-section; the ends have halves of what is left.
//
// Transpose, for mu:
//   mu.r = sum_i k_i (s_i - n_i) (g_i(z).mu) + viscosity rate k_i (g_i(x).mu) (g_i(x).(z - w))
// [1] Bergou et al.: Discrete Elastic Rods, ACM TOG 27 (2008). Tests: tests/soft/rod_test.cpp.
#pragma once

#include <memory>

#include "costate/soft/elements/cell_term.h"
#include "costate/soft/laws/rod_law.h"

namespace costate::soft {

// Ends and frame points of segments that follow one another: (x0, x1, x2, g0, g1), and which two segments
// they are. Error where three segments of a part meet, or where two of them run against each other.
struct RodJoints {
  std::vector<int> vertices, segments;
};
RodJoints joints_of(const Part& part);

std::unique_ptr<Term> rod_segment_term(const Part& part, const RodLaw& law, const CellPlaces& places);
std::unique_ptr<Term> rod_joint_term(const Part& part, const RodLaw& law, const CellPlaces& places);

}  // namespace costate::soft
