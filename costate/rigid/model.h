// Model: a compiled tree of rigid bodies, as plain data in double.
//
// A model is made by the compiler (costate/rigid/compile/compile.h) from a Spec or a file, or filled in by
// hand, and is const from then on. Its meaning is MuJoCo's [1] throughout: frames, units, the order of joints
// inside a body, actuators, limits and options. Its numbers are defaults: the rigid System lists them as
// parameters by name ("body/torso/mass", "joint/knee/damping", "gravity"), and the kernels read those, so
// that each is differentiable and may differ per world. What is an integer, a flag or a name here shapes the
// computation and is the same in all worlds.
//
//   bodies    in depth-first order, parents before children; body 0 is the world
//   joints    in the order of their bodies; several joints of a body act one after the other
//   qpos      free 7 (position, quaternion w x y z), ball 4, slide 1, hinge 1
//   dofs      free 6 (linear velocity in world axes, angular velocity in body axes), ball 3 (body axes),
//             slide 1, hinge 1
//
// An index -1 stands for "none". Angles are radians, quaternions are unit, (w, x, y, z).
// [1] Todorov, Erez, Tassa: MuJoCo: a physics engine for model-based control, IROS 2012;
//     https://mujoco.readthedocs.io
// Tests: tests/rigid/ (parity with the PyPI package `mujoco`).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "costate/geometry/contact_point.h"

namespace costate::rigid {

using Double2 = std::array<double, 2>;
using Double3 = std::array<double, 3>;
using Double4 = std::array<double, 4>;
using Double5 = std::array<double, 5>;
using Double6 = std::array<double, 6>;

inline constexpr Double4 kNoRotation = {1, 0, 0, 0};

// How stiff a constraint is and how it gives way: reference acceleration from (time constant, damping ratio)
// or, both negative, (-stiffness, -damping); impedance d(r) from (d0, dwidth, width, midpoint, power).
struct Softness {
  Double2 solref = {0.02, 1};
  Double5 solimp = {0.9, 0.95, 0.001, 0.5, 2};
};

struct Body {
  std::string name;
  int parent = -1;          // -1 only for the world
  Double3 pos = {0, 0, 0};  // frame in the parent's frame, joints at zero (at `ref`)
  Double4 quat = kNoRotation;
  double mass = 0;                      // kg
  Double3 com = {0, 0, 0};              // centre of mass in body axes
  Double6 inertia = {};                 // kg m^2 about the centre of mass, body axes: xx yy zz xy xz yz
  Double4 inertia_quat = {0, 0, 0, 0};  // principal axes in body axes: those of the box that a fluid sees
  double gravcomp = 0;                  // share of the weight that is held up
  bool mocap = false;

  // Derived by the compiler.
  int first_joint = -1, joints = 0;
  int first_dof = -1, dofs = 0;
  int first_geom = -1, geoms = 0;
  int root = 0;  // the ancestor that is a child of the world
  int weld = 0;  // the nearest ancestor-or-self with joints, which this body moves with (0: the world)
  Double2 invweight = {0, 0};  // inverse weight, translation and rotation, at qpos0
};

enum class JointType { free, ball, slide, hinge };
constexpr int qpos_size(JointType t) { return t == JointType::free ? 7 : t == JointType::ball ? 4 : 1; }
constexpr int dof_size(JointType t) { return t == JointType::free ? 6 : t == JointType::ball ? 3 : 1; }

struct Joint {
  std::string name;
  JointType type = JointType::hinge;
  int body = 0;
  Double3 pos = {0, 0, 0};   // anchor in the body's frame (free: not used)
  Double3 axis = {0, 0, 1};  // unit, in the body's frame (slide, hinge)
  double ref = 0;            // q of slide and hinge in the configuration that the frames describe: qpos0
  bool limited = false;
  Double2 range = {0, 0};  // slide, hinge: of q; ball: (0, largest angle)
  double margin = 0;       // distance at which a limit becomes active
  Softness limit;
  double springref = 0;  // slide, hinge: where the spring is at rest
  double stiffness = 0;
  double damping = 0;       // of each dof
  double armature = 0;      // rotor inertia, added to the diagonal of the mass matrix, each dof
  double frictionloss = 0;  // dry friction, each dof
  Softness friction;
  bool actuator_force_limited = false;
  Double2 actuator_force_range = {0, 0};
  bool actuator_gravcomp = false;  // gravity compensation counts as actuator force

