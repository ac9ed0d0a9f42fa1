// <worldbody>: bodies with their joints, geoms, sites and inertials; frames and replicas.
#include <numbers>

#include "costate/io/model/mjcf_reader.h"
#include "costate/rigid/compile/compile_stages.h"

namespace costate::io {
namespace {

using rigid::GeomType;
using rigid::JointType;
using rigid::Rotation;
using rigid::Vector;

constexpr int kMaxDepth = 400;        // of bodies and frames
constexpr int kMaxReplicas = 10'000;  // in one model
const std::initializer_list<std::pair<const char*, GeomType>> kGeomTypes = {
    {"plane", GeomType::plane},
    {"hfield", GeomType::heightfield},
    {"sphere", GeomType::sphere},
    {"capsule", GeomType::capsule},
    {"ellipsoid", GeomType::ellipsoid},
    {"cylinder", GeomType::cylinder},
    {"box", GeomType::box},
    {"mesh", GeomType::mesh}};

// The suffix that tells replicas apart, on every name inside, before the `outer` letters of replicas around
// this one.
void add_suffix(XmlElement& e, const std::string& suffix, std::size_t outer) {
  for (XmlAttribute& a : e.attributes) {
    if (a.name == "name") a.value.insert(a.value.size() - std::min(outer, a.value.size()), suffix);
  }
  for (XmlElement& child : e.children) add_suffix(child, suffix, outer);
}

int elements_in(const XmlElement& e) {
  int count = 1;
  for (const XmlElement& child : e.children) count += elements_in(child);
  return count;
}

}  // namespace

double MjcfReader::angle_unit() const { return degrees_ ? std::numbers::pi / 180 : 1; }

void MjcfReader::orientation(XmlAttributes& a, Rotation& quat) const {
  const char* used = nullptr;
  const auto chosen = [&](const char* name) {
    if (!a.has(name)) return false;
    if (used) a.fail_at(name, "and '" + std::string(used) + "' exclude each other");
    used = name;
    return true;
  };
  try {
    if (chosen("quat")) {
      const std::vector<double> v = a.numbers("quat", 4, 4);
      quat = {v[0], v[1], v[2], v[3]};
      if (!(dot(quat, quat) > 1e-28)) a.fail_at("quat", "is zero");
      quat = normalized(quat);
    }
    if (chosen("axisangle")) {
      const std::vector<double> v = a.numbers("axisangle", 4, 4);
      quat = rigid::from_axis_angle({v[0], v[1], v[2]}, v[3] * angle_unit());
    }
    if (chosen("xyaxes")) {
      const std::vector<double> v = a.numbers("xyaxes", 6, 6);
      quat = rigid::from_xy_axes({v[0], v[1], v[2]}, {v[3], v[4], v[5]});
    }
    if (chosen("zaxis")) {
      const std::vector<double> v = a.numbers("zaxis", 3, 3);
      quat = rigid::from_z_axis({v[0], v[1], v[2]});
    }
    if (chosen("euler")) {
      const std::vector<double> v = a.numbers("euler", 3, 3);
      quat = rigid::from_euler(angle_unit() * Vector{v[0], v[1], v[2]}, euler_sequence_);
    }
  } catch (const Error& error) {
    if (!error.message().where.empty()) throw;
    a.fail_at(used, "gives no orientation: " + error.message().what);
  }
  a.ignore({"quat", "axisangle", "xyaxes", "zaxis", "euler"});  // known names
}

void MjcfReader::joint(XmlAttributes& a, rigid::JointSpec& j) {
  j.where = a.where();
  a.read("name", j.name);
  a.choose("type", j.type,
           {{"free", JointType::free},
            {"ball", JointType::ball},
            {"slide", JointType::slide},
            {"hinge", JointType::hinge}});
  a.read("pos", j.pos);
  a.read("axis", j.axis);
  for (const auto& [name, value] : {std::pair{"stiffness", &j.stiffness}, {"damping", &j.damping}}) {
    const std::vector<double> v =
        a.numbers_then_zeros(name, 1, 8);  // further numbers: powers of the displacement
    if (!v.empty()) *value = v[0];
  }
  a.read("armature", j.armature);
  a.read("frictionloss", j.frictionloss);
  a.read("ref", j.ref);
  a.read("springref", j.springref);
  a.read("springdamper", j.springdamper);
  a.read("limited", j.limited);
  a.read("range", j.range);
  a.read("margin", j.margin);
  read_softness(a, "solreflimit", "solimplimit", j.limit);
  read_softness(a, "solreffriction", "solimpfriction", j.friction);
  a.read("actuatorfrclimited", j.actuator_force_limited);
  a.read("actuatorfrcrange", j.actuator_force_range);
  a.read("actuatorgravcomp", j.actuator_gravity_compensation);
  a.read("group", j.group);
  a.refuse({"springyield"});
  a.ignore({"user"});
  if (j.type == JointType::hinge || j.type == JointType::ball) {
    for (double& limit : j.range) limit *= angle_unit();
  }
  if (j.type == JointType::hinge) {
    j.ref *= angle_unit();
    j.springref *= angle_unit();
  }
}

void MjcfReader::freejoint(const XmlElement& e, rigid::BodySpec& body) {
  XmlAttributes a(e);  // default classes do not apply
  rigid::JointSpec j;
  j.type = JointType::free;
  j.where = e.where();
  a.read("name", j.name);
  a.read("group", j.group);
  std::optional<bool> align;
  a.read("align", align);
  if (align.value_or(false))
    a.fail_at("align", "is not supported: bodies keep the frames that the file gives them");
  a.finish();
  body.add(std::move(j));
}

void MjcfReader::geom(XmlAttributes& a, rigid::GeomSpec& g) {
  g.where = a.where();
  a.read("name", g.name);
  a.choose("type", g.type, kGeomTypes);
  a.read_some("size", g.size);
  a.read("pos", g.pos);
  orientation(a, g.quat);
  a.read("fromto", g.fromto);
  a.read("mass", g.mass, "density", g.density);
  a.read("mesh", g.mesh, "hfield", g.hfield, "fitscale", g.fit_scale);
  a.read("contype", g.contype, "conaffinity", g.conaffinity, "condim", g.condim, "priority", g.priority);
  a.read("group", g.group);
  a.read_some("friction", g.friction);
  a.read("solmix", g.solmix);
  read_softness(a, "solref", "solimp", g.contact);
  a.read("margin", g.margin);
  a.read("gap", g.gap);
  a.choose("fluidshape", g.fluid_ellipsoid, {{"none", false}, {"ellipsoid", true}});
  a.read_some("fluidcoef", g.fluid_coefficients);
  if (a.is_blank("rgba"))
    a.ignore({"rgba"});
  else
    a.read_some("rgba", g.rgba);
  bool shell = false;
  a.read("shellinertia", shell);
  if (shell) a.fail_at("shellinertia", "is not supported", "give the body an inertial element");
  a.refuse({"surfacevel", "adhesion"});
  a.ignore({"material", "user", "castshadow"});
}

void MjcfReader::site(XmlAttributes& a, rigid::SiteSpec& s) {
  s.where = a.where();
  a.read("name", s.name);
  a.choose("type", s.type, kGeomTypes);
  a.read_some("size", s.size);
  a.read("pos", s.pos);
  orientation(a, s.quat);
  a.read("fromto", s.fromto);
  a.read("group", s.group);
  a.ignore({"material", "rgba", "user", "mesh"});
}

void MjcfReader::inertial(const XmlElement& e, rigid::BodySpec& body) {
  XmlAttributes a(e);
  rigid::InertialSpec i;
  i.where = e.where();
  if (body.inertial) a.fail("is there twice");
  a.required("pos");
  a.required("mass");
  a.read("pos", i.pos);
  a.read("mass", i.mass);
  orientation(a, i.quat);
  std::array<double, 3> diagonal{};
  std::array<double, 6> full{};
  a.read("diaginertia", diagonal);
  a.read("fullinertia", full);
  if (a.has("diaginertia") == a.has("fullinertia")) a.fail("needs either diaginertia or fullinertia");
  const bool turned =
      a.has("quat") || a.has("axisangle") || a.has("xyaxes") || a.has("zaxis") || a.has("euler");
  if (a.has("fullinertia") && turned) a.fail_at("fullinertia", "and an orientation exclude each other");
  i.inertia = a.has("diaginertia") ? Sym3<double>::diagonal(diagonal[0], diagonal[1], diagonal[2])
                                   : Sym3<double>{full[0], full[1], full[2], full[3], full[4], full[5]};
  a.finish();
  body.set(std::move(i));
}

void MjcfReader::frame(const XmlElement& e, rigid::BodySpec& parent, const std::string& child_class,
                       const Frame& outer, int depth) {
  XmlAttributes a(e);
  std::string name, own_class = child_class;
  Vector pos{0, 0, 0};
  Rotation quat{1, 0, 0, 0};
  a.read("name", name);
  a.read("childclass", own_class);
  if (a.has("childclass")) defaults_.require(own_class, e.place);
  a.read("pos", pos);
  orientation(a, quat);
  a.refuse({"scale", "scaling"});
  a.finish();
  body_children(e, parent, own_class,
                {outer.pos + rotate(outer.quat, pos), outer.quat * quat, true, outer.suffix}, depth + 1);
}

void MjcfReader::replicate(const XmlElement& e, rigid::BodySpec& parent, const std::string& child_class,
                           const Frame& outer, int depth) {
  XmlAttributes a(e);
  int count = 0;
  std::string separator;
  Vector offset{0, 0, 0}, euler{0, 0, 0};
  a.required("count");
  a.read("count", count);
  a.read("sep", separator);
  a.read("offset", offset);
  a.read("euler", euler);
  a.finish();
  if (count < 1 || count > kMaxReplicas)
    a.fail_at("count", "must be from 1 to " + std::to_string(kMaxReplicas));
  replicated_ += count * std::min(elements_in(e), kMaxXmlElements);
  if (replicated_ > kMaxXmlElements) a.fail("makes too many elements");
  for (const XmlElement& child : e.children) {
    if (child.name == "joint" || child.name == "freejoint")
      throw Error({"<" + child.name + "> cannot be replicated", child.where(), "put it into a <body>"});
  }
  // Replica i is turned by i times the angles, and stands one offset, so turned, from the one before.
  Frame at = outer;
  at.moved = true;
  const std::size_t digits = std::to_string(count - 1).size();
  for (int i = 0; i < count; ++i) {
    XmlElement copy = e;
    std::string number = std::to_string(i);
    number.insert(0, digits - number.size(), '0');
    for (XmlElement& child : copy.children) add_suffix(child, separator + number, outer.suffix);
    at.quat = outer.quat * rigid::from_euler(i * angle_unit() * euler, euler_sequence_);
    at.suffix = outer.suffix + separator.size() + digits;
    body_children(copy, parent, child_class, at, depth + 1);
    at.pos = at.pos + rotate(at.quat, offset);
  }
}

void MjcfReader::body(const XmlElement& e, rigid::BodySpec& parent, const std::string& child_class,
                      const Frame& frame, int depth) {
  XmlAttributes a(e);
  rigid::BodySpec b;
  b.where = e.where();
  std::string own_class = child_class;
  a.read("name", b.name);
  a.read("childclass", own_class);
  if (a.has("childclass")) defaults_.require(own_class, e.place);
  a.read("pos", b.pos);
  orientation(a, b.quat);
  a.read("gravcomp", b.gravcomp);
  a.read("mocap", b.mocap);
  if (b.mocap) spec_.warnings.push_back(a.where() + ": a mocap body stays where the file puts it");
  a.ignore({"user", "sleep", "simple", "fuse"});
  a.finish();
  b.pos = frame.pos + rotate(frame.quat, b.pos);
  b.quat = frame.quat * b.quat;
  body_children(e, parent.add(std::move(b)), own_class, {.suffix = frame.suffix}, depth + 1);
}

void MjcfReader::body_children(const XmlElement& e, rigid::BodySpec& b, const std::string& child_class,
                               const Frame& at, int depth) {
  if (depth > kMaxDepth) throw Error({"bodies are nested too deeply", e.where(), {}});
  const auto add_placed = [&](const XmlElement& child, auto element, auto attributes) {
    XmlAttributes a = with_defaults(child, child_class);
    (this->*attributes)(a, element);
    a.finish();
    if (element.fromto && at.moved) {
      rigid::stages::resolve_fromto(element.type, *element.fromto,
                                    rigid::stages::title(child.name.c_str(), element), element.where,
                                    element.size, element.pos, element.quat);
      element.fromto.reset();
    }
    if (at.moved) {
      element.pos = at.pos + rotate(at.quat, element.pos);
      element.quat = at.quat * element.quat;
    }
    b.add(std::move(element));
  };
  for (const XmlElement& child : e.children) {
    if (child.name == "body") {
      body(child, b, child_class, at, depth);
    } else if (child.name == "geom") {
      add_placed(child, rigid::GeomSpec{}, &MjcfReader::geom);
    } else if (child.name == "joint") {
      XmlAttributes a = with_defaults(child, child_class);
      rigid::JointSpec j;
      joint(a, j);
      a.finish();
      if (at.moved) {
        j.pos = at.pos + rotate(at.quat, j.pos);
        j.axis = rotate(at.quat, j.axis);
      }
      b.add(std::move(j));
    } else if (child.name == "freejoint") {
      freejoint(child, b);
    } else if (child.name == "site") {
      add_placed(child, rigid::SiteSpec{}, &MjcfReader::site);
    } else if (child.name == "inertial") {
      if (at.moved)
        throw Error({"<inertial> in a <frame> is not supported", child.where(), "put it into the body"});
      inertial(child, b);
    } else if (child.name == "frame") {
      frame(child, b, child_class, at, depth);
    } else if (child.name == "replicate") {
      replicate(child, b, child_class, at, depth);
    } else if (child.name != "camera" && child.name != "light") {
      fail_unknown_element(
          child, e.name,
          {"body", "geom", "joint", "freejoint", "site", "inertial", "frame", "replicate", "camera", "light"},
          {"plugin", "composite", "flexcomp", "attach"});
    }
  }
}

}  // namespace costate::io
