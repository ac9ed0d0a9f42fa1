// Where the numbers of a flow's fields lie, in the order in which they are stored: for formulas and pictures.
#pragma once

#include "costate/fluid/flow.h"

namespace costate::fluid {

bool stretched(const FlowOptions& options);
// Places of the faces across an axis, both ends too; the last one is the length of the box.
std::vector<double> face_lines(const FlowOptions& options, std::size_t axis);

// Faces of a component along each axis.
std::array<std::int64_t, 3> face_counts(const FlowOptions& options, int component);

std::vector<std::array<double, 3>> cell_places(const FlowOptions& options);
std::vector<std::array<double, 3>> face_places(const FlowOptions& options, int component);
// The faces of a component on a side, as its given velocities are ordered; component -1: the middle of its
// faces, as the values of scalars are.
std::vector<std::array<double, 3>> side_places(const FlowOptions& options, std::size_t side, int component);

}  // namespace costate::fluid
