// What a user writes about a rigid-body model, one struct per kind of element: joints, geoms, sites,
// inertials, tendons, actuators, equalities, sensors, keyframes, assets, options. Spec (spec.h) holds them,
// compile (compile.h) turns them into a Model.
//
// The meaning of every field, and its value when left out, are those of MJCF [1]: sizes are half sizes,
// quaternions are (w, x, y, z), an inertia is about the centre of mass. Angles are radians and orientations
// quaternions (spec_orientation.h makes them from Euler angles and axes); reading degrees is the business of
// a file's loader. `where` is the place in the file that the element came from, for messages.
//
// [1] MuJoCo documentation, "XML reference".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "costate/core/quat.h"
#include "costate/rigid/model.h"

namespace costate::rigid {

using Vector = Vec3<double>;
using Rotation = Quat<double>;
using Range = Double2;  // {0, 0}: none given

struct InertialSpec {
  double mass = 0;
  Vector pos{0, 0, 0};
  Rotation quat{1, 0, 0, 0};
  Sym3<double> inertia{0, 0, 0, 0, 0, 0};  // about the centre of mass, in the axes of `quat`
  std::string where = {};
};

struct JointSpec {
  std::string name = {};
  JointType type = JointType::hinge;
  Vector pos{0, 0, 0};
  Vector axis{0, 0, 1};
  double stiffness = 0, damping = 0, armature = 0, frictionloss = 0;
  double ref = 0, springref = 0;
  Double2 springdamper{0, 0};        // time constant and damping ratio; > 0 overrides stiffness, damping
  std::optional<bool> limited = {};  // unset: limited if there is a range
  Range range{0, 0};
  double margin = 0;
  Softness limit = {};     // of the limits
  Softness friction = {};  // of the friction loss
  std::optional<bool> actuator_force_limited = {};
  Range actuator_force_range{0, 0};
  bool actuator_gravity_compensation = false;
  int group = 0;
  std::string where = {};
};

struct GeomSpec {
  std::string name = {};
  GeomType type = GeomType::sphere;
  Double3 size{0, 0, 0};
  Vector pos{0, 0, 0};
  Rotation quat{1, 0, 0, 0};
  std::optional<Double6> fromto = {};  // ends of a capsule, cylinder, box or ellipsoid
  std::optional<double> mass = {};     // unset: from the density
  double density = 1000;
  std::string mesh = {}, hfield = {};  // a mesh with another type than mesh: that shape is fitted to it
  double fit_scale = 1;
  int contype = 1, conaffinity = 1, condim = 3, priority = 0, group = 0;
  Double3 friction{1, 0.005, 0.0001};  // sliding, torsional, rolling
  double solmix = 1;
  Softness contact = {};
  double margin = 0, gap = 0;
  bool fluid_ellipsoid = false;
  Double5 fluid_coefficients{0.5, 0.25, 1.5, 1, 1};
  Double4 rgba{0.5, 0.5, 0.5, 1};
  std::string where = {};
};

struct SiteSpec {
  std::string name = {};
  Vector pos{0, 0, 0};
  Rotation quat{1, 0, 0, 0};
  GeomType type = GeomType::sphere;
  Double3 size{0.005, 0.005, 0.005};
  std::optional<Double6> fromto = {};
  int group = 0;
  std::string where = {};
};

// A contact between two geoms whatever their types, affinities and contact parameters say.
struct PairSpec {
  std::string name = {}, geom1 = {}, geom2 = {};
  int condim = 3;
  Double5 friction{1, 1, 0.005, 0.0001, 0.0001};  // two sliding, torsional, two rolling
  Softness contact = {};
  Double2 solreffriction{0, 0};  // {0, 0}: as the normal direction
  double margin = 0, gap = 0;
  std::string where = {};
};

struct ExcludeSpec {
  std::string name = {}, body1 = {}, body2 = {};
  std::string where = {};
};

struct EqualitySpec {
  std::string name = {};
  EqualityType type = EqualityType::connect;
  std::string first = {},
              second = {};  // bodies (or sites), joints, tendons; second: empty is the world, or constant
  bool sites = false;       // connect and weld: first and second are sites
  Vector anchor{0, 0, 0};
  std::optional<std::array<double, 7>> relpose = {};  // weld: position and quaternion; unset: as in qpos0
  double torquescale = 1;
  Double5 polycoef{0, 1, 0, 0, 0};
  bool active = true;
  Softness softness = {};
  std::string where = {};
};

// A fixed tendon is a weighted sum of joints; a spatial one a path through sites, around geoms, split by
// pulleys.
struct TendonPoint {
  enum class Kind { joint, site, geom, pulley };
  Kind kind = Kind::joint;
  std::string object = {}, sidesite = {};
  double value = 0;  // coefficient of a joint, divisor of a pulley
  std::string where = {};
};

struct TendonSpec {
  std::string name = {};
  TendonType type = TendonType::fixed;
  std::vector<TendonPoint> path = {};
  double stiffness = 0, damping = 0, frictionloss = 0, armature = 0;
  Range springlength{-1, -1};  // -1: the length in qpos0's spring configuration
  std::optional<bool> limited = {};
  Range range{0, 0};
  double margin = 0;
  Softness limit = {}, friction = {};
  std::optional<bool> actuator_force_limited = {};
  Range actuator_force_range{0, 0};
  int group = 0;
  std::string where = {};
};

// force = gain * (control or activation) + bias;   gain, bias affine: p0 + p1 length + p2 velocity.
struct ActuatorSpec {
  std::string name = {};
  TransmissionType transmission = TransmissionType::joint;
  std::string target = {};   // joint, tendon or site
  std::string refsite = {};  // site: the frame that its pose is measured in
  Double6 gear{1, 0, 0, 0, 0, 0};
  DynType dynamics = DynType::none;
  GainType gain = GainType::fixed;
  BiasType bias = BiasType::none;
  double time_constant = 1;  // of a filter
  Double3 gainprm{1, 0, 0};
  Double3 biasprm{0, 0, 0};
  MuscleCurve gain_muscle{}, bias_muscle{};
  Range length_range{0, 0};
  Double3 time_constants{0.01, 0.04, 0};  // of a muscle
  std::optional<bool> ctrl_limited = {}, force_limited = {}, act_limited = {};
  Range ctrl_range{0, 0}, force_range{0, 0}, act_range{0, 0};
  double inherit_range = 0;  // > 0: the control range is this much of the target's range
  double damping_ratio = 0;  // > 0, position servo: kv = damping ratio * 2 sqrt(kp m) at qpos0
  bool act_early = false;
  int group = 0;
  std::string where = {};

