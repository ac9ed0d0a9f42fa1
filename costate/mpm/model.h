// Model: what a material point simulation consists of. Plain data; system.h makes a System of it.
//
// Units are SI or any consistent set. Space is the box of nodes origin + dx (i, j, k), 0 <= i < nodes[0],
// ...; particles must stay at least two cells inside it (a wall keeps them there). Two dimensions use the
// first two numbers of every vector.
// Tests: tests/mpm/.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "costate/mpm/bodies/shape.h"

namespace costate::mpm {

using Vector = std::array<double, 3>;

enum class Kernel { quadratic, cubic };  // B-splines

// The kinds of material: one line each, and one file laws/<kind>.cpp (law.h). Equations: docs/materials.md.
// clang-format off
#define COSTATE_MPM_LAWS(kind)                                                                \
  kind(liquid)          /* weakly compressible, viscous, carries (almost) no tension */       \
  kind(fixed_corotated) /* elastic; mild under compression */                                 \
  kind(neo_hookean)     /* elastic; resists inversion */                                      \
  kind(stvk_hencky)     /* elastic in logarithmic strain */                                   \
  kind(von_mises)       /* stvk_hencky that flows beyond a yield stress: metal, clay */       \
  kind(drucker_prager)  /* stvk_hencky with internal friction and no cohesion: sand */        \
  kind(snow)            /* fixed_corotated that breaks and hardens */                         \
  kind(muscle)          /* fixed_corotated with a fibre driven by the control "actuation" */
// clang-format on

#define COSTATE_ENUMERATOR(kind) kind,
enum class MaterialKind { COSTATE_MPM_LAWS(COSTATE_ENUMERATOR) };
#undef COSTATE_ENUMERATOR

// Which numbers a kind reads is said by its Law; the others are ignored.
struct Material {
  std::string name = {};
  MaterialKind kind = MaterialKind::neo_hookean;
  double density = 1000;                 // kg/m^3 at rest
  double E = 1e5, nu = 0.3;              // Young's modulus [Pa], Poisson's ratio: all but liquid
  double bulk_modulus = 1e5;             // liquid: density * (speed of sound)^2 [Pa]
  double gamma = 7;                      // liquid: exponent of the equation of state
  double viscosity = 0;                  // liquid: dynamic [Pa s]
  double tension = 1e-3;                 // liquid: width of the tension cut-off, a volume strain
  double yield_stress = 1e3;             // von_mises [Pa]
  double friction_angle = 0.6;           // drucker_prager [rad]
  double critical_compression = 2.5e-2;  // snow: smallest stretch is 1 - this
  double critical_stretch = 7.5e-3;      // snow: largest stretch is 1 + this
  double hardening = 10;                 // snow
  double strength = 1e4;                 // muscle: stress per unit of actuation [Pa]
  Vector fibre = {0, 1, 0};              // muscle: direction at rest, of length 1
  std::vector<std::string> per_particle =
      {};  // parameters with one number for each particle of this material ("E", ...)
};

// Positions and velocities hold `dimension` numbers a particle. A vector of one element stands for all
// particles.
struct Particles {
  std::vector<double> x = {}, v = {};
  std::vector<double> volume = {};   // at rest [m^3]; in two dimensions [m^2]
  std::vector<int> material = {0};   // index into Model::materials
  std::vector<int> actuator = {-1};  // muscle: index into the control "actuation"; -1: none
};

enum class Contact {
  none,      // no wall: particles that come too close to the border are an Error
  sticky,    // no motion relative to the wall
  slip,      // no motion along the normal, none of friction
  separate,  // no motion into the wall; may leave it
  coulomb,   // separate, with friction
};

struct Wall {
  Contact contact = Contact::separate;
  int nodes = 3;        // the outermost so many nodes of this side belong to the wall
  double friction = 0;  // coulomb
};

// A body whose motion is given. Where `moves` is set its motion is four control fields,
//
//   collider/<name>/position          world position of the shape's origin [m]
//   collider/<name>/rotation          rotation vector phi, R = exp([phi]x) [rad]; one angle in two dimensions
//   collider/<name>/velocity          of the shape's origin [m/s]
//   collider/<name>/angular_velocity  in world axes [rad/s]; one number in two dimensions
//
// and nothing makes the velocities the derivatives of the pose: whoever writes the trajectory does (a spline
// knows both). Otherwise position and rotation are parameters of these names, and it rests. Friction is the
// parameter collider/<name>/friction.
//
// The condition holds on nodes with phi <= 0 and fades out over `band` cells outside (C1), so that the pose
// has a gradient.
struct Collider {
  std::string name = {};
  Shape shape = {};
  Contact contact = Contact::coulomb;
  double friction = 0.2;
  double band = 1;
  bool moves = false;
  Vector position = {0, 0, 0}, rotation = {0, 0, 0};  // of a resting one; in 2-D the angle is rotation[2]
};

// A free rigid body: a collider that the material pushes back. Its motion is state,
//
//   body/<name>/position, velocity    of its centre of mass, which is the shape's origin
//   body/<name>/orientation           an angle in two dimensions, a quaternion (w, x, y, z) in three
//   body/<name>/angular_velocity      in world axes; one number in two dimensions
//
// and body/<name>/{mass, inertia, friction} are parameters: inertia about the shape's axes, three numbers (in
// two dimensions one, about the third axis). It receives from the nodes what it gives them, and gravity;
// bodies do not feel walls, colliders or each other but through the material.
struct Body {
  std::string name = {};
  Shape shape = {};
  Contact contact = Contact::separate;
  double friction = 0;
  double band = 1;
  double mass = 1;             // [kg]; in two dimensions per metre of depth
  Vector inertia = {1, 1, 1};  // [kg m^2]; in two dimensions the third
  Vector position = {0, 0, 0},
         rotation = {0, 0, 0};  // at the start; a rotation vector, in 2-D the angle is rotation[2]
  Vector velocity = {0, 0, 0}, angular_velocity = {0, 0, 0};
};

class Mechanism;  // mechanism.h

struct Model {
  int dimension = 3;
  std::array<int, 3> nodes = {64, 64, 64};
  Vector origin = {0, 0, 0};
  double dx = 1.0 / 64;
  double dt = 1e-4;
  Vector gravity = {0, -9.81, 0};
  Kernel kernel = Kernel::quadratic;
  std::vector<Material> materials = {};
  Particles particles = {};
  std::array<Wall, 6> walls = {};  // low x, high x, low y, high y, low z, high z
  std::vector<Collider> colliders = {};
  std::vector<Body> bodies = {};
  std::shared_ptr<const Mechanism> mechanism = {};  // bodies that it moves, besides the free ones
  int actuators = 0;                                // size of the control "actuation"
  double mass_floor = 0;       // added to a node's mass; 0: 1e-16 (float: 1e-12) of the lightest particle
  double largest_courant = 1;  // a particle that moves further than so many cells in a step is an Error
};

// Adds the points of a lattice (spacing, first point half a spacing from the corner of the shape's bounding
// box) that lie inside a shape at `position`, each with its share of volume. Returns how many.
std::int64_t fill(Model& model, const Shape& shape, const Vector& position, double spacing, int material,
                  const Vector& velocity = {0, 0, 0});

// Mass, and inertia about its own axes, of a body of this density [kg/m^3; in two dimensions kg/m^2], from
// points inside its shape.
void set_density(Body& body, double density, int dimension);

std::int64_t particle_count(const Model& model);

// Throws an Error for everything that can be told before the first step. (model_check.cpp)
void check(const Model& model);

}  // namespace costate::mpm
