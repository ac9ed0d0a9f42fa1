#include "costate/rigid/observe/resolve.h"

#include <algorithm>

#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate::rigid {
namespace {

using Kind = Observed::Kind;

template <class Elements>
std::vector<std::string> names_in(const Elements& elements) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < elements.size(); ++i) names.push_back(name_of(elements[i].name, i));
  return names;
}

// What a path is about: "site", "tip", "velocity".
struct Path {
  std::string kind, name, part;
};

// What can be asked of a frame; the last ones of sites, bodies or geoms only.
struct Part {
  const char* name;
  Kind kind;
  bool local = false, weightless = true;
};
constexpr Part kFrameParts[] = {
    {.name = "velocity", .kind = Kind::velocity},
    {.name = "angular_velocity", .kind = Kind::angular_velocity},
    {.name = "acceleration", .kind = Kind::acceleration},
    {.name = "proper_acceleration", .kind = Kind::acceleration, .weightless = false},
    {.name = "angular_acceleration", .kind = Kind::angular_acceleration},
    {.name = "quaternion", .kind = Kind::quaternion},
    {.name = "xaxis", .kind = Kind::axis},
    {.name = "yaxis", .kind = Kind::axis},
    {.name = "zaxis", .kind = Kind::axis},
};
constexpr Part kSiteParts[] = {
    {.name = "gyro", .kind = Kind::angular_velocity, .local = true},
    {.name = "velocimeter", .kind = Kind::velocity, .local = true},
    {.name = "accelerometer", .kind = Kind::acceleration, .local = true, .weightless = false},
    {.name = "magnetometer", .kind = Kind::field, .local = true},
    {.name = "force", .kind = Kind::force, .local = true},
    {.name = "torque", .kind = Kind::torque, .local = true},
    {.name = "touch", .kind = Kind::touch},
};
constexpr const char* kOtherParts[] = {"com", "contact", "contact_torque", "length", "angular_momentum"};

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& advice) {
  throw Error({what, path, advice});
}

template <std::size_t n>
const Part* find(const Part (&parts)[n], const std::string& name) {
  for (const Part& part : parts)
    if (name == part.name) return &part;
  return nullptr;
}
bool is_part(const std::string& name) {
  return find(kFrameParts, name) || find(kSiteParts, name) ||
         std::find(std::begin(kOtherParts), std::end(kOtherParts), name) != std::end(kOtherParts);
}

Path split(const std::string& path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos)
    refuse(path, "this names no quantity of the model",
           "write site/NAME, body/NAME, geom/NAME, joint/NAME, tendon/NAME, actuator/NAME, subtree/NAME, "
           "sensor/NAME or energy/kinetic, and /velocity, /xaxis, ... behind the first");
  Path r{path.substr(0, slash), path.substr(slash + 1), ""};
  const std::size_t last = r.name.rfind('/');
  if (last == std::string::npos || !is_part(r.name.substr(last + 1))) return r;
  r.part = r.name.substr(last + 1);
  r.name.resize(last);
  return r;
}

std::size_t index_of(const std::string& path, const std::string& kind, const std::string& name,
                     const std::vector<std::string>& names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return std::size_t(at - names.begin());
  const std::string near = nearest_name(name, names);
  refuse(path, "the model has no " + kind + " '" + name + "'",
         names.empty()  ? "it has no " + kind + " at all"
         : near.empty() ? "it has for instance '" + names.front() + "'"
                        : "did you mean '" + near + "'?");
}

// A body and all it carries, itself first.
std::vector<int> subtree(const Model& m, int root) {
  std::vector<int> bodies;
  for (int i = 1; i < int(m.bodies.size()); ++i) {
    int up = i;
    while (up > root) up = m.bodies[up].parent;
    if (up == root) bodies.push_back(i);
  }
  return bodies;
}

Observed of_energy(const Model& m, const std::string& text, const Path& path) {
  Observed o;
  o.bodies = subtree(m, 0);
  o.kind = path.name == "kinetic" ? Kind::kinetic : path.name == "gravity" ? Kind::weight : Kind::spring;
  if (o.kind == Kind::spring && path.name != "spring")
    refuse(text, "there is no energy '" + path.name + "'",
           "write energy/kinetic, energy/gravity or energy/spring");
  return o;
}

Observed of_subtree(const Model& m, const std::string& text, const Path& path) {
  Observed o;
  o.size = 3;
  o.kind = path.part.empty()                 ? Kind::mean
           : path.part == "velocity"         ? Kind::mean_velocity
           : path.part == "angular_momentum" ? Kind::angular_momentum
                                             : Kind::state;
  if (o.kind == Kind::state)
    refuse(text, "a subtree has no '" + path.part + "'",
           "write subtree/NAME, subtree/NAME/velocity or subtree/NAME/angular_momentum");
  o.bodies = subtree(m, int(index_of(text, "body", path.name, names_in(m.bodies))));
  double mass = 0;
  for (const int i : o.bodies) mass += m.bodies[i].mass;
  if (mass <= 0) refuse(text, "nothing in this subtree has a mass", "choose another body");
  return o;
}

