// Contact of vertices with obstacles: planes and balls that stay where they are.
//
//   d(z) = n.(z - c)  or  |z - c| - R           distance to the obstacle, with unit normal n(z)
//   W = A stiffness b(d(z)) + friction lambda f0(|u|)    A = 1, or the area of the vertex (contact_areas.h)
//   lambda = -A stiffness b'(d(x)),  u = (I - n n')(z - x) with the normal n(x): both of the step's start
//
// Normal force and tangent plane are lagged: r is the gradient of an energy, H is symmetric, and the
// dependence on x is part of the derivatives (of the tangent too: mu . r is a smooth function of x). The
// barrier is infinite at d = 0, and steps of Newton's iteration are cut short of the surface, so nothing
// penetrates.
// [1] Li et al.: Incremental Potential Contact, ACM TOG 39 (2020). Tests: tests/soft/contact_test.cpp.
#pragma once

#include <memory>

#include "costate/soft/elements/term.h"
#include "costate/soft/soft_model.h"

namespace costate::soft {

struct ObstaclePlaces {
  std::int64_t stiffness = 0, reach = 0, slip_speed = 0, dt = 0;
  std::int64_t place = 0, radius = -1, friction = 0;
};

std::unique_ptr<Term> obstacle_term(const Obstacle& obstacle, std::vector<int> vertices,
                                    const ObstaclePlaces& places);

}  // namespace costate::soft
