// Bodies of cubes: the cubes of a grid that are wanted, joined where they touch. Tests:
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

}  // namespace costate::soft
