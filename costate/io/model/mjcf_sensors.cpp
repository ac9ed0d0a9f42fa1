// <sensor>, <keyframe> and <size>.
#include <algorithm>

#include "costate/io/model/mjcf_reader.h"

namespace costate::io {
namespace {

using rigid::ObjectType;
using rigid::SensorType;

struct SensorKind {
  const char* name;
  SensorType type;
  ObjectType object;  // none: of the kind that objtype says
};
constexpr SensorKind kSensors[] = {
    {"accelerometer", SensorType::accelerometer, ObjectType::site},
    {"velocimeter", SensorType::velocimeter, ObjectType::site},
    {"gyro", SensorType::gyro, ObjectType::site},
    {"force", SensorType::force, ObjectType::site},
    {"torque", SensorType::torque, ObjectType::site},
    {"magnetometer", SensorType::magnetometer, ObjectType::site},
    {"touch", SensorType::touch, ObjectType::site},
    {"rangefinder", SensorType::rangefinder, ObjectType::site},
    {"jointpos", SensorType::jointpos, ObjectType::joint},
    {"jointvel", SensorType::jointvel, ObjectType::joint},
    {"ballquat", SensorType::ballquat, ObjectType::joint},
    {"ballangvel", SensorType::ballangvel, ObjectType::joint},
    {"jointactuatorfrc", SensorType::jointactuatorfrc, ObjectType::joint},
    {"jointlimitpos", SensorType::jointlimitpos, ObjectType::joint},
    {"jointlimitvel", SensorType::jointlimitvel, ObjectType::joint},
    {"jointlimitfrc", SensorType::jointlimitfrc, ObjectType::joint},
    {"tendonpos", SensorType::tendonpos, ObjectType::tendon},
    {"tendonvel", SensorType::tendonvel, ObjectType::tendon},
    {"actuatorpos", SensorType::actuatorpos, ObjectType::actuator},
    {"actuatorvel", SensorType::actuatorvel, ObjectType::actuator},
    {"actuatorfrc", SensorType::actuatorfrc, ObjectType::actuator},
    {"subtreecom", SensorType::subtreecom, ObjectType::body},
    {"subtreelinvel", SensorType::subtreelinvel, ObjectType::body},
    {"subtreeangmom", SensorType::subtreeangmom, ObjectType::body},
    {"framepos", SensorType::framepos, ObjectType::none},
    {"framequat", SensorType::framequat, ObjectType::none},
    {"framexaxis", SensorType::framexaxis, ObjectType::none},
    {"frameyaxis", SensorType::frameyaxis, ObjectType::none},
    {"framezaxis", SensorType::framezaxis, ObjectType::none},
    {"framelinvel", SensorType::framelinvel, ObjectType::none},
    {"frameangvel", SensorType::frameangvel, ObjectType::none},
    {"framelinacc", SensorType::framelinacc, ObjectType::none},
    {"frameangacc", SensorType::frameangacc, ObjectType::none},
};
const std::initializer_list<std::pair<const char*, ObjectType>> kFrames = {{"body", ObjectType::body},
                                                                           {"xbody", ObjectType::xbody},
                                                                           {"geom", ObjectType::geom},
                                                                           {"site", ObjectType::site}};

const char* attribute_of(ObjectType type) {
  switch (type) {
    case ObjectType::site:
      return "site";
    case ObjectType::joint:
      return "joint";
    case ObjectType::tendon:
      return "tendon";
    case ObjectType::actuator:
      return "actuator";
    default:
      return "body";
  }
}

// Sensors that are not measured.
constexpr const char* kOthers[] = {"camprojection",  "tendonactuatorfrc",
                                   "tendonlimitpos", "tendonlimitvel",
                                   "tendonlimitfrc", "insidesite",
                                   "distance",       "normal",
                                   "fromto",         "contact",
                                   "e_potential",    "e_kinetic",
                                   "tactile",        "user"};

}  // namespace

void MjcfReader::sensor(const XmlElement& e) {
  XmlAttributes(e).finish();
  for (const XmlElement& child : e.children) {
    XmlAttributes a(child);
    rigid::SensorSpec s;
    s.where = child.where();
    a.read("name", s.name);
    a.read("cutoff", s.cutoff);
    a.read("noise", s.noise);
    a.refuse({"nsample", "interp", "delay", "interval"});
    a.ignore({"user"});
    const auto* const kind = std::find_if(std::begin(kSensors), std::end(kSensors),
                                          [&](const SensorKind& k) { return child.name == k.name; });
    if (child.name == "clock") {
      s.type = SensorType::clock;
    } else if (std::find(std::begin(kOthers), std::end(kOthers), child.name) != std::end(kOthers)) {
      // Nothing moves by what a sensor says.
      spec_.warnings.push_back(child.where() + ": the sensor <" + child.name +
                               "> is left out: it is not measured, and cannot be observed");
      continue;
    } else if (kind == std::end(kSensors)) {
      std::vector<std::string> known;
      for (const SensorKind& k : kSensors) known.push_back(k.name);
      fail_unknown_element(child, "sensor", known, {"plugin"});
    } else {
      s.type = kind->type;
      if (kind->object != ObjectType::none) {
        s.object_type = kind->object;
        s.object = a.required(attribute_of(kind->object));
      } else {
        a.required("objtype");
        a.choose("objtype", s.object_type, kFrames);
        s.object = a.required("objname");
        if (kind->type != SensorType::framelinacc && kind->type != SensorType::frameangacc) {
          if (a.has("reftype") != a.has("refname")) a.fail("needs reftype and refname together");
          a.choose("reftype", s.reference_type, kFrames);
          a.read("refname", s.reference);
        }
      }
    }
    a.finish();
    spec_.add(std::move(s));
  }
}

void MjcfReader::keyframe(const XmlElement& e) {
  constexpr std::size_t kMost = 100'000;
  XmlAttributes(e).finish();
  for (const XmlElement& child : e.children) {
    if (child.name != "key") fail_unknown_element(child, "keyframe", {"key"}, {});
    XmlAttributes a(child);
    rigid::KeyframeSpec k;
    k.where = child.where();
    a.read("name", k.name);
    a.read("time", k.time);
    k.qpos = a.numbers("qpos", 0, kMost);
    k.qvel = a.numbers("qvel", 0, kMost);
    k.act = a.numbers("act", 0, kMost);
    k.ctrl = a.numbers("ctrl", 0, kMost);
    a.refuse({"mpos", "mquat", "plastic"});
    a.finish();
    spec_.add(std::move(k));
  }
}

// Keyframes that are not written out are as the start. The other sizes are memory that MuJoCo reserves.
void MjcfReader::size(const XmlElement& e) {
  XmlAttributes a(e);
  int keys = 0;
  a.read("nkey", keys);
  if (keys > 1000) a.fail_at("nkey", "is too large");
  while (int(spec_.keyframes.size()) < keys) spec_.add(rigid::KeyframeSpec{.where = e.where()});
  a.ignore({"memory", "njmax", "nconmax", "nstack", "nuserdata", "nuser_body", "nuser_jnt", "nuser_geom",
            "nuser_site", "nuser_cam", "nuser_tendon", "nuser_actuator", "nuser_sensor"});
  a.finish();
}

}  // namespace costate::io
