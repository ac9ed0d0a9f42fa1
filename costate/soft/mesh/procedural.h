// Meshes from numbers: cloths, blocks, balls, rods, tubes and a shirt. Cells are cut so that all of them are
// the right way round.
#pragma once

#include <array>
#include <vector>

#include "costate/soft/soft_model.h"

namespace costate::soft {

struct SoftMesh {
  std::vector<double> vertices = {};  // 3 numbers each
  std::vector<int> cells = {};
};

// A rectangle in the plane of x and y with a corner at the origin: (nx + 1)(ny + 1) vertices, vertex
// (nx + 1) j + i at (i, j). Each rectangle (k, k+1, k+nx+2), (k, k+nx+2, k+nx+1).
SoftMesh cloth_mesh(std::array<double, 2> size, std::array<int, 2> cells);

// A block with a corner at the origin: vertex ((nx + 1)((ny + 1) k + j) + i) at (i, j, k). Tetrahedra: six
// per box, around the diagonal; quadratic ones have the middles of edges after the corners.
SoftMesh block_mesh(Cells kind, std::array<double, 3> size, std::array<int, 3> cells);

// A sphere around the origin, the octahedron's faces cut into n^2 triangles each: 4 n^2 + 2 vertices.
SoftMesh ball_mesh(double radius, int n);

// A rod through `points` (3 numbers each): the points first, then a frame point per segment, at `beside` from
// the middle of the segment. The first one lies towards `towards`; the others follow without a twist. Closed:
// a last segment leads back to the first point.
SoftMesh rod_mesh(const std::vector<double>& points, std::array<double, 3> towards, double beside,
                  bool closed = false);
// The length of a rod's first segment: half of it is a good `beside`. 1 of fewer than two points.
double first_segment(const std::vector<double>& points);

// A tube along a line of points with a radius at each: skirts, sleeves, socks. {cells around, cells along},
// evenly spaced along the line; a radius of 0 at an end closes it with one vertex, as of a hat. (tube.cpp)
SoftMesh tube_mesh(const std::vector<double>& points, const std::vector<double>& radii,
                   std::array<int, 2> count);

// A shirt: two panels of squares, a body of 5n x 7n with sleeves of 2n x 2n and a neck, sewn at shoulders,
// sides and sleeves; hem, cuffs and neck are open. It stands upright, x across, its front towards -y, the hem
// at z = 0. Panels bulge by `depth`. n = 4: 1390 vertices, 2688 triangles. (shirt.cpp)
SoftMesh shirt_mesh(double width, int n, double depth);

// Appends a part with the vertices of the mesh, moved by `origin`; returns its first vertex.
int add_part(SoftModel& model, const std::string& name, Cells kind, const SoftMesh& mesh, int material,
             std::array<double, 3> origin = {});

}  // namespace costate::soft
