#include "costate/soft/step/checks.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/core/vec3.h"
#include "costate/soft/elements/shape.h"
#include "costate/soft/elements/small_matrix.h"

namespace costate::soft {
namespace {

std::string place(const Part& part, std::size_t cell) {
  return std::string(kCellNames[int(part.cells)]) + " " + std::to_string(cell) + " of part '" + part.name +
         "'";
}

template <int C>
double volume_of(const double* rest, const int* v, const Shape& shape, int q) {
  Small<3, C> E, frame;
  const double* slope = shape.slopes(q);
  for (int a = 0; a < shape.vertices; ++a) add_outer(rest + 3 * v[a], slope + C * a, E);
  return determinant(in_frame(E, frame));
}

void check_rod(const SoftModel& m, const Part& part) {
  const auto at = [&](int v) {
    const double* x = m.rest.data() + 3 * v;
    return Vec3<double>{x[0], x[1], x[2]};
  };
  for (std::size_t e = 0; 3 * e < part.vertices.size(); ++e) {
    const int* v = part.vertices.data() + 3 * e;
    const Vec3<double> along = at(v[1]) - at(v[0]), beside = at(v[2]) - at(v[0]);
    const double length = norm(along);
    if (length > 0 && norm(cross(along, beside)) > 1e-9 * length * (length + norm(beside))) continue;
    throw Error(
        {place(part, e) + (length > 0 ? " has its frame point on its axis" : " has no length at rest"),
         {},
         "a segment is (end, end, frame point), three points that are not on a line: see rod_mesh"});
  }
}

}  // namespace

void check_cells(const SoftModel& m, const Part& part) {
  const auto nodes = std::size_t(kCellVertices[int(part.cells)]);
  if (part.vertices.empty() || part.vertices.size() % nodes != 0)
    throw Error({"part '" + part.name + "' lists " + std::to_string(part.vertices.size()) + " vertices",
                 {},
                 std::string(kCellNames[int(part.cells)]) + " have " + std::to_string(nodes) + " each"});
  for (std::size_t k = 0; k < part.vertices.size(); ++k)
    if (part.vertices[k] < 0 || part.vertices[k] >= m.vertices())
      throw Error(place(part, k / nodes) + " names vertex " + std::to_string(part.vertices[k]) +
                  ", but there are " + std::to_string(m.vertices()));
  if (part.cells == Cells::rods) return check_rod(m, part);
  const Shape& shape = shape_of(part.cells);
  for (std::size_t e = 0; e * nodes < part.vertices.size(); ++e) {
    const int* v = part.vertices.data() + e * nodes;
    double length = 0;
    for (std::size_t a = 1; a < nodes; ++a)
      for (int d = 0; d < 3; ++d)
        length =
            std::max(length, std::abs(m.rest[std::size_t(3 * v[a] + d)] - m.rest[std::size_t(3 * v[0] + d)]));
    for (int q = 0; q < shape.points(); ++q) {
      const double volume = shape.dimension == 3 ? volume_of<3>(m.rest.data(), v, shape, q)
                                                 : volume_of<2>(m.rest.data(), v, shape, q);
      const double least = 1e-12 * std::pow(length, shape.dimension);
      if (volume > least) continue;
      const bool flat = !(volume < -least);
      throw Error({place(part, e) + (flat ? " has no volume at rest" : " is inside out at rest"),
                   {},
                   flat ? "remove it, or move its vertices apart" : "swap two of its vertices"});
    }
  }
}

void check_numbers(const SoftMaterial& material, const std::vector<LawNumber>& numbers) {
  const auto fail = [&](const std::string& name, double value, const std::string& range) {
    throw Error(
        {"material '" + material.name + "': " + name + " = " + number(value), {}, name + " needs " + range});
  };
  for (const auto& [name, value] : material.numbers) {
    const LawNumber* found = nullptr;
    std::string all;
    for (const LawNumber& n : numbers) {
      if (n.name == name) found = &n;
      all += (all.empty() ? "" : ", ") + std::string(n.name);
    }
    if (!found)
      throw Error(
          {"material '" + material.name + "': law '" + material.law + "' has no number '" + name + "'",
           {},
           "its numbers are: " + all});
    if (!(value > found->low && value < found->high))
      fail(name, value,
           number(found->low) + " < " + name +
               (std::isfinite(found->high) ? " < " + number(found->high) : ""));
  }
  if (!(material.density >= 0) || !std::isfinite(material.density))
    fail("density", material.density, "to be 0 or more");
  if (!(material.thickness > 0)) fail("thickness", material.thickness, "to be positive");
  if (!(material.viscosity >= 0)) fail("viscosity", material.viscosity, "to be 0 or more");
  if (!(material.bending >= 0)) fail("bending", material.bending, "to be 0 or more");
  if (!(material.bending_viscosity >= 0))
    fail("bending_viscosity", material.bending_viscosity, "to be 0 or more");
  if (!(material.yield_curvature >= 0) || !std::isfinite(material.yield_curvature))
    fail("yield_curvature", material.yield_curvature, "to be 0 or more");
}

void check_creases(const SoftModel& model, const SoftMaterial& material, bool membrane) {
  if (material.yield_curvature == 0) return;
  const std::string what = "material '" + material.name + "' has a yield_curvature";
  if (!membrane || material.bending == 0)
    throw Error({what + ", but nothing of it bends",
                 {},
                 "creases are of triangles with bending > 0: set it, or remove yield_curvature"});
  if (model.integrator == Integrator::midpoint)
    throw Error({what + " with integrator = midpoint",
                 {},
                 "a midpoint step does not end where it is solved: use euler, bdf2 or still"});
}

}  // namespace costate::soft
