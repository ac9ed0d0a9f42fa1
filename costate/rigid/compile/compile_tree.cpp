// Bodies, joints, geoms and sites: numbers, frames, sizes, and what must hold of each.
#include <cmath>

#include "costate/rigid/compile/compile_stages.h"

namespace costate::rigid::stages {
namespace {

constexpr int kMaxDepth = 1000;

bool finite(const Vector& v) { return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z); }

Rotation unit(const Rotation& q, const std::string& who, const std::string& where) {
  const double square = dot(q, q);
  if (!(square > 1e-28) || !std::isfinite(square)) fail(who, "its quaternion is zero or not finite", where);
  return normalized(q);
}

void check_not_negative(double value, const char* name, const std::string& who, const std::string& where) {
  if (!(value >= 0) || !std::isfinite(value)) fail(who, std::string(name) + " must not be negative", where);
}

void add_joint(Compilation& c, const JointSpec& s, int body) {
  const std::string who = title("joint", s);
  Joint j;
  j.name = s.name;
  j.type = s.type;
  j.body = body;
  const bool scalar = s.type == JointType::slide || s.type == JointType::hinge;
  if (!finite(s.pos) || !finite(s.axis)) fail(who, "its position or axis is not finite", s.where);
  if (scalar) {
    const double length = norm(s.axis);
    if (!(length > 1e-14)) fail(who, "its axis has no length", s.where);
    j.axis = to_array(s.axis / length);
    j.ref = s.ref;
    j.springref = s.springref;
  }
  if (s.type != JointType::free) j.pos = to_array(s.pos);
  if (s.type == JointType::free && (c.model.bodies[body].parent != 0))
    fail(who, "a free joint may only be in a body of the world", s.where);

  // A free joint has no limits, whatever its default class says.
  if (s.type != JointType::free) j.limited = is_limited(c, s.limited, s.range, who, "range", s.where);
  if (j.limited && s.type == JointType::ball && s.range[0] != 0)
    fail(who, "the range of a ball joint starts at 0 (its second number is the largest angle)", s.where);
  j.range = s.range;
  j.margin = s.margin;
  j.limit = s.limit;
  j.friction = s.friction;

  check_not_negative(s.stiffness, "stiffness", who, s.where);
  check_not_negative(s.damping, "damping", who, s.where);
  check_not_negative(s.armature, "armature", who, s.where);
  check_not_negative(s.frictionloss, "frictionloss", who, s.where);
  j.stiffness = s.stiffness;
  j.damping = s.damping;
  j.armature = s.armature;
  j.frictionloss = s.frictionloss;

  j.actuator_force_limited =
      is_limited(c, s.actuator_force_limited, s.actuator_force_range, who, "actuatorfrcrange", s.where);
  if (j.actuator_force_limited && !scalar)
    fail(who, "actuator forces can be limited only at slide and hinge joints", s.where);
  j.actuator_force_range = s.actuator_force_range;
  j.actuator_gravcomp = s.actuator_gravity_compensation;

  c.joints.add(s.name, int(c.model.joints.size()), s.where);
  c.model.joints.push_back(std::move(j));
}

void check_size(const GeomSpec& s, const Double3& size, const std::string& who) {
  const int needed = geometry::traits(s.type).sizes;
  for (int i = 0; i < needed; ++i) {
    if (!(size[i] > 0) || !std::isfinite(size[i]))
      fail(who, "number " + std::to_string(i + 1) + " of its size must be positive", s.where,
           needed == 1 ? "a sphere needs a radius" : "sizes are radii and half lengths");
  }
}

void add_geom(Compilation& c, const GeomSpec& s, int body, const std::vector<CompiledMesh>& meshes) {
  const std::string who = title("geom", s);
  Geom g;
  g.name = s.name;
  g.type = s.type;
  g.body = body;
  g.size = s.size;
  Vector pos = s.pos;
  Rotation quat = unit(s.quat, who, s.where);
  if (s.fromto && !s.mesh.empty()) fail(who, "fromto does not go with a mesh", s.where);
  if (s.fromto) resolve_fromto(s.type, *s.fromto, who, s.where, g.size, pos, quat);
  if (s.type == GeomType::mesh && s.mesh.empty()) fail(who, "a geom of type mesh needs a mesh", s.where);
  if (!s.mesh.empty()) {
    const int index = c.meshes.find(s.mesh, who, s.where);
    const CompiledMesh& mesh = meshes[index];
    Vector center = mesh.pos;
    if (s.type == GeomType::mesh) {
      g.mesh = index;
    } else {
      if (s.type == GeomType::plane || s.type == GeomType::heightfield)
        fail(who, "a plane or height field is not fitted to a mesh", s.where);
      if (!(mesh.volume > 0)) fail(who, "its mesh has no volume to fit a shape to", s.where);
      const FittedShape fit = fit_shape(s.type, mesh, c.model.meshes[index], c.spec.compiler.fit_box);
      for (std::size_t i = 0; i < 3; ++i) g.size[i] = s.fit_scale * fit.size[i];
      center += rotate(mesh.quat, fit.center);
    }
    pos += rotate(quat, center);
    quat = quat * mesh.quat;
  }
  check_size(s, g.size, who);
  if (s.type == GeomType::mesh) {
    for (const Double3& v : c.model.meshes[g.mesh].vertices) {
      for (std::size_t i = 0; i < 3; ++i) g.size[i] = std::max(g.size[i], std::abs(v[i]));
    }
  }
  if (s.type == GeomType::heightfield) {
    if (s.hfield.empty()) fail(who, "a geom of type hfield needs a height field", s.where);
    g.heightfield = c.hfields.find(s.hfield, who, s.where);
    const Double4& size = c.model.heightfields[g.heightfield].size;
    g.size = {size[0], size[1], 0.25 * size[2] + 0.5 * size[3]};
  }
  if ((s.type == GeomType::plane || s.type == GeomType::heightfield) && body != 0 &&
      c.model.bodies[body].joints > 0 && (s.contype != 0 || s.conaffinity != 0))
    fail(who, "a plane or height field that collides must not move", s.where,
         "put it into a body without joints");
  if (!finite(pos)) fail(who, "its position is not finite", s.where);
  if (s.condim != 1 && s.condim != 3 && s.condim != 4 && s.condim != 6)
    fail(who, "condim must be 1, 3, 4 or 6", s.where);
  for (const double f : s.friction) check_not_negative(f, "friction", who, s.where);
  check_not_negative(s.solmix, "solmix", who, s.where);
  g.pos = to_array(pos);
  g.quat = to_array(quat);
  g.friction = s.friction;
  g.condim = s.condim;
  g.contype = s.contype;
  g.conaffinity = s.conaffinity;
  g.priority = s.priority;
  g.group = s.group;
  g.contact = s.contact;
  g.solmix = s.solmix;
  g.margin = s.margin;
  g.gap = s.gap;
  g.fluid_ellipsoid = s.fluid_ellipsoid;
  g.fluid_coefficients = s.fluid_coefficients;
  g.rgba = s.rgba;
  c.geoms.add(s.name, int(c.model.geoms.size()), s.where);
  c.model.geoms.push_back(std::move(g));
}

void add_site(Compilation& c, const SiteSpec& s, int body) {
  const std::string who = title("site", s);
  Site site;
  site.name = s.name;
  site.body = body;
  site.type = s.type;
  site.size = s.size;
  Vector pos = s.pos;
  Rotation quat = unit(s.quat, who, s.where);
  if (s.fromto) resolve_fromto(s.type, *s.fromto, who, s.where, site.size, pos, quat);
  if (!finite(pos)) fail(who, "its position is not finite", s.where);
  site.pos = to_array(pos);
  site.quat = to_array(quat);
  c.sites.add(s.name, int(c.model.sites.size()), s.where);
  c.model.sites.push_back(std::move(site));
}

void add_body(Compilation& c, const BodySpec& s, int parent, int depth,
              const std::vector<CompiledMesh>& meshes) {
  const std::string who = title("body", s);
  if (depth > kMaxDepth) fail(who, "bodies are nested too deeply", s.where);
  const int index = int(c.model.bodies.size());
  Body b;
  b.name = s.name;
  b.parent = parent;
  if (!finite(s.pos)) fail(who, "its position is not finite", s.where);
  b.pos = to_array(s.pos);
  b.quat = to_array(unit(s.quat, who, s.where));
  b.gravcomp = s.gravcomp;
  b.mocap = s.mocap;
  b.joints = int(s.joints.size());
  if (s.mocap && (parent != 0 || !s.joints.empty()))
    fail(who, "a mocap body must be a child of the world and have no joints", s.where);
  if (parent < 0 && !s.joints.empty()) fail(who, "the world cannot have joints", s.where);
  c.bodies.add(parent < 0 ? std::string("world") : s.name, index, s.where);
  c.model.bodies.push_back(std::move(b));
  c.body_specs.push_back(&s);

  bool has_free = false;
  for (const JointSpec& j : s.joints) {
    has_free = has_free || j.type == JointType::free;
    add_joint(c, j, index);
  }
  if (has_free && s.joints.size() > 1)
    fail(who, "a free joint must be the only joint of its body", s.joints.back().where);
  for (const GeomSpec& g : s.geoms) add_geom(c, g, index, meshes);
  for (const SiteSpec& site : s.sites) add_site(c, site, index);
  for (const BodySpec& child : s.children) add_body(c, child, index, depth + 1, meshes);
}

}  // namespace

void resolve_fromto(GeomType type, const Double6& ends, const std::string& who, const std::string& where,
                    Double3& size, Vector& pos, Rotation& quat) {
  const Vector from{ends[0], ends[1], ends[2]}, to{ends[3], ends[4], ends[5]};
  const double length = norm(from - to);
  if (!(length > 1e-14) || !std::isfinite(length)) fail(who, "the two points of fromto are the same", where);
  switch (type) {
    case GeomType::capsule:
    case GeomType::cylinder:
      size[1] = length / 2;
      break;
    case GeomType::box:
    case GeomType::ellipsoid:
      size[1] = size[0];
      size[2] = length / 2;
      break;
    default:
      fail(who, "fromto is for capsules, cylinders, boxes and ellipsoids", where);
  }
  pos = 0.5 * (from + to);
  quat = from_z_axis(from - to);
}

void compile_tree(Compilation& c, const std::vector<CompiledMesh>& meshes) {
  add_body(c, c.spec.world, -1, 0, meshes);
}

}  // namespace costate::rigid::stages
