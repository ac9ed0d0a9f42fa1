#include "costate/fluid/flow_places.h"

namespace costate::fluid {
namespace {

std::vector<std::array<double, 3>> places(const FlowOptions& o, const std::array<std::int64_t, 3>& n,
                                          const std::array<double, 3>& offset) {
  std::vector<std::array<double, 3>> all;
  for (std::int64_t k = 0; k < n[2]; ++k)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t i = 0; i < n[0]; ++i)
        all.push_back({(double(i) + offset[0]) * o.width[0], (double(j) + offset[1]) * o.width[1],
                       (double(k) + offset[2]) * o.width[2]});
  return all;
}
std::array<double, 3> offset_of(const FlowOptions& o, int component) {
  std::array<double, 3> offset = {0.5, 0.5, o.cells.size() == 3 ? 0.5 : 0.0};
  if (component >= 0) offset[std::size_t(component)] = 0;
  return offset;
}

}  // namespace

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
