#include "costate/fluid/flow_places.h"

#include <algorithm>

namespace costate::fluid {
namespace {

// Number i along an axis is the one at the coordinate i + offset, in cells: a face, or the middle of a cell.
std::vector<double> coordinates(const FlowOptions& o, std::size_t axis, std::int64_t n, double offset) {
  std::vector<double> at;
  if (axis >= o.cells.size()) return {0};
  const std::vector<double> faces = face_lines(o, axis);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = std::size_t(double(i) + offset);
    if (o.widths[axis].empty())
      at.push_back((double(i) + offset) * o.width[axis]);
    else
      at.push_back(offset == 0.5 ? (faces[k] + faces[k + 1]) / 2 : faces[k]);
  }
  return at;
}
std::vector<std::array<double, 3>> places(const FlowOptions& o, const std::array<std::int64_t, 3>& n,
                                          const std::array<double, 3>& offset) {
  std::array<std::vector<double>, 3> at;
  for (std::size_t a = 0; a < 3; ++a) at[a] = coordinates(o, a, n[a], offset[a]);
  std::vector<std::array<double, 3>> all;
  for (const double z : at[2])
    for (const double y : at[1])
      for (const double x : at[0]) all.push_back({x, y, z});
  return all;
}
std::array<double, 3> offset_of(const FlowOptions& o, int component) {
  std::array<double, 3> offset = {0.5, 0.5, o.cells.size() == 3 ? 0.5 : 0.0};
  if (component >= 0) offset[std::size_t(component)] = 0;
  return offset;
}

}  // namespace

bool stretched(const FlowOptions& o) {
  return std::ranges::any_of(o.widths, [](const auto& widths) { return !widths.empty(); });
}
std::vector<double> face_lines(const FlowOptions& o, std::size_t axis) {
  std::vector<double> faces = {0};
  for (std::int64_t i = 1; i <= o.cells[axis]; ++i)
    faces.push_back(o.widths[axis].empty() ? double(i) * o.width[axis]
                                           : faces.back() + o.widths[axis][std::size_t(i - 1)]);
  return faces;
}

std::array<std::int64_t, 3> face_counts(const FlowOptions& o, int component) {
  std::array<std::int64_t, 3> n = {o.cells[0], o.cells[1], o.cells.size() == 3 ? o.cells[2] : 1};
  if (component >= 0 && o.sides[std::size_t(2 * component)].kind != Side::Kind::periodic)
    ++n[std::size_t(component)];
  return n;
}

std::vector<std::array<double, 3>> cell_places(const FlowOptions& o) {
  return places(o, face_counts(o, -1), offset_of(o, -1));
}
std::vector<std::array<double, 3>> face_places(const FlowOptions& o, int component) {
  return places(o, face_counts(o, component), offset_of(o, component));
}
std::vector<std::array<double, 3>> side_places(const FlowOptions& o, std::size_t side, int component) {
  std::array<std::int64_t, 3> n = face_counts(o, component);
  std::array<double, 3> offset = offset_of(o, component);
  const std::size_t axis = side / 2;
  n[axis] = 1;
  offset[axis] = side % 2 == 0 ? 0.0 : double(o.cells[axis]);
  return places(o, n, offset);
}

}  // namespace costate::fluid
