// FlowModel: what a flow is made of, once its options have been checked: the grid, its sides, and where the
// numbers of every input lie.
#pragma once

#include <vector>

#include "costate/fluid/grid/sides.h"
#include "costate/system/signature.h"

namespace costate::fluid {

struct FlowModel {
  // One component of the given speeds of a side.
  struct GivenSpeed {
    int axis, end, component;
    bool control;  // a number of the control instead of the parameters
    Index offset, count;
  };
  Signature signature;
  Sides sides;
  Scheme scheme = Scheme::rk3;
  std::array<Index, 3> face_offset = {};  // of the components in a state
  std::vector<GivenSpeed> given;
  Index push = -1;  // offset in the control; -1: there is none

  // The first parameter fields, in this order.
  enum Parameter { kViscosity, kForce, kDt };
  Index force_at() const { return sides.shape.cells(); }
  Index dt_at() const { return sides.shape.cells() + sides.shape.dim; }

  int stages() const { return scheme == Scheme::rk3 ? 3 : 1; }
  // out = P(kept x + share (current + dt F(current)))
  struct Weights {
    double kept, share;
  };
  Weights weights(int stage) const {
    if (stage == 0) return {0, 1};
    return stage == 1 ? Weights{0.75, 0.25} : Weights{1.0 / 3, 2.0 / 3};
  }
};

FlowModel make_model(const FlowOptions& options, Index lanes);

}  // namespace costate::fluid
