// Ridges: where the distance to a shape has two slopes, as on the diagonal of a box or on the axis of a
// cup. A node that lies on one has no normal: its velocity jumps with the pose of the collider, and so does
// the loss. The gradient is that of one side.
//
//   on a ridge:  |grad phi(l + e) - grad phi(l - e)| > 0.1 for a step e of 1e-6 dx along an axis
//
// Tests: tests/mpm/shape_test.cpp.
#pragma once

#include "costate/mpm/model.h"

namespace costate::mpm {

// Nodes in the band of a resting collider, or up to two cells inside it, that lie on a ridge of its distance.
// Models of more than 2e7 nodes times colliders are not searched: 0.
std::int64_t nodes_on_ridges(const Model& model, const Collider& collider);

}  // namespace costate::mpm
