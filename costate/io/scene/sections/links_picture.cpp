#include "costate/io/scene/sections/links_picture.h"

#include <cmath>

namespace costate::io {
namespace {

void add_ribbons(Mesh& mesh, std::size_t count) {
  for (std::uint32_t s = 0; s < std::uint32_t(count); ++s) {
    const std::uint32_t a = 4 * s;
    mesh.triangles.insert(mesh.triangles.end(), {a, a + 1, a + 2, a + 1, a + 3, a + 2});
  }
}

}  // namespace

void LinksPicture::begin(const study::Inputs&) {
  recording_ = {};
  recording_.up = drawing_.dimensions < 3 ? 'y' : 'z';
  if (drawing_.ground) recording_.ground = float(*drawing_.ground);
  recording_.materials = {{drawing_.name, 0xd98b5f}};
  recording_.particles.material.assign(std::size_t(drawing_.points), 0);
  recording_.particles.radius = float(drawing_.size);
  links_ = {.name = "links", .color = 0x6b6b6b};
  add_ribbons(links_, drawing_.links.size());
  box_ = {.name = "box", .color = 0x9a9a9a};
  if (drawing_.dimensions == 1) drawing_.box.clear();  // has no edges to draw
  add_ribbons(box_, drawing_.box.empty() ? 0 : drawing_.dimensions == 3 ? 12 : 4);
}

void LinksPicture::frame(double, const std::vector<double>& state) {
  ++recording_.frames;
  for (int i = 0; i < drawing_.points; ++i)
    for (const float c : place(state, i)) recording_.particles.positions.push_back(c);
  for (const auto& [a, b] : drawing_.links) {
    const Place from = place(state, a);
    Place to = place(state, b);
    // Across a side of the box a link is not drawn to the other side but cut to nothing.
    for (std::size_t k = 0; k < drawing_.box.size(); ++k)
      if (std::abs(to[k] - from[k]) > 0.5 * drawing_.box[k]) to = from;
    ribbon(from, to, 0.3 * drawing_.size, links_);
  }
  if (!drawing_.box.empty()) box_edges();
}

Recording LinksPicture::finish() {
  if (!drawing_.links.empty()) recording_.meshes.push_back(std::move(links_));
  if (!drawing_.box.empty()) recording_.meshes.push_back(std::move(box_));
  return std::move(recording_);
}

LinksPicture::Place LinksPicture::place(const std::vector<double>& state, int i) const {
  Place x = {0, 0, 0};
  for (int d = 0; d < drawing_.dimensions; ++d) {
    double c = state[std::size_t(i * drawing_.dimensions + d)];
    if (!drawing_.box.empty())
      c -= drawing_.box[std::size_t(d)] * std::floor(c / drawing_.box[std::size_t(d)]);
    x[std::size_t(d)] = float(c);
  }
  return x;
}

// The ribbon lies across the view.
void LinksPicture::ribbon(const Place& a, const Place& b, double width, Mesh& mesh) const {
  const std::size_t second = drawing_.dimensions < 3 ? 1 : 2;
  float dx = b[0] - a[0], dy = b[second] - a[second];
  if (dx == 0 && dy == 0) dx = 1e-9F;
  const float w = float(width) / (std::hypot(dx, dy) + 1e-9F);
  for (const auto& end : {a, b}) {
    for (const float side : {-w, w}) {
      Place corner = end;
      corner[0] -= side * dy;
      corner[second] += side * dx;
      mesh.vertices.insert(mesh.vertices.end(), corner.begin(), corner.end());
    }
  }
}

// From every corner along every axis that it is at the lower end of.
void LinksPicture::box_edges() {
  const int n = drawing_.dimensions;
  for (int corner = 0; corner < (1 << n); ++corner) {
    Place from = {0, 0, 0};
    for (int k = 0; k < n; ++k)
      if (corner >> k & 1) from[std::size_t(k)] = float(drawing_.box[std::size_t(k)]);
    for (int k = 0; k < n; ++k) {
      if (corner >> k & 1) continue;
      Place to = from;
      to[std::size_t(k)] = float(drawing_.box[std::size_t(k)]);
      ribbon(from, to, 0.1 * drawing_.size, box_);
    }
  }
}

}  // namespace costate::io
