// Free bodies as a Mechanism: each moves by itself, pushed by gravity and by the nodes that it touches
// (body_motion.h has the equations).
//
//   state       body/<name>/{position, orientation, velocity, angular_velocity}
//   parameters  body/<name>/{mass, inertia, friction}
//
// Tests: tests/mpm/body_test.cpp.
#pragma once

#include "costate/mpm/bodies/mechanism.h"

namespace costate::mpm {

// Of a model that has some.
std::shared_ptr<const Mechanism> free_bodies(const Model& model);

}  // namespace costate::mpm