  // Derived by the compiler.
  int qpos = 0, dof = 0;  // first addresses
};

// One per velocity.
struct Dof {
  int body = 0, joint = 0;
  int parent = -1;       // the dof before it on the way to the world, also inside a joint or a body
  double invweight = 0;  // inverse weight at qpos0
};

using GeomType = geometry::ShapeType;

struct Geom {
  std::string name;
  GeomType type = GeomType::sphere;
  int body = 0;
  Double3 size = {0, 0, 0};  // radius; radius, half length; half sizes
  Double3 pos = {0, 0, 0};   // in the body's frame
  Double4 quat = kNoRotation;
  Double3 friction = {1, 0.005, 0.0001};  // sliding, torsional, rolling
  int condim = 3;
  int contype = 1, conaffinity = 1, priority = 0, group = 0;
  Softness contact;
  double solmix = 1, margin = 0, gap = 0;
  int mesh = -1, heightfield = -1;
  bool fluid_ellipsoid = false;
  Double5 fluid_coefficients = {0.5, 0.25, 1.5, 1, 1};
  Double4 rgba = {0.5, 0.5, 0.5, 1};
};

struct Site {
  std::string name;
  int body = 0;
  GeomType type = GeomType::sphere;
  Double3 size = {0.005, 0.005, 0.005};
  Double3 pos = {0, 0, 0};
  Double4 quat = kNoRotation;
};

// In the geom's own frame: centre of mass at the origin, principal axes.
struct Mesh {
  std::string name;
  std::vector<Double3> vertices;
  std::vector<std::array<int, 3>> faces;
  std::vector<Double3> hull_vertices;  // convex hull, what collides
  std::vector<std::array<int, 3>> hull_faces;
};

struct Heightfield {
  std::string name;
  int rows = 0, columns = 0;
  Double4 size = {0, 0, 0, 0};  // radius x, radius y, top, base
  std::vector<double> data;     // rows x columns in [0, 1]
};

enum class EqualityType { connect, weld, joint, tendon };

struct Equality {
  std::string name;
  EqualityType type = EqualityType::connect;
  int first = -1, second = -1;  // bodies, joints or tendons; second -1: the world or none
  bool active = true;
  Softness softness;
  Double3 anchor = {0, 0, 0},
          other_anchor = {0, 0,
                          0};  // connect: in first's and second's frame; weld: `anchor` in second's frame,
                               // `other_anchor` in first's frame
  Double4 relative_quat = kNoRotation;  // weld: second's orientation in first's frame
  double torquescale = 1;               // weld
  Double5 polycoef = {0, 1, 0, 0, 0};   // joint, tendon: first = poly(second)
};

enum class TendonType { fixed, spatial };
enum class WrapType { joint, pulley, site, sphere, cylinder };

struct Wrap {
  WrapType type = WrapType::joint;
  int object = -1;     // joint, site or geom
  double value = 0;    // coefficient of a joint, divisor of a pulley
  int side_site = -1;  // of sphere and cylinder
};

struct Tendon {
  std::string name;
  TendonType type = TendonType::fixed;
  int first_wrap = 0, wraps = 0;
  bool limited = false;
  Double2 range = {0, 0};
  double margin = 0;
  Softness limit;
  double stiffness = 0, damping = 0, frictionloss = 0, armature = 0;
  Softness friction;
  Double2 springlength = {0, 0};  // dead band; resolved by the compiler
  bool actuator_force_limited = false;
  Double2 actuator_force_range = {0, 0};

  // Derived by the compiler.
  double length = 0;     // at qpos0
  double invweight = 0;  // J M^-1 J' at qpos0
};

enum class TransmissionType { joint, joint_in_parent, tendon, site };
enum class DynType { none, integrator, filter, filterexact, muscle };
enum class GainType { fixed, affine, muscle };
enum class BiasType { none, affine, muscle };

// Force over length and velocity of a muscle (muscle.h); its gain and its bias have one each.
struct MuscleCurve {
  Double2 range = {0.75, 1.05};    // lengths of the actuator's length range, in units of the best length
  double force = -1, scale = 200;  // peak force, N; negative: scale / (acceleration of a unit force at qpos0)
  double lmin = 0.5, lmax = 1.6, vmax = 1.5, fpmax = 1.3, fvmax = 1.2;
};

struct Actuator {
  std::string name;
  TransmissionType transmission = TransmissionType::joint;
  int target = -1, reference_site = -1;  // joint, tendon or site; site: reference frame
  Double6 gear = {1, 0, 0, 0, 0, 0};
  DynType dynamics = DynType::none;
  double time_constant = 1;  // dynprm[0]
  GainType gain = GainType::fixed;
  Double3 gainprm = {1, 0, 0};  // g0 + g1 length + g2 velocity
  BiasType bias = BiasType::none;
  Double3 biasprm = {0, 0, 0};  // b0 + b1 length + b2 velocity
  bool control_limited = false, force_limited = false, activation_limited = false;
  Double2 control_range = {0, 0}, force_range = {0, 0}, activation_range = {0, 0};
  bool act_early = false;
  MuscleCurve gain_muscle, bias_muscle;
  Double2 length_range = {0, 0};             // of a muscle
  Double3 time_constants = {0.01, 0.04, 0};  // of a muscle: activation, deactivation, smoothing width

