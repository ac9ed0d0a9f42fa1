#include "costate/io/rigid_picture.h"

#include <algorithm>
#include <cmath>

#include "costate/core/quat.h"

namespace costate::io {
namespace {

using rigid::GeomType;

constexpr int kLargestGroupShown = 2;
constexpr rigid::Double4 kNoColor = {0.5, 0.5, 0.5, 1};
constexpr Color kColors[] = {0x4f86c6, 0xd98b5f, 0x7aa06b, 0xb07aa1, 0xe0b84f, 0x5fa8a8, 0xc9736b, 0x8c8c94};
constexpr Color kMarkColor = 0xd64545;
constexpr float kPlaneHalf = 5;  // of a plane without end

Vec3<double> vec(const rigid::Double3& a) { return {a[0], a[1], a[2]}; }
Quat<double> quat(const double* q) { return {q[0], q[1], q[2], q[3]}; }

Color color_of(const rigid::Model& model, const rigid::Geom& geom) {
  if (geom.rgba == kNoColor) {
    const int part = geom.body == 0 ? 7 : model.bodies[geom.body].weld;
    return kColors[std::size_t(part) % std::size(kColors)];
  }
  const auto byte = [](double c) { return Color(std::lround(255 * std::clamp(c, 0.0, 1.0))); };
  return byte(geom.rgba[0]) << 16 | byte(geom.rgba[1]) << 8 | byte(geom.rgba[2]);
}

void add_mesh(const std::vector<rigid::Double3>& vertices, const std::vector<std::array<int, 3>>& faces,
              Shape& shape) {
  shape.kind = Shape::Kind::mesh;
  for (const rigid::Double3& v : vertices)
    for (const double c : v) shape.vertices.push_back(float(c));
  for (const auto& f : faces)
    for (const int i : f) shape.triangles.push_back(std::uint32_t(i));
}

// The surface of a height field: two triangles per cell.
void add_heightfield(const rigid::Heightfield& h, Shape& shape) {
  std::vector<rigid::Double3> vertices;
  std::vector<std::array<int, 3>> faces;
  for (int r = 0; r < h.rows; ++r) {
    for (int c = 0; c < h.columns; ++c) {
      vertices.push_back({h.size[0] * (2.0 * c / std::max(1, h.columns - 1) - 1),
                          h.size[1] * (2.0 * r / std::max(1, h.rows - 1) - 1),
                          h.size[2] * h.data[r * h.columns + c]});
      if (r + 1 == h.rows || c + 1 == h.columns) continue;
      const int i = r * h.columns + c;
      faces.push_back({i, i + 1, i + h.columns});
      faces.push_back({i + 1, i + h.columns + 1, i + h.columns});
    }
  }
  add_mesh(vertices, faces, shape);
}

Shape shape_of(const rigid::Model& model, const rigid::Geom& g) {
  Shape shape{.kind = g.type};
  if (g.type == GeomType::plane) {
    for (const double half : {g.size[0], g.size[1]})
      shape.size.push_back(half > 0 ? float(half) : kPlaneHalf);
  } else if (g.type == GeomType::mesh) {
    add_mesh(model.meshes[g.mesh].vertices, model.meshes[g.mesh].faces, shape);
  } else if (g.type == GeomType::heightfield) {
    add_heightfield(model.heightfields[g.heightfield], shape);
  } else {
    shape.size.assign(g.size.begin(), g.size.begin() + geometry::traits(g.type).sizes);
  }
  return shape;
}

// Of a ball about the geom's origin that holds it.
double reach_of(const Shape& shape) {
  double reach = 0;
  if (shape.kind == Shape::Kind::mesh) {
    for (std::size_t i = 0; i + 2 < shape.vertices.size(); i += 3)
      reach = std::max(reach,
                       double(std::hypot(shape.vertices[i], shape.vertices[i + 1], shape.vertices[i + 2])));
    return reach;
  }
  if (shape.kind == Shape::Kind::capsule) return shape.size[0] + shape.size[1];
  if (shape.kind == Shape::Kind::ellipsoid) return *std::max_element(shape.size.begin(), shape.size.end());
  for (const float s : shape.size) reach = std::hypot(reach, double(s));
  return reach;
}

// How far it reaches down: half its extent along the world's z, for a frame R.
double depth_of(const Shape& shape, const Quat<double>& q) {
  const Vec3<double> z = rotate_back(q, Vec3<double>{0, 0, 1});
  const auto s = [&](std::size_t i) { return double(shape.size[i]); };
  switch (shape.kind) {
    case Shape::Kind::sphere:
      return s(0);
    case Shape::Kind::capsule:
      return s(0) + s(1) * std::abs(z.z);
    case Shape::Kind::cylinder:
      return s(0) * std::sqrt(std::max(0.0, 1 - z.z * z.z)) + s(1) * std::abs(z.z);
    case Shape::Kind::box:
      return s(0) * std::abs(z.x) + s(1) * std::abs(z.y) + s(2) * std::abs(z.z);
    case Shape::Kind::ellipsoid:
      return std::sqrt(s(0) * s(0) * z.x * z.x + s(1) * s(1) * z.y * z.y + s(2) * s(2) * z.z * z.z);
    default:
      return reach_of(shape);
  }
}

bool is_floor(const rigid::Geom& g) {
  if (g.type != GeomType::plane || g.body != 0) return false;
  const Vec3<double> normal = rotate(quat(g.quat.data()), Vec3<double>{0, 0, 1});
  return normal.z > 1 - 1e-9;
}

}  // namespace

RigidPicture::RigidPicture(const rigid::Model& model) : model_(model) {
  recording_.up = 'z';
  for (std::size_t i = 0; i < model.geoms.size(); ++i) {
    const rigid::Geom& g = model.geoms[i];
    if (g.group > kLargestGroupShown || !(g.rgba[3] > 0)) continue;
    if (is_floor(g)) {
      has_floor_ = true;
      recording_.ground = float(g.pos[2]);
      continue;
    }
    shown_.push_back({i, recording_.bodies.size()});
    recording_.bodies.push_back({.name = g.name.empty() ? "geom " + std::to_string(i) : g.name,
                                 .shape = shape_of(model, g),
                                 .color = color_of(model, g),
                                 .opacity = float(std::clamp(g.rgba[3], 0.0, 1.0)),
                                 .poses = {}});
  }
}

void RigidPicture::add_frame(const std::vector<std::array<double, 7>>& bodies) {
  for (const Shown& s : shown_) {
    const rigid::Geom& g = model_.geoms[s.geom];
    const std::array<double, 7>& b = bodies[g.body];
    const Quat<double> frame = quat(b.data() + 3), turned = frame * quat(g.quat.data());
    const Vec3<double> at = Vec3<double>{b[0], b[1], b[2]} + rotate(frame, vec(g.pos));
    Body& body = recording_.bodies[s.body_of_recording];
    body.poses.push_back({float(at.x), float(at.y), float(at.z), float(turned.w), float(turned.x),
                          float(turned.y), float(turned.z)});
    if (g.type == GeomType::plane) continue;
    const bool first = recording_.frames == 0 && &s == &shown_.front();
    const double under = at.z - depth_of(body.shape, turned), reach = reach_of(body.shape);
    lowest_ = first ? under : std::min(lowest_, under);
    for (int k = 0; k < 3; ++k) {
      low_[k] = first ? at[k] - reach : std::min(low_[k], at[k] - reach);
      high_[k] = first ? at[k] + reach : std::max(high_[k], at[k] + reach);
    }
  }
  ++recording_.frames;
}

void RigidPicture::add_mark(const rigid::Double3& position) {
  const double size = std::max({high_[0] - low_[0], high_[1] - low_[1], high_[2] - low_[2], 1e-3});
  recording_.bodies.push_back(
      {.name = "target",
       .shape = {.kind = Shape::Kind::sphere, .size = {float(0.02 * size)}},
       .color = kMarkColor,
       .opacity = 0.6F,
       .poses = {{float(position[0]), float(position[1]), float(position[2]), 1, 0, 0, 0}}});
}

Recording RigidPicture::finish() {
  if (!has_floor_) recording_.ground = float(lowest_ - 0.02 * std::max(high_[2] - low_[2], 1e-3));
  return std::move(recording_);
}

}  // namespace costate::io
