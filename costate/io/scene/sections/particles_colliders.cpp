#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/io/scene/sections/particles.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;
constexpr std::size_t kMostPoints = 1000;
constexpr double kDegree = 3.14159265358979323846 / 180;

}  // namespace

mpm::Shape ParticlesReader::read_shape(const TomlValue& v) const {
  file_.table(v, "shape");
  static const std::vector<std::string> kKinds = {"sphere",     "box", "capsule", "cylinder",
                                                  "half_space", "cup", "shell"};
  const std::string& kind =
      file_.choice(file_.required(v, "kind", "this shape", "add kind = \"box\""), "kind of shape", kKinds);
  const auto size = [&](const char* key) {
    return file_.positive(file_.required(v, key, "a " + kind, std::string("add ") + key + " = 0.05"), key);
  };
  const auto only = [&](std::vector<std::string> keys) {
    keys.push_back("kind");
    file_.require_known_keys(v, keys, "a " + kind);
  };
  if (kind == "sphere") {
    only({"radius"});
    return mpm::Shape::sphere(size("radius"));
  }
  if (kind == "box") {
    only({"half"});
    const auto half = vector(
        file_.required(v, "half", "a box", "add its half extents: half = [0.1, 0.1, 0.1]"), "half", true);
    return mpm::Shape::box(half[0], half[1], half[2]);
  }
  if (kind == "capsule") {
    only({"radius", "half_length"});
    return mpm::Shape::capsule(size("radius"), size("half_length"));
  }
  if (kind == "cylinder") {
    only({"radius", "half_height"});
    return mpm::Shape::cylinder(size("radius"), size("half_height"));
  }
  if (kind == "half_space") {
    only({});
    return mpm::Shape::half_space();
  }
  if (kind == "cup") {
    only({"radius", "height", "thickness"});
    return mpm::Shape::cup(size("radius"), size("height"), size("thickness"));
  }
  only({"profile", "thickness"});
  const TomlValue& line = file_.required(
      v, "profile", "a shell", "add (radius, height) pairs: profile = [[0, 0], [0.05, 0], [0.05, 0.1]]");
  if (!line.is(Kind::array) || line.items.size() < 2 || line.items.size() > kMostPoints)
    file_.fail(line.place, "profile must be 2 to 1000 pairs of radius and height");
  std::vector<std::array<double, 2>> profile;
  for (const TomlValue& pair : line.items) {
    const std::vector<double> list = file_.numbers(pair, "profile");
    if (list.size() != 2) file_.fail(pair.place, "a point of a profile is a pair of radius and height");
    if (list[0] < 0) file_.fail(pair.items[0].place, "a radius must not be negative");
    if (!profile.empty() && profile.back()[0] == list[0] && profile.back()[1] == list[1])
      file_.fail(pair.place, "two points of this profile are the same");
    profile.push_back({list[0], list[1]});
  }
  return mpm::Shape::shell(profile, size("thickness"));
}

void ParticlesReader::read_colliders() {
  for (const TomlValue& v : file_.tables("colliders", 64)) read_collider(v);
}

void ParticlesReader::read_collider(const TomlValue& v) {
  file_.require_known_keys(v,
                           {"name", "shape", "body", "position", "rotation_deg", "motion", "contact",
                            "friction", "band", "leaks", "color", "opacity"},
                           "[[colliders]]");
  mpm::Collider c;
  c.name = file_.name_of(v, "collider", "mug");
  if (std::find(collider_names_.begin(), collider_names_.end(), c.name) != collider_names_.end())
    file_.fail(v.find("name")->place, "there are two colliders '" + c.name + "'");
  const bool own_geoms = v.find("body") && !v.find("shape");  // of the model's body
  if (!own_geoms)
    c.shape = read_shape(
        file_.required(v, "shape", "this collider", "add shape = {kind = \"sphere\", radius = 0.1}"));
  if (c.shape.kind == mpm::ShapeKind::revolution && c.shape.size[0] < 1.5 * scene_.model.dx)
    file_.fail(v.find("shape")->place, "this wall is thinner than 1.5 cells, and the grid hardly sees it",
               "make it thicker than " + std::to_string(1.5 * scene_.model.dx) + ", or reduce dx");
  if (const TomlValue* n = v.find("contact")) c.contact = contact(*n);
  c.friction = file_.not_negative_or(v, "friction", c.friction);
  c.band = file_.positive_or(v, "band", c.band);
  check_thickness(v, c);
  if (own_geoms) return attach_geoms(v, c);
  if (v.find("body")) return attach(v, std::move(c));

  if (const TomlValue* m = v.find("motion")) {
    for (const char* key : {"position", "rotation_deg"})
      if (v.find(key))
        file_.fail(v.find(key)->place, std::string("a collider that moves has its ") + key + " in motion");
    c.moves = true;
    const study::Motion motion = read_motion(*m, c.name);
    const study::BodyState start =
        study::motion_at(motion, draft_.setup.inputs.paths, draft_.setup.duration, 0);
    c.position = start.position;
    c.rotation = start.rotation;
    draft_.setup.motions.push_back(motion);
  } else {
    c.position =
        vector(file_.required(v, "position", "this collider", "add position = [0.1, 0.0, 0.1], or a motion"),
               "position");
    read_rotation(v, c.rotation);
  }
  collider_names_.push_back(c.name);
  scene_.look.colliders.push_back(v.find("color") ? file_.color(*v.find("color")) : 0xb8bcc2);
  scene_.look.collider_opacity.push_back(opacity_of(v, c.shape));
  scene_.model.colliders.push_back(std::move(c));
}