  // Derived by the compiler.
  int activation = -1;  // address in `act`
};

enum class SensorType {
  jointpos,
  jointvel,
  ballquat,
  ballangvel,
  tendonpos,
  tendonvel,
  actuatorpos,
  actuatorvel,
  actuatorfrc,
  jointactuatorfrc,
  framepos,
  framequat,
  framexaxis,
  frameyaxis,
  framezaxis,
  framelinvel,
  frameangvel,
  framelinacc,
  frameangacc,
  accelerometer,
  velocimeter,
  gyro,
  force,
  torque,
  magnetometer,
  touch,
  rangefinder,
  subtreecom,
  subtreelinvel,
  subtreeangmom,
  jointlimitpos,
  jointlimitvel,
  jointlimitfrc,
  clock
};
enum class ObjectType { none, body, xbody, joint, geom, site, tendon, actuator };

struct Sensor {
  std::string name;
  SensorType type = SensorType::jointpos;
  ObjectType object_type = ObjectType::none, reference_type = ObjectType::none;
  int object = -1, reference = -1;
  double cutoff = 0, noise = 0;
  int address = 0, size = 1;  // in the sensors' data
};

struct Keyframe {
  std::string name;
  double time = 0;
  std::vector<double> qpos, qvel, act, ctrl;
};

struct ContactPair {
  std::string name;
  int first = -1, second = -1;  // geoms
  int condim = 3;
  Double5 friction = {1, 1, 0.005, 0.0001, 0.0001};
  Softness contact;
  Double2 solreffriction = {0, 0};
  double margin = 0, gap = 0;
};

struct ContactExclude {
  std::string name;
  int first = -1, second = -1;  // bodies
};

// adaptive: rk4 in parts whose error is held below a tolerance (step/part_errors.h).
enum class Integrator { euler, rk4, implicit, implicitfast, adaptive };
// By the names that files use.
inline constexpr std::initializer_list<std::pair<const char*, Integrator>> kIntegrators = {
    {"Euler", Integrator::euler},
    {"RK4", Integrator::rk4},
    {"implicit", Integrator::implicit},
    {"implicitfast", Integrator::implicitfast},
    {"adaptive", Integrator::adaptive}};
enum class SolverType { newton, cg, pgs };
enum class ConeType { pyramidal, elliptic };

struct Options {
  double timestep = 0.002;
  Double3 gravity = {0, 0, -9.81};
  Double3 wind = {0, 0, 0};
  Double3 magnetic = {0, -0.5, 0};
  double density = 0, viscosity = 0;
  Integrator integrator = Integrator::euler;
  double rtol = 1e-6, atol = 1e-9;  // of adaptive
  SolverType solver = SolverType::newton;
  ConeType cone = ConeType::pyramidal;
  double impratio = 1;
  int iterations = 100, ls_iterations = 50, noslip_iterations = 0;
  double tolerance = 1e-8, ls_tolerance = 0.01;

  // Flags of the same names; false switches a part of the physics off.
  bool constraint = true, equality = true, frictionloss = true, limit = true, contact = true;
  bool spring = true, damper = true, gravity_on = true, clampctrl = true, actuation = true;
  bool refsafe = true, filterparent = true, eulerdamp = true;
};

struct Model {
  std::string name;
  Options options;
  int nq = 0, nv = 0, na = 0;  // nu = actuators.size()
  double mean_inertia = 1;     // mean diagonal of the mass matrix at qpos0: the solver's scale

  std::vector<Body> bodies;  // [0] is the world
  std::vector<Joint> joints;
  std::vector<Dof> dofs;
  std::vector<Geom> geoms;
  std::vector<Site> sites;
  std::vector<Mesh> meshes;
  std::vector<Heightfield> heightfields;
  std::vector<Equality> equalities;
  std::vector<Tendon> tendons;
  std::vector<Wrap> wraps;  // of all tendons
  std::vector<Actuator> actuators;
  std::vector<Sensor> sensors;
  std::vector<Keyframe> keyframes;
  std::vector<ContactPair> pairs;
  std::vector<ContactExclude> excludes;

  std::vector<double> qpos0;        // reference configuration
  std::vector<double> qpos_spring;  // where springs are at rest

  int nu() const { return static_cast<int>(actuators.size()); }
};

inline bool has_fluid(const Model& model) {
  return model.options.density != 0 || model.options.viscosity != 0;
}
// Sides of the box that has the mass and the principal moments of a body, along the axes of inertia_quat.
Double3 fluid_box(const Body& body);

// Fills everything that "derived by the compiler" names from the rest: addresses and ranges of joints, dofs
// and geoms, roots, welds, nq, nv, na, qpos0, qpos_spring (those two only where they are empty), tendon
// lengths, inverse weights and the mean inertia. A tendon with springlength (-1, -1) rests at its length at
// qpos_spring. An inertia_quat of zeros becomes principal axes. Checks that indices are in range and the
// order is as above; throws an Error that names the element.
void complete(Model& model);

}  // namespace costate::rigid
