// Soft bodies and cloth: what a model is made of.
//
//   parts       tetrahedra (linear, quadratic), hexahedra, triangles or rods that share the vertices of one
//               mesh; triangles stretch as membranes and bend at the edges that two of them share; rods
//               stretch, bend and twist. A segment of a rod has a frame point beside it (elements/rod.h)
//   materials   a law (laws/), its numbers, density, viscosity; of triangles thickness and bending too
//   obstacles   planes and balls that vertices cannot enter; contact says how, and whether surfaces touch
//               each other. A surface of any shape, at rest or moving, is a part of no material whose
//               vertices are held
//   holds       vertices that are moved instead of free: a hold may have a velocity and a spin as controls,
//               or ride on a link of the carrier, a robot that feels what they feel
//
// system.h says what a step computes, and lists states, controls and parameters. Units are SI.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace costate::soft {

class Carrier;  // step/carrier.h; coupled/carrier.h makes one of a rigid model

struct SoftMaterial {
  std::string name = "material";
  std::string law = "neo_hookean";  // of solids or of membranes, as the parts have it
  std::map<std::string, double> numbers =
      {};                    // of the law: {"E", 1e5}, {"nu", 0.3}; others keep their default
  bool per_element = false;  // the numbers of the law are one per element
  std::string driven = {};   // a number of the law: control "drive/<name>/<number>" is added to it
  // kg/m^3; of triangles kg/m^2, of rods kg/m; 0 where other parts of the same vertices have mass
  double density = 1000;
  double viscosity = 0;  // Pa s: stress per rate of strain; of rods s: the time in which strains give way
  // Of triangles:
  std::array<double, 3> warp = {1, 0, 0};  // of woven laws: along the rest shape; a constant
  double thickness = 1e-3;                 // m: multiplies the stress of the membrane
  double bending = 0;            // J: W = bending 3 |e|^2/(A0 + A1) (theta - theta_rest)^2 per inner edge
  double bending_viscosity = 0;  // J s. With both zero edges are free, and neither is a parameter
  // 1/m: what is bent further keeps a crease, which is a state ("part/<part>/crease" [rad]); 0: nothing does
  double yield_curvature = 0;
};

enum class Cells { tetrahedra, quadratic_tetrahedra, hexahedra, triangles, rods };
inline constexpr const char* kCellNames[] = {"tetrahedra", "quadratic_tetrahedra", "hexahedra", "triangles",
                                             "rods"};
// Vertices of a cell, in the order of elements/shape.cpp; of a rod's segment its ends and its frame point.
inline constexpr int kCellVertices[] = {4, 10, 8, 3, 3};

struct Part {
  std::string name = "part";
  Cells cells = Cells::tetrahedra;
  std::vector<int> vertices = {};  // kCellVertices per cell
  int material = 0;              // -1: an obstacle, which has a surface but no forces: its vertices are held
  double pressure = 0;           // Pa, inside of a closed surface. With neither it is not a parameter
  bool pressure_driven = false;  // control "drive/<name>/pressure" is added to it
};

struct Hold {
  std::string name = "hold";
  std::vector<int> vertices = {};
  bool driven = false;    // control "hold/<name>/velocity", 3 numbers; otherwise the vertices stay
  bool turns = false;     // control "hold/<name>/spin", 3 numbers: about the mean of the vertices
  std::string body = {};  // the vertices ride on this link of the carrier, as they lie at rest at its start
};

// What vertices cannot enter. It stays where it is.
struct Obstacle {
  enum class Shape { plane, ball };
  std::string name = "obstacle";
  Shape shape = Shape::plane;
  std::array<double, 3> place = {0, 0, 0};   // m: a point of the plane, or the centre of the ball
  std::array<double, 3> normal = {0, 0, 1};  // of a plane, towards the side that is free
  double radius = 1;                         // m, of a ball
  double friction = 0;                       // Coulomb's
};

// Barriers keep surfaces apart (contact/barrier.h): nothing that starts apart ever meets.
struct SoftContact {
  bool self = false;       // surfaces touch each other and themselves, not only obstacles
  double distance = 1e-3;  // m: where a barrier begins
  double stiffness = 1e4;  // J/m^2; area_weighted: Pa/m
  // Barriers count by the area that they stand for, so that a finer mesh feels the same contact.
  bool area_weighted = false;
  double friction = 0;       // of surfaces with each other
  double slip_speed = 0.01;  // m/s: below it friction sticks, creeping
};

enum class Integrator {
  euler,     // implicit: first order, dissipates
  bdf2,      // second order, dissipates little; the first step is one of euler
  midpoint,  // implicit: second order, keeps the energy of linear elasticity
  still,     // equilibrium: no inertia, no velocity; a step goes to the nearest state of rest
};
inline constexpr const char* kIntegratorNames[] = {"euler", "bdf2", "midpoint", "still"};

struct SoftModel {
  std::vector<double> rest = {};  // m, 3 numbers per vertex: the shape without stress
  std::vector<Part> parts = {};
  std::vector<SoftMaterial> materials = {};
  std::vector<Hold> holds = {};
  std::array<double, 3> gravity = {0, 0, -9.81};  // m/s^2
  double drag = 0;                                // 1/s: force -drag m v
  std::array<double, 3> wind = {0, 0, 0};         // m/s
  double wind_drag = 0;      // kg/(m^2 s): pressure on triangles per normal speed of the wind
  bool wind_driven = false;  // control "drive/wind" [m/s] is added to the wind
  std::vector<Obstacle> obstacles = {};
  SoftContact contact = {};
  std::shared_ptr<const Carrier> carrier = {};
  double dt = 0.01;  // s
  Integrator integrator = Integrator::euler;
  // Newton's iteration stops at |residual| <= tolerance |forces|. The error of a gradient is about as large,
  // relative to the gradient: 1e-4 is enough to optimise, 1e-10 to compare with differences.
  double tolerance = 1e-9;
  int max_iterations = 100;

  int vertices() const { return int(rest.size()) / 3; }
};

}  // namespace costate::soft
