// A trajectory with its derivatives along several directions at once: what Gauss-Newton asks for.
//
//   x_{k+1} = step(x_k, u_k, p),    dx_{k+1} = A_k dx_k + B_k du_k + C_k dp    of each (dx_0, du, dp)
//
// Directions share each step: as many at once as there are lanes, and a system that solves equations (soft
// bodies) solves and factors them once for all directions. So a few directions cost little more than one;
// for the gradient of one number with respect to many use Rollout. One world.
// Tests: tests/soft/tangents_test.cpp.
#pragma once

#include "costate/system/rollout.h"

namespace costate {

struct TangentOptions {
  std::int64_t steps = 1;
  std::int64_t hold = 1;  // steps that share a control knot
  std::int64_t keep = 1;  // states of every keep-th step come back
};

template <class Real>
struct Tangents {
  std::vector<std::int64_t> kept;  // steps
  std::vector<Real> states;        // kept x states
  std::vector<Real> rates;         // kept x directions x states
};

// The shapes of a direction are those of `at`; an empty x0 or empty controls are zero. Error for other sizes,
// and for a system without tangents.
template <class Real>
Tangents<Real> tangents(const System<Real>& system, const TangentOptions& options, const Arguments<Real>& at,
                        const std::vector<Arguments<Real>>& directions);

extern template Tangents<float> tangents(const System<float>&, const TangentOptions&, const Arguments<float>&,
                                         const std::vector<Arguments<float>>&);
extern template Tangents<double> tangents(const System<double>&, const TangentOptions&,
                                          const Arguments<double>&, const std::vector<Arguments<double>>&);

}  // namespace costate
