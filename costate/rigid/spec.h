// Spec: a rigid-body model as its author writes it; the power of MJCF in C++.
//
//   rigid::Spec spec("double pendulum");
//   spec.world.body("upper", {0, 0, 2})
//       .hinge("shoulder", {0, 1, 0})
//       .capsule("upper_arm", {0, 0, 0}, {0, 0, -0.5}, 0.03)
//       .body("lower", {0, 0, -0.5})
//       .hinge("elbow", {0, 1, 0})
//       .capsule("lower_arm", {0, 0, 0}, {0, 0, -0.5}, 0.03);
//   spec.add(rigid::ActuatorSpec::motor("torque", "elbow").limit_ctrl(-1, 1));
//   rigid::Model model = rigid::compile(spec);
//
// body() adds a child and returns the child; everything else on a body returns the body itself. What a short
// form does not offer, the element's struct does: body.add(JointSpec{.name = "slider", .type =
// JointType::slide, .damping = 0.1}).
//
// A file's loader makes a Spec too (costate/io/model/mjcf.h, costate/io/model/urdf.h), so a loaded model can
// be changed before it is compiled. Tests: tests/rigid/compile/spec_test.cpp.
#pragma once

#include <list>

#include "costate/rigid/spec_elements.h"
#include "costate/rigid/spec_orientation.h"

namespace costate::rigid {

class BodySpec {
 public:
  std::string name = {};
  Vector pos{0, 0, 0};
  Rotation quat{1, 0, 0, 0};
  std::optional<InertialSpec> inertial = {};
  double gravcomp = 0;
  bool mocap = false;
  std::vector<JointSpec> joints = {};
  std::vector<GeomSpec> geoms = {};
  std::vector<SiteSpec> sites = {};
  std::list<BodySpec> children = {};  // a list: references to bodies stay valid
  std::string where = {};

  // A new child.
  BodySpec& body(std::string child_name, Vector position = {0, 0, 0}, Rotation rotation = {1, 0, 0, 0});
  BodySpec& add(BodySpec child);

  BodySpec& add(JointSpec joint);
  BodySpec& add(GeomSpec geom);
  BodySpec& add(SiteSpec site);
  BodySpec& set(InertialSpec value);
  // Mass, centre of mass, inertia about it in body axes.
  BodySpec& mass(double value, const Vector& center, const Sym3<double>& inertia);

  BodySpec& free(std::string joint_name = "");
  BodySpec& ball(std::string joint_name, Vector position = {0, 0, 0});
  BodySpec& hinge(std::string joint_name, Vector axis, Vector position = {0, 0, 0});
  BodySpec& slide(std::string joint_name, Vector axis);

  BodySpec& sphere(std::string geom_name, Vector center, double radius);
  BodySpec& capsule(std::string geom_name, Vector from, Vector to, double radius);
  BodySpec& cylinder(std::string geom_name, Vector from, Vector to, double radius);
  BodySpec& box(std::string geom_name, Vector center, Vector half_sizes);
  BodySpec& ellipsoid(std::string geom_name, Vector center, Vector half_axes);
  BodySpec& plane(std::string geom_name, Vector position = {0, 0, 0});
  BodySpec& site(std::string site_name, Vector position = {0, 0, 0});

  // The last joint or geom added, to set what a short form left out. Throws Error if there is none.
  JointSpec& last_joint();
  GeomSpec& last_geom();
};

struct Spec {
  std::string name;
  BodySpec world;
  CompilerSpec compiler = {};
  Options options = {};
  std::vector<MeshSpec> meshes = {};
  std::vector<HeightFieldSpec> hfields = {};
  std::vector<PairSpec> pairs = {};
  std::vector<ExcludeSpec> excludes = {};
  std::vector<EqualitySpec> equalities = {};
  std::vector<TendonSpec> tendons = {};
  std::vector<ActuatorSpec> actuators = {};
  std::vector<SensorSpec> sensors = {};
  std::vector<KeyframeSpec> keyframes = {};
  std::vector<std::string> warnings = {};  // what a loader wants its user to know
  std::string file = {};                   // that this was read from

  explicit Spec(std::string model_name = "model");

  Spec& add(MeshSpec mesh);
  Spec& add(HeightFieldSpec hfield);
  Spec& add(PairSpec pair);
  Spec& add(ExcludeSpec exclude);
  Spec& add(EqualitySpec equality);
  Spec& add(TendonSpec tendon);
  Spec& add(ActuatorSpec actuator);
  Spec& add(SensorSpec sensor);
  Spec& add(KeyframeSpec keyframe);

  // The first body, or joint, of this name in the tree. Throws Error with the nearest name if there is none.
  BodySpec& body(const std::string& body_name);
  JointSpec& joint(const std::string& joint_name);
  GeomSpec& geom(const std::string& geom_name);
};

}  // namespace costate::rigid