// Through a thin wall particles creep, and a loss takes what has leaked for what was spilled.
void ParticlesReader::check_thickness(const TomlValue& v, const mpm::Collider& c) {
  // Cells of walls that did not leak in runs of 0.6 s.
  constexpr double kWhereItLetsGo = 6, kWhereItHolds = 3;
  const TomlValue* leaks = v.find("leaks");
  if (leaks && c.shape.kind != mpm::ShapeKind::revolution)
    file_.fail(leaks->place, "only the wall of a cup or a shell leaks", "leave leaks out");
  const bool allowed = leaks && file_.choice(*leaks, "leaks", {"refuse", "allow"}) == "allow";
  if (c.shape.kind != mpm::ShapeKind::revolution || c.contact == mpm::Contact::none) return;
  const double dx = scene_.model.dx;
  const bool lets_go = c.contact == mpm::Contact::separate || c.contact == mpm::Contact::coulomb;
  const double cells = lets_go ? kWhereItLetsGo : kWhereItHolds;
  if (c.shape.size[0] >= (cells - 1e-6) * dx) return;
  const std::string what = "the wall of '" + c.name + "' is " + number(c.shape.size[0] / dx, 2) +
                           " cells thick, and particles creep through one thinner than " + number(cells);
  if (!allowed)
    file_.fail(v.find("shape")->place, what,
               "make it " + number(cells * dx, 3) + " thick, reduce dx" +
                   (lets_go ? ", use contact = \"slip\"" : "") + ", or say leaks = \"allow\"");
  draft_.setup.notes.push_back(what + ": leaks are allowed");
}

float ParticlesReader::opacity_of(const TomlValue& v, const mpm::Shape& shape) const {
  double opacity = shape.kind == mpm::ShapeKind::revolution ? 0.35 : 1;
  if (const TomlValue* n = v.find("opacity")) {
    opacity = file_.number(*n, "opacity");
    if (opacity < 0 || opacity > 1) file_.fail(n->place, "opacity must be between 0 and 1");
  }
  return float(opacity);
}

// About z in two dimensions, a rotation vector in three.
void ParticlesReader::read_rotation(const TomlValue& v, std::array<double, 3>& rotation) const {
  const TomlValue* r = v.find("rotation_deg");
  if (!r) return;
  const std::vector<double> list =
      r->is(Kind::number) ? std::vector<double>{0, 0, r->number} : file_.numbers(*r, "rotation_deg");
  if (list.size() != 3) file_.fail(r->place, "rotation_deg must be an angle about z, or 3 numbers");
  for (std::size_t i = 0; i < 3; ++i) rotation[i] = list[i] * 3.14159265358979323846 / 180;
}

void ParticlesReader::read_bodies() {
  for (const TomlValue& v : file_.tables("bodies", 64)) read_body(v);
}

