// Depths of places inside outlines, meshes and terrain, with their transposes: what bodies of the shape
// `level` are made of (flow.h). Positive inside.
//
//   outline   a closed polygon, corners x_0, y_0, x_1, y_1, ...: the distance to its nearest point, with the
//             sign of the winding number
//   spline    the closed curve of uniform cubic B-splines around control points, as a polygon with `per`
//             corners per control point; linear in the control points
//   mesh      a closed surface of triangles, vertices x, y, z, ...
//   terrain   heights on a rectangular grid of points (in 2-D on a line), linear in between: the distance to
//             the tangent plane, (height - z) / sqrt(1 + |slope|^2)
//
// Of the nearest point X of a polygon or mesh, X = sum w_i corner_i with normal n towards outside,
//
//   depth = n . (X - place)       corner_i_bar = sum over places of w_i n depth_bar
//
// because moving along the surface does not change the least distance. Exact but for places that are equally
// far from two sides: there one of them counts. Tests: tests/fluid/outline_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace costate::fluid {

using Place = std::array<double, 3>;

// Of places inside a closed polygon; `corners` has x and y of each. Error: fewer than three corners.
std::vector<double> outline_depths(const std::vector<Place>& places, const std::vector<double>& corners);
std::vector<double> outline_depths_vjp(const std::vector<Place>& places, const std::vector<double>& corners,
                                       const std::vector<double>& depths_bar);

// The corners of a polygon along a closed spline; `control` has x and y of each point.
std::vector<double> spline_corners(const std::vector<double>& control, int per);
std::vector<double> spline_corners_vjp(std::size_t control_numbers, int per,
                                       const std::vector<double>& corners_bar);

// Of places inside a closed mesh; three vertices per triangle, counter-clockwise from outside.
std::vector<double> mesh_depths(const std::vector<Place>& places, const std::vector<double>& vertices,
                                const std::vector<std::uint32_t>& triangles);
std::vector<double> mesh_depths_vjp(const std::vector<Place>& places, const std::vector<double>& vertices,
                                    const std::vector<std::uint32_t>& triangles,
                                    const std::vector<double>& depths_bar);

// Heights at (i dx, j dy), i fastest; in two dimensions ny = 1 and y is what they are heights of.
struct Terrain {
  std::int64_t nx = 2, ny = 1;
  double dx = 1, dy = 1;
  std::vector<double> heights = {};
};
std::vector<double> terrain_depths(const std::vector<Place>& places, const Terrain& terrain);
std::vector<double> terrain_depths_vjp(const std::vector<Place>& places, const Terrain& terrain,
                                       const std::vector<double>& depths_bar);

}  // namespace costate::fluid
