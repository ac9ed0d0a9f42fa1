#include "costate/io/model/mjcf.h"

#include <algorithm>

#include "costate/io/model/mjcf_reader.h"

namespace costate::io {
namespace {

const std::vector<std::string> kSections = {"compiler", "option",  "size",     "statistic", "visual",
                                            "custom",   "default", "asset",    "worldbody", "contact",
                                            "equality", "tendon",  "actuator", "sensor",    "keyframe"};

}  // namespace

void fail_unknown_element(const XmlElement& e, const std::string& parent,
                          const std::vector<std::string>& known,
                          const std::vector<std::string>& unsupported) {
  if (std::find(unsupported.begin(), unsupported.end(), e.name) != unsupported.end())
    throw Error({"<" + e.name + "> in <" + parent + "> is not supported", e.where(), {}});
  throw Error(
      {"there is no element <" + e.name + "> in <" + parent + ">", e.where(), xml_suggestion(e.name, known)});
}

void read_softness(XmlAttributes& a, const char* solref, const char* solimp, rigid::Softness& softness) {
  a.read_some(solref, softness.solref);
  a.read_some(solimp, softness.solimp);
}

// Attributes of a default are read once where they stand, into an element that is thrown away.
void MjcfReader::check_default(const XmlElement& e) {
  XmlAttributes a(e);
  if (e.name == "joint") {
    rigid::JointSpec unused;
    joint(a, unused);
  } else if (e.name == "geom") {
    rigid::GeomSpec unused;
    geom(a, unused);
  } else if (e.name == "site") {
    rigid::SiteSpec unused;
    site(a, unused);
  } else if (e.name == "pair") {
    rigid::PairSpec unused;
    pair(a, unused);
  } else if (e.name == "equality") {
    rigid::EqualitySpec unused;
    equality_attributes(a, unused);
  } else if (e.name == "tendon") {
    rigid::TendonSpec unused;
    tendon_attributes(a, unused);
  } else if (e.name == "mesh") {
    rigid::Vector scale{1, 1, 1};
    rigid::MeshInertia inertia{};
    mesh_attributes(a, scale, inertia);
  } else if (is_mjcf_actuator(e.name)) {
    rigid::ActuatorSpec unused;
    actuator_attributes(a, unused);
  } else if (e.name != "material" && e.name != "camera" && e.name != "light" && e.name != "texture" &&
             !is_other_mjcf_actuator(e.name)) {
    fail_unknown_element(
        e, "default",
        {"joint", "geom", "site", "pair", "equality", "tendon", "mesh", "material", "camera", "light",
         "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "default"},
        {});
  } else {
    return;
  }
  a.finish();
}

rigid::Spec MjcfReader::read(const XmlElement& root) {
  spec_.file = path_;
  spec_.name = "MuJoCo Model";
  {
    XmlAttributes a(root);
    a.read("model", spec_.name);
    a.ignore({"xmlns:xsi", "xsi:noNamespaceSchemaLocation"});
    a.finish();
  }
  const auto each = [&](const char* section, auto&& read_section) {
    for (const XmlElement& e : root.children) {
      if (e.name == section) read_section(e);
    }
  };
  for (const XmlElement& e : root.children) {
    if (std::find(kSections.begin(), kSections.end(), e.name) == kSections.end())
      fail_unknown_element(e, "mujoco", kSections, {"extension", "deformable"});
  }
  each("compiler", [&](const XmlElement& e) { compiler(e); });
  each("default", [&](const XmlElement& e) {
    for (const XmlAttribute& a : e.attributes) {
      if (a.name != "class") throw Error({"<default> has no attribute '" + a.name + "'", a.place.text(), {}});
    }
    defaults_.read(e, [&](const XmlElement& child) { check_default(child); });
  });
  each("option", [&](const XmlElement& e) { option(e); });
  each("asset", [&](const XmlElement& e) { asset(e); });
  each("worldbody", [&](const XmlElement& e) {
    XmlAttributes a(e);
    a.finish();
    body_children(e, spec_.world, "", {}, 0);
  });
  each("contact", [&](const XmlElement& e) { contact(e); });
  each("equality", [&](const XmlElement& e) { equality(e); });
  each("tendon", [&](const XmlElement& e) { tendon(e); });
  each("actuator", [&](const XmlElement& e) { actuator(e); });
  each("sensor", [&](const XmlElement& e) { sensor(e); });
  each("keyframe", [&](const XmlElement& e) { keyframe(e); });
  each("size", [&](const XmlElement& e) { size(e); });
  return std::move(spec_);
}

rigid::Spec read_mjcf(const XmlElement& root, const std::string& path, const FileReader& files) {
  if (root.name != "mujoco")
    throw Error(
        {"the root element is <" + root.name + ">, not <mujoco>", root.where(), "this is not an MJCF file"});
  return MjcfReader(path, files).read(root);
}

rigid::Spec parse_mjcf(const std::string& text, const std::string& path, const FileReader& files) {
  return read_mjcf(parse_xml(text, path, files), path, files);
}

}  // namespace costate::io