  // The shortcuts of MJCF. A velocity gain kv of a position servo adds damping.
  static ActuatorSpec motor(std::string name, std::string joint, double gear = 1);
  static ActuatorSpec position(std::string name, std::string joint, double kp, double kv = 0);
  static ActuatorSpec velocity(std::string name, std::string joint, double kv);
  static ActuatorSpec damper(std::string name, std::string joint, double kv, double ctrl_max);
  ActuatorSpec& limit_ctrl(double low, double high);
  ActuatorSpec& limit_force(double low, double high);
};

struct SensorSpec {
  std::string name = {};
  SensorType type = SensorType::jointpos;
  ObjectType object_type = ObjectType::none;
  std::string object = {};
  ObjectType reference_type = ObjectType::none;
  std::string reference = {};
  double cutoff = 0, noise = 0;
  std::string where = {};
};

struct KeyframeSpec {
  std::string name = {};
  double time = 0;
  std::vector<double> qpos = {}, qvel = {}, act = {}, ctrl = {};  // empty: as at the start
  std::string where = {};
};

// Triangles, in the frame of the geoms that show the mesh.
enum class MeshInertia { legacy, convex, exact, shell };
struct MeshSpec {
  std::string name = {};
  std::vector<Vector> vertices = {};
  std::vector<std::array<int, 3>> faces = {};  // empty: the convex hull of the vertices
  MeshInertia inertia = MeshInertia::legacy;
  std::string where = {};
};

struct HeightFieldSpec {
  std::string name = {};
  Double4 size{0, 0, 0, 0};  // x and y radius, top and base elevation
  int rows = 0, columns = 0;
  std::vector<double> elevation = {};  // rows (y grows) x columns (x grows), scaled to 0..1 by compile
  std::string where = {};
};

struct CompilerSpec {
  enum class InertiaFromGeom { never, always, if_missing };
  InertiaFromGeom inertia_from_geom = InertiaFromGeom::if_missing;
  std::array<int, 2> inertia_group_range{0, 5};
  bool autolimits = true;
  bool balance_inertia = false;
  bool fit_box = false;  // shapes fitted to meshes contain their box, instead of having their inertia
  double bound_mass = 0, bound_inertia = 0;
  double set_total_mass = -1;  // > 0: all masses and inertias are scaled to it
};

}  // namespace costate::rigid