Observed of_joint(const Model& m, const std::string& text, const Path& path) {
  Observed o;
  const Joint& j = m.joints[index_of(text, "joint", path.name, names_in(m.joints))];
  const bool velocity = path.part == "velocity";
  if (!velocity && !path.part.empty())
    refuse(text, "a joint has no '" + path.part + "'", "write joint/NAME or joint/NAME/velocity");
  o.state = velocity ? m.nq + j.dof : j.qpos;
  o.size = velocity ? dof_size(j.type) : qpos_size(j.type);
  return o;
}

Observed of_tendon(const Model& m, const std::string& text, const Path& path) {
  Observed o;
  o.element = int(index_of(text, "tendon", path.name, names_in(m.tendons)));
  if (!path.part.empty() && path.part != "velocity" && path.part != "length")
    refuse(text, "a tendon has no '" + path.part + "'", "write tendon/NAME or tendon/NAME/velocity");
  o.kind = path.part == "velocity" ? Kind::tendon_velocity : Kind::tendon_length;
  return o;
}

Observed of_actuator(const Model& m, const std::string& text, const Path& path) {
  Observed o;
  o.element = int(index_of(text, "actuator", path.name, names_in(m.actuators)));
  o.kind = path.part.empty()         ? Kind::actuator_force
           : path.part == "length"   ? Kind::actuator_length
           : path.part == "velocity" ? Kind::actuator_velocity
                                     : Kind::state;
  if (o.kind == Kind::state)
    refuse(text, "an actuator has no '" + path.part + "'",
           "write actuator/NAME for its force, actuator/NAME/length or actuator/NAME/velocity");
  return o;
}

// The path of what a sensor is attached to, and behind it the name of a part.
std::string path_of_object(const Model& m, const Sensor& s, const char* part) {
  const std::size_t i = std::size_t(s.object);
  const std::string behind = *part ? std::string("/") + part : "";
  switch (s.object_type) {
    case ObjectType::joint:
      return "joint/" + name_of(m.joints[i].name, i) + behind;
    case ObjectType::body:
      return "body/" + name_of(m.bodies[i].name, i) + "/com" + behind;
    case ObjectType::xbody:
      return "body/" + name_of(m.bodies[i].name, i) + behind;
    case ObjectType::geom:
      return "geom/" + name_of(m.geoms[i].name, i) + behind;
    case ObjectType::site:
      return "site/" + name_of(m.sites[i].name, i) + behind;
    case ObjectType::tendon:
      return "tendon/" + name_of(m.tendons[i].name, i) + behind;
    case ObjectType::actuator:
      return "actuator/" + name_of(m.actuators[i].name, i) + behind;
    default:
      return {};
  }
}

// The quantity that a sensor of the file measures.
std::string path_of_sensor(const Model& m, const std::string& text, const Sensor& s) {
  const std::size_t i = std::size_t(s.object);
  const auto of = [&](const char* part = "") { return path_of_object(m, s, part); };
  const auto tree = [&](const char* part) {
    return "subtree/" + name_of(m.bodies[i].name, i) + (*part ? std::string("/") + part : "");
  };
  switch (s.reference < 0 ? s.type : SensorType::clock) {
    case SensorType::jointpos:
    case SensorType::ballquat:
    case SensorType::framepos:
    case SensorType::tendonpos:
    case SensorType::actuatorfrc:
      return of();
    case SensorType::jointvel:
    case SensorType::ballangvel:
    case SensorType::framelinvel:
    case SensorType::tendonvel:
    case SensorType::actuatorvel:
      return of("velocity");
    case SensorType::actuatorpos:
      return of("length");
    case SensorType::frameangvel:
      return of("angular_velocity");
    case SensorType::framelinacc:
      return of("proper_acceleration");
    case SensorType::frameangacc:
      return of("angular_acceleration");
    case SensorType::framequat:
      return of("quaternion");
    case SensorType::framexaxis:
      return of("xaxis");
    case SensorType::frameyaxis:
      return of("yaxis");
    case SensorType::framezaxis:
      return of("zaxis");
    case SensorType::gyro:
      return of("gyro");
    case SensorType::velocimeter:
      return of("velocimeter");
    case SensorType::accelerometer:
      return of("accelerometer");
    case SensorType::magnetometer:
      return of("magnetometer");
    case SensorType::force:
      return of("force");
    case SensorType::torque:
      return of("torque");
    case SensorType::touch:
      return of("touch");
    case SensorType::subtreecom:
      return tree("");
    case SensorType::subtreelinvel:
      return tree("velocity");
    case SensorType::subtreeangmom:
      return tree("angular_momentum");
    default:
      refuse(text, "sensor '" + s.name + "' is not one that can be observed",
             "all can except rangefinder, clock, jointactuatorfrc, joint limits and those with a reference "
             "frame");
  }
}

