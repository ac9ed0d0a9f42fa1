// Bodies of cubes: the cubes of a grid that are wanted, joined where they touch; and a ring. Tests:
// tests/soft/mesh_test.cpp.
#pragma once

#include <array>
#include <vector>

#include "costate/soft/mesh/procedural.h"

namespace costate::soft {

// Hexahedra of side `size`, one per place (i, j, k) of the grid, from (i, j, k) size on. Vertices are
// numbered as the cubes meet them. Error for no cubes, and for one that is there twice.
SoftMesh voxel_mesh(double size, const std::vector<std::array<int, 3>>& cubes);

// The cubes of a grid, `across` of them along a diameter, whose middles are in a ball around the origin.
SoftMesh ball_of_cubes(double radius, int across);

// A ring of hexahedra around the axis of y, a square across: {cells around, cells across}. `radius` is that
// of its middle.
SoftMesh ring_of_hexahedra(double radius, double thickness, std::array<int, 2> count);

}  // namespace costate::soft
