// Contacts, tendons, equalities, sensors and keyframes: names become indices, and what is measured at qpos0
// is measured.
#include <algorithm>
#include <cmath>

#include "costate/rigid/compile/compile_stages.h"

namespace costate::rigid::stages {
namespace {

struct Pose {
  Vector pos;
  Rotation quat;
};

// Of every body in the world, in the configuration that the frames describe.
std::vector<Pose> poses_at_reference(const Model& m) {
  std::vector<Pose> poses;
  for (const Body& b : m.bodies) {
    const Pose own{to_vector(b.pos), to_rotation(b.quat)};
    if (b.parent < 0) {
      poses.push_back({{0, 0, 0}, {1, 0, 0, 0}});
      continue;
    }
    const Pose& parent = poses[b.parent];
    poses.push_back({parent.pos + rotate(parent.quat, own.pos), normalized(parent.quat * own.quat)});
  }
  return poses;
}

// Where a point of one frame is in another.
Vector carried(const Pose& from, const Pose& to, const Vector& point) {
  return rotate_back(to.quat, from.pos + rotate(from.quat, point) - to.pos);
}

int size_of(SensorType type) {
  switch (type) {
    case SensorType::ballquat:
    case SensorType::framequat:
      return 4;
    case SensorType::ballangvel:
    case SensorType::framepos:
    case SensorType::framexaxis:
    case SensorType::frameyaxis:
    case SensorType::framezaxis:
    case SensorType::framelinvel:
    case SensorType::frameangvel:
    case SensorType::framelinacc:
    case SensorType::frameangacc:
    case SensorType::accelerometer:
    case SensorType::velocimeter:
    case SensorType::gyro:
    case SensorType::force:
    case SensorType::torque:
    case SensorType::magnetometer:
    case SensorType::subtreecom:
    case SensorType::subtreelinvel:
    case SensorType::subtreeangmom:
      return 3;
    default:
      return 1;
  }
}

int find_object(const Compilation& c, ObjectType type, const std::string& name, const std::string& who,
                const std::string& where) {
  switch (type) {
    case ObjectType::none:
      return -1;
    case ObjectType::body:
    case ObjectType::xbody:
      return c.bodies.find(name, who, where);
    case ObjectType::joint:
      return c.joints.find(name, who, where);
    case ObjectType::geom:
      return c.geoms.find(name, who, where);
    case ObjectType::site:
      return c.sites.find(name, who, where);
    case ObjectType::tendon:
      return c.tendons.find(name, who, where);
    case ObjectType::actuator:
      return c.actuators.find(name, who, where);
  }
  return -1;
}

}  // namespace

void compile_contacts(Compilation& c) {
  for (const PairSpec& s : c.spec.pairs) {
    const std::string who = title("pair", s);
    ContactPair p;
    p.name = s.name;
    p.first = c.geoms.find(s.geom1, who, s.where);
    p.second = c.geoms.find(s.geom2, who, s.where);
    p.condim = s.condim;
    if (p.condim != 1 && p.condim != 3 && p.condim != 4 && p.condim != 6)
      fail(who, "condim must be 1, 3, 4 or 6", s.where);
    p.friction = s.friction;
    p.contact = s.contact;
    p.solreffriction = s.solreffriction;
    p.margin = s.margin;
    p.gap = s.gap;
    c.model.pairs.push_back(std::move(p));
  }
  for (const ExcludeSpec& s : c.spec.excludes) {
    const std::string who = title("exclude", s);
    c.model.excludes.push_back(
        {s.name, c.bodies.find(s.body1, who, s.where), c.bodies.find(s.body2, who, s.where)});
  }
}

void compile_tendons(Compilation& c) {
  for (const TendonSpec& s : c.spec.tendons) {
    const std::string who = title("tendon", s);
    Tendon t;
    t.name = s.name;
    t.type = s.type;
    t.first_wrap = int(c.model.wraps.size());
    t.wraps = int(s.path.size());
    if (s.path.empty()) fail(who, "it has no path", s.where, "a tendon needs joints, or sites to go through");
    for (std::size_t i = 0; i < s.path.size(); ++i) {
      const TendonPoint& p = s.path[i];
      Wrap w;
      w.value = p.value;
      if ((p.kind == TendonPoint::Kind::joint) != (s.type == TendonType::fixed))
        fail(who, "a fixed tendon goes over joints, a spatial one over sites, geoms and pulleys", p.where);
      switch (p.kind) {
        case TendonPoint::Kind::joint:
          w.type = WrapType::joint;
          w.object = c.joints.find(p.object, who, p.where);
          if (c.model.joints[w.object].type == JointType::free ||
              c.model.joints[w.object].type == JointType::ball)
            fail(who, "a fixed tendon goes over slide and hinge joints only", p.where);
          break;
        case TendonPoint::Kind::site:
          w.type = WrapType::site;
          w.object = c.sites.find(p.object, who, p.where);
          break;
        case TendonPoint::Kind::geom: {
          w.object = c.geoms.find(p.object, who, p.where);
          const GeomType type = c.model.geoms[w.object].type;
          if (type != GeomType::sphere && type != GeomType::cylinder)
            fail(who, "a tendon wraps around spheres and cylinders only", p.where);
          w.type = type == GeomType::sphere ? WrapType::sphere : WrapType::cylinder;
          if (!p.sidesite.empty()) w.side_site = c.sites.find(p.sidesite, who, p.where);
          const auto is_site = [&](std::size_t k) {
            return k < s.path.size() && s.path[k].kind == TendonPoint::Kind::site;
          };
          if (i == 0 || !is_site(i - 1) || !is_site(i + 1))
            fail(who, "a geom must be between two sites", p.where);
          break;
        }
        case TendonPoint::Kind::pulley:
          w.type = WrapType::pulley;
          if (!(p.value > 0)) fail(who, "the divisor of a pulley must be positive", p.where);
          break;
      }
      c.model.wraps.push_back(w);
    }
    const auto sites = std::count_if(s.path.begin(), s.path.end(),
                                     [](const TendonPoint& p) { return p.kind == TendonPoint::Kind::site; });
    if (s.type == TendonType::spatial && sites < 2) fail(who, "a spatial tendon needs two sites", s.where);
    if (s.stiffness < 0 || s.damping < 0 || s.frictionloss < 0 || s.armature < 0)
      fail(who, "stiffness, damping, frictionloss and armature must not be negative", s.where);
    t.limited = is_limited(c, s.limited, s.range, who, "range", s.where);
    t.range = s.range;
    t.margin = s.margin;
    t.limit = s.limit;
    t.stiffness = s.stiffness;
    t.damping = s.damping;
    t.frictionloss = s.frictionloss;
    t.armature = s.armature;
    t.friction = s.friction;
    t.springlength = s.springlength;
    if (s.springlength[0] > s.springlength[1])
      fail(who, "springlength: the first number must not be larger than the second", s.where);
    t.actuator_force_limited =
        is_limited(c, s.actuator_force_limited, s.actuator_force_range, who, "actuatorfrcrange", s.where);
    t.actuator_force_range = s.actuator_force_range;
    c.tendons.add(s.name, int(c.model.tendons.size()), s.where);
    c.model.tendons.push_back(std::move(t));
  }
}

void compile_equalities(Compilation& c) {
  const std::vector<Pose> poses =
      c.spec.equalities.empty() ? std::vector<Pose>() : poses_at_reference(c.model);
  for (const EqualitySpec& s : c.spec.equalities) {
    const std::string who = title("equality", s);
    Equality e;
    e.name = s.name;
    e.type = s.type;
    e.active = s.active;
    e.softness = s.softness;
    e.torquescale = s.torquescale;
    e.polycoef = s.polycoef;
    if (s.type == EqualityType::joint || s.type == EqualityType::tendon) {
      const Names& names = s.type == EqualityType::joint ? c.joints : c.tendons;
      e.first = names.find(s.first, who, s.where);
      if (!s.second.empty()) e.second = names.find(s.second, who, s.where);
      const auto scalar = [&](int joint) {
        const JointType type = c.model.joints[joint].type;
        return type == JointType::slide || type == JointType::hinge;
      };
      if (s.type == EqualityType::joint && (!scalar(e.first) || (e.second >= 0 && !scalar(e.second))))
        fail(who, "only slide and hinge joints can be coupled", s.where);
    } else if (s.sites) {
      const Site& a = c.model.sites[c.sites.find(s.first, who, s.where)];
      const Site& b = c.model.sites[c.sites.find(s.second, who, s.where)];
      e.first = a.body;
      e.second = b.body;
      const bool weld = s.type == EqualityType::weld;
      e.anchor = weld ? b.pos : a.pos;
      e.other_anchor = weld ? a.pos : b.pos;
      e.relative_quat = to_array(to_rotation(a.quat) * conjugate(to_rotation(b.quat)));
    } else {
      e.first = c.bodies.find(s.first, who, s.where);
      e.second = s.second.empty() ? 0 : c.bodies.find(s.second, who, s.where);
      const Pose &first = poses[e.first], &second = poses[e.second];
      e.anchor = to_array(s.anchor);
      if (s.type == EqualityType::connect) {
        e.other_anchor = to_array(carried(first, second, s.anchor));
      } else if (s.relpose) {
        const auto& r = *s.relpose;
        e.other_anchor = {r[0], r[1], r[2]};
        const Rotation q{r[3], r[4], r[5], r[6]};
        if (!(dot(q, q) > 1e-28)) fail(who, "the quaternion of its relpose is zero", s.where);
        e.relative_quat = to_array(normalized(q));
      } else {
        e.other_anchor = to_array(carried(second, first, s.anchor));
        e.relative_quat = to_array(normalized(conjugate(first.quat) * second.quat));
      }
    }
    if (e.first == e.second) fail(who, "it couples an element with itself", s.where);
    c.model.equalities.push_back(std::move(e));
  }
}

void compile_sensors(Compilation& c) {
  int address = 0;
  for (const SensorSpec& spec : c.spec.sensors) {
    const std::string who = title("sensor", spec);
    Sensor s;
    s.name = spec.name;
    s.type = spec.type;
    s.object_type = spec.object_type;
    s.object = find_object(c, spec.object_type, spec.object, who, spec.where);
    s.reference_type = spec.reference_type;
    s.reference = find_object(c, spec.reference_type, spec.reference, who, spec.where);
    if (spec.object_type == ObjectType::joint) {
      const JointType type = c.model.joints[s.object].type;
      const bool wants_ball = spec.type == SensorType::ballquat || spec.type == SensorType::ballangvel;
      const bool limit = spec.type == SensorType::jointlimitpos || spec.type == SensorType::jointlimitvel ||
                         spec.type == SensorType::jointlimitfrc;
      if (!limit && wants_ball != (type == JointType::ball))
        fail(who, wants_ball ? "it belongs to a ball joint" : "it belongs to a slide or hinge joint",
             spec.where);
      if (!limit && type == JointType::free) fail(who, "it cannot belong to a free joint", spec.where);
      if (limit && !c.model.joints[s.object].limited)
        fail(who, "joint '" + spec.object + "' has no limits", spec.where);
    }
    s.cutoff = spec.cutoff;
    s.noise = spec.noise;
    s.address = address;
    s.size = size_of(spec.type);
    address += s.size;
    c.model.sensors.push_back(std::move(s));
  }
}

void compile_keyframes(Compilation& c) {
  const Model& m = c.model;
  for (const KeyframeSpec& s : c.spec.keyframes) {
    const std::string who = title("key", s);
    const auto filled = [&](const std::vector<double>& given, std::size_t size, const char* name) {
      if (!given.empty() && given.size() != size)
        fail(who,
             std::string(name) + " has " + std::to_string(given.size()) + " numbers, but the model has " +
                 std::to_string(size),
             s.where);
      return given.empty() ? std::vector<double>(size, 0.0) : given;
    };
    Keyframe k{.name = s.name,
               .time = s.time,
               .qpos = filled(s.qpos, m.qpos0.size(), "qpos"),
               .qvel = filled(s.qvel, std::size_t(m.nv), "qvel"),
               .act = filled(s.act, std::size_t(m.na), "act"),
               .ctrl = filled(s.ctrl, m.actuators.size(), "ctrl")};
    if (s.qpos.empty()) k.qpos = m.qpos0;
    for (const Joint& j : m.joints) {
      if (j.type != JointType::free && j.type != JointType::ball) continue;
      double* const q = k.qpos.data() + j.qpos + (j.type == JointType::free ? 3 : 0);
      const Rotation unit = normalized(Rotation{q[0], q[1], q[2], q[3]});
      q[0] = unit.w, q[1] = unit.x, q[2] = unit.y, q[3] = unit.z;
    }
    c.model.keyframes.push_back(std::move(k));
  }
}

}  // namespace costate::rigid::stages