// A free rigid body. Its mass and inertia come from its density.
void ParticlesReader::read_body(const TomlValue& v) {
  file_.require_known_keys(v,
                           {"name", "shape", "position", "rotation_deg", "velocity", "density", "contact",
                            "friction", "band", "color"},
                           "[[bodies]]");
  mpm::Body b;
  b.name = file_.name_of(v, "body", "ball");
  for (const mpm::Body& other : scene_.model.bodies)
    if (other.name == b.name) file_.fail(v.find("name")->place, "there are two bodies '" + b.name + "'");
  if (scene_.rigid)
    for (const rigid::Body& other : scene_.rigid->bodies)
      if (other.name == b.name)
        file_.fail(v.find("name")->place, "the model has a body '" + b.name + "' already");
  b.shape =
      read_shape(file_.required(v, "shape", "this body", "add shape = {kind = \"sphere\", radius = 0.1}"));
  if (b.shape.kind == mpm::ShapeKind::plane)
    file_.fail(v.find("shape")->place, "a half space has no end, and no mass", "give a box");
  b.position =
      vector(file_.required(v, "position", "this body", "add position = [0.1, 0.0, 0.1]"), "position");
  read_rotation(v, b.rotation);
  if (const TomlValue* n = v.find("velocity")) b.velocity = vector(*n, "velocity");
  if (const TomlValue* n = v.find("contact")) {
    b.contact = contact(*n);
    if (b.contact == mpm::Contact::sticky)
      file_.fail(n->place, "a body's contact is slip, separate or coulomb");
  }
  b.friction = file_.not_negative_or(v, "friction", b.friction);
  b.band = file_.positive_or(v, "band", b.band);
  mpm::set_density(b,
                   file_.positive(file_.required(v, "density", "this body", "add density = 500"), "density"),
                   scene_.model.dimension);
  scene_.look.bodies.push_back(v.find("color") ? file_.color(*v.find("color")) : 0xc8553d);
  scene_.model.bodies.push_back(std::move(b));
}

study::Motion ParticlesReader::read_motion(const TomlValue& v, const std::string& collider) {
  using Where = study::Variable::Where;
  file_.table(v, "motion");
  file_.require_known_keys(v, {"position", "angle_deg", "axis", "pivot"}, "motion");
  const TomlValue& points = file_.required(v, "position", "motion",
                                           "add the control points of a spline: position = [[0, 0, 0], ...]");
  if (!points.is(Kind::array) || points.items.size() < 4 || points.items.size() > kMostPoints)
    file_.fail(points.place, "position must be 4 to 1000 control points");
  std::array<study::Path, 3> position;
  for (const TomlValue& point : points.items) {
    const auto p = vector(point, "a control point");
    for (std::size_t a = 0; a < 3; ++a) position[a].points.push_back(p[a]);
  }
  study::Path angle{.points = std::vector<double>(4, 0.0)};
  if (const TomlValue* degrees = v.find("angle_deg")) {
    angle.points = file_.numbers(*degrees, "angle_deg");
    if (angle.points.size() < 4 || angle.points.size() > kMostPoints)
      file_.fail(degrees->place, "angle_deg must be 4 to 1000 control points");
    for (double& a : angle.points) a *= kDegree;
  }
  study::Motion m{.collider = collider};
  std::vector<study::Path>& paths = draft_.setup.inputs.paths;
  const auto add = [&](const study::Path& path, const char* part, const std::string& suffix, double unit) {
    draft_.groups.push_back({.name = collider + part,
                             .where = Where::path,
                             .count = path.points.size(),
                             .path = paths.size(),
                             .indexed = true,
                             .suffix = suffix,
                             .unit = unit});
    paths.push_back(path);
    return paths.size() - 1;
  };
  for (std::size_t a = 0; a < 3; ++a) {
    m.position[a] = add(position[a], ".position", std::string(".") + "xyz"[a], 1);
    if (a == 2 && scene_.model.dimension == 2) draft_.groups.pop_back();
  }
  m.angle = add(angle, ".angle", "", kDegree);
  if (const TomlValue* pivot = v.find("pivot")) m.pivot = vector(*pivot, "pivot");
  if (const TomlValue* axis = v.find("axis")) {
    if (scene_.model.dimension == 2) file_.fail(axis->place, "in two dimensions the axis is z");
    m.axis = vector(*axis, "axis");
    const double size = std::sqrt(m.axis[0] * m.axis[0] + m.axis[1] * m.axis[1] + m.axis[2] * m.axis[2]);
    if (!(size > 0)) file_.fail(axis->place, "the axis has no direction");
    for (double& a : m.axis) a /= size;
  }
  return m;
}

}  // namespace costate::io