Observed of_sensor(const Model& m, const ParameterMap& map, const std::string& text, const Path& path) {
  const Sensor& s = m.sensors[index_of(text, "sensor", path.name, names_in(m.sensors))];
  Observed o = resolve(m, map, path_of_sensor(m, text, s));
  const bool turn = o.kind == Kind::axis || o.kind == Kind::quaternion;
  if (turn && s.object_type == ObjectType::body &&
      m.bodies[std::size_t(s.object)].inertia_quat != kNoRotation)
    refuse(text, "sensor '" + s.name + "' shows the axes of inertia of a body, which have no derivative here",
           "give it objtype=\"xbody\": the frame of the body");
  if (!turn && s.type != SensorType::ballquat) o.cutoff = s.cutoff;  // a direction is not cut off
  return o;
}

// Frame and body of a site, geom or body. Of a body's centre of mass where `centre`.
Observed frame_at(const Model& m, const ParameterMap& map, const std::string& text, const Path& path,
                  bool centre) {
  Observed o;
  o.size = 3;
  const auto place = [&](const auto& element, const auto& at) {
    o.body = element.body;
    o.pos = element.pos;
    o.quat = element.quat;
    o.pos_parameter = at.pos;
    o.quat_parameter = at.quat;
    o.inverse_quat_norm = at.inverse_quat_norm;
  };
  if (path.kind == "body") {
    const std::size_t i = index_of(text, "body", path.name, names_in(m.bodies));
    o.body = int(i);
    if (centre) {
      o.pos = m.bodies[i].com;
      o.pos_parameter = map.bodies[i].com;
    }
  } else if (path.kind == "site") {
    o.element = int(index_of(text, "site", path.name, names_in(m.sites)));
    place(m.sites[std::size_t(o.element)], map.sites[std::size_t(o.element)]);
  } else if (path.kind == "geom") {
    o.element = int(index_of(text, "geom", path.name, names_in(m.geoms)));
    place(m.geoms[std::size_t(o.element)], map.geoms[std::size_t(o.element)]);
  } else {
    refuse(text, "there are no quantities of a '" + path.kind + "'",
           "write site, body, geom, joint, tendon, actuator, subtree, sensor or energy");
  }
  return o;
}

Observed of_frame(const Model& m, const ParameterMap& map, const std::string& text, Path path) {
  // "body/hand/com/velocity": of the centre of mass.
  const bool of_centre = path.kind == "body" && !path.part.empty() && path.name.ends_with("/com");
  if (of_centre) path.name.resize(path.name.size() - 4);
  Observed o = frame_at(m, map, text, path, of_centre || path.part == "com");
  if (path.part.empty() || path.part == "com") {
    if (path.part == "com" && path.kind != "body")
      refuse(text, "only bodies have a centre of mass", "write body/NAME/com");
    o.kind = Kind::position;
    return o;
  }
  if (path.part == "contact" || path.part == "contact_torque") {
    if (path.kind == "site")
      refuse(text, "a site touches nothing", "write body/NAME/contact, geom/NAME/contact or site/NAME/touch");
    o.kind = path.part == "contact" ? Kind::contact : Kind::contact_torque;
    return o;
  }
  const Part* part = find(kFrameParts, path.part);
  if (!part && path.kind == "site") part = find(kSiteParts, path.part);
  if (!part)
    refuse(text, "a " + path.kind + " has no '" + path.part + "'",
           find(kSiteParts, path.part) ? "sites have: write site/NAME/" + path.part
                                       : "write .../velocity, .../acceleration, .../xaxis, ...");
  o.kind = part->kind;
  o.local = part->local;
  o.weightless = part->weightless;
  if (o.kind == Kind::axis) o.column = path.part[0] - 'x';
  if (o.kind == Kind::quaternion) o.size = 4;
  if (o.kind == Kind::touch) o.size = 1;
  if (o.kind == Kind::field) o.vector = m.options.magnetic;
  if (o.kind == Kind::force || o.kind == Kind::torque) {
    if (o.body == 0) refuse(text, "nothing holds the world", "choose a site of a body");
    o.bodies = subtree(m, o.body);
  }
  return o;
}

}  // namespace

Observed resolve(const Model& m, const ParameterMap& map, const std::string& text) {
  const Path path = split(text);
  if (path.kind == "sensor") return of_sensor(m, map, text, path);
  if (path.kind == "energy") return of_energy(m, text, path);
  if (path.kind == "subtree") return of_subtree(m, text, path);
  if (path.kind == "joint") return of_joint(m, text, path);
  if (path.kind == "tendon") return of_tendon(m, text, path);
  if (path.kind == "actuator") return of_actuator(m, text, path);
  const Observed o = of_frame(m, map, text, path);
  const bool friction = o.kind == Kind::contact || o.kind == Kind::contact_torque || o.kind == Kind::force ||
                        o.kind == Kind::torque;
  if (friction && m.options.noslip_iterations > 0)
    refuse(text, "forces of friction after noslip iterations are not observed",
           "observe .../touch, the normal force, or set noslip_iterations = 0");
  return o;
}

}  // namespace costate::rigid
