// What a flow is made of where it has obstacles: their checks, their names and where their numbers lie.
// Tests: tests/fluid/obstacle_test.cpp, shape_test.cpp, surface_test.cpp, free_test.cpp (errors).
#pragma once

#include "costate/fluid/step/flow_model.h"

namespace costate::fluid {

// "body/center", "body/size", "body/angle", "body/velocity", "body/spin"; the force on it is in the state.
void add_obstacle(const FlowOptions& o, const Obstacle& b, FlowModel& m);

// Of what holds bodies together: "model/q", ... in the state, its controls and parameters.
void add_linkage(const FlowOptions& o, FlowModel& m);

}  // namespace costate::fluid
