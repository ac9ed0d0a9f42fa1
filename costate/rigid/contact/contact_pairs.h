// Which geoms of a model may touch, decided once from the model.
//
// Two geoms are tested against each other if [1, "collision detection"]
//
//   - a <pair> names them, or
//   - they belong to different bodies that joints move against each other, one's contype meets the other's
//     conaffinity, and neither of the two bodies is the other's parent (bodies welded together count as one;
//     the world is nobody's parent here; filterparent = false lets parents through) nor are the bodies
//     excluded from each other,
//
// and there is a way to collide their shapes. A <pair> brings its own friction and softness; for all others
// those of the geoms are mixed (contact_mixing.h).
//
// [1] MuJoCo documentation, Computation. Tests: tests/rigid/contact/pairs_test.cpp.
#pragma once

#include "costate/rigid/model.h"

namespace costate::rigid {

struct GeomPair {
  int first = 0, second = 0;  // geoms, in the order of their types
  int pair = -1;              // of Model::pairs, or none
  int condim = 3;
  int chosen = 0;  // whose friction and softness count: 1 the first's, 2 the second's (priority); 0 a mixture
  int slots = 0;   // contact points at most
};

// slots > 0 in all of them.
std::vector<GeomPair> touching_pairs(const Model& model);

// Throws an Error for two geoms that may meet but whose shapes have no way to collide (planes and
// heightfields among themselves need none).
void refuse_unknown_pairs(const Model& model);

}  // namespace costate::rigid
