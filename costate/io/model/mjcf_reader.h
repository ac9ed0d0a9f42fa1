// MjcfReader: the sections of an MJCF file, one function each (mjcf.h for what is read, docs/models.md for
// what is not). Sections are read in the order of what depends on what: compiler, defaults, options, assets,
// bodies, and then the rest.
#pragma once

#include "costate/io/model/mjcf_defaults.h"
#include "costate/io/text/xml_attributes.h"
#include "costate/rigid/spec.h"

namespace costate::io {

class MjcfReader {
 public:
  MjcfReader(std::string path, const FileReader& files) : path_(std::move(path)), files_(files) {}
  rigid::Spec read(const XmlElement& root);

 private:
  // Pose of a <frame> in its body.
  struct Frame {
    rigid::Vector pos{0, 0, 0};
    rigid::Rotation quat{1, 0, 0, 0};
    bool moved = false;
    std::size_t suffix = 0;  // letters that replicas around it have put on names
  };

  // mjcf_options.cpp
  void compiler(const XmlElement& e);
  void option(const XmlElement& e);
  void flag(const XmlElement& e);

  // mjcf_assets.cpp
  void asset(const XmlElement& e);
  void mesh(const XmlElement& e);
  void mesh_attributes(XmlAttributes& a, rigid::Vector& scale, rigid::MeshInertia& inertia);
  void hfield(const XmlElement& e);
  std::string asset_path(const std::string& file) const;

  // mjcf_bodies.cpp
  void body_children(const XmlElement& e, rigid::BodySpec& body, const std::string& child_class,
                     const Frame& frame, int depth);
  void body(const XmlElement& e, rigid::BodySpec& parent, const std::string& child_class, const Frame& frame,
            int depth);
  void frame(const XmlElement& e, rigid::BodySpec& body, const std::string& child_class, const Frame& outer,
             int depth);
  void replicate(const XmlElement& e, rigid::BodySpec& body, const std::string& child_class,
                 const Frame& outer, int depth);
  void inertial(const XmlElement& e, rigid::BodySpec& body);
  void joint(XmlAttributes& a, rigid::JointSpec& joint);
  void freejoint(const XmlElement& e, rigid::BodySpec& body);
  void geom(XmlAttributes& a, rigid::GeomSpec& geom);
  void site(XmlAttributes& a, rigid::SiteSpec& site);
  void orientation(XmlAttributes& a, rigid::Rotation& quat) const;
  double angle_unit() const;

  // mjcf_constraints.cpp
  void contact(const XmlElement& e);
  void pair(XmlAttributes& a, rigid::PairSpec& pair);
  void equality(const XmlElement& e);
  void equality_attributes(XmlAttributes& a, rigid::EqualitySpec& equality);
  void tendon(const XmlElement& e);
  void tendon_attributes(XmlAttributes& a, rigid::TendonSpec& tendon);

  // mjcf_actuators.cpp
  void actuator(const XmlElement& e);
  void actuator_attributes(XmlAttributes& a, rigid::ActuatorSpec& actuator);

  // mjcf_sensors.cpp
  void sensor(const XmlElement& e);
  void keyframe(const XmlElement& e);
  void size(const XmlElement& e);

  void check_default(const XmlElement& e);
  XmlAttributes with_defaults(const XmlElement& e, const std::string& child_class = "") const {
    return XmlAttributes(e, defaults_.merged(e, child_class));
  }

  std::string path_;
  const FileReader& files_;
  rigid::Spec spec_;
  MjcfDefaults defaults_;
  bool degrees_ = true, strip_path_ = false;
  std::string euler_sequence_ = "xyz", mesh_folder_, asset_folder_;
  int replicated_ = 0;
};

// An element that is not among `known` there: an error with the nearest name, or saying that it is not
// supported.
[[noreturn]] void fail_unknown_element(const XmlElement& e, const std::string& parent,
                                       const std::vector<std::string>& known,
                                       const std::vector<std::string>& unsupported);

// The softness of a constraint, from attributes of these names.
void read_softness(XmlAttributes& a, const char* solref, const char* solimp, rigid::Softness& softness);

}  // namespace costate::io
