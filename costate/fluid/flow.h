// Incompressible flow in a box, in two or three dimensions, on a staggered (MAC) grid.
//
//   du/dt = -div(u u) + div(2 nu S) - grad p + f        div u = 0
//   dc/dt = -div(u c) + D lap c + source                of scalars, which may react with one another
//                                                       (scalars/reactions.h) and push back: f += buoyancy c
//   S = (grad u + grad u') / 2, nu viscosity [m^2/s], p pressure over density [m^2/s^2], f force [m/s^2]
//
//   in space  central fluxes of second order: without viscosity and walls they keep the energy [1]; or
//             limited upwind ones, which make no ripples (carry/limited.h)
//   in time   SSP-RK3 [2], each stage projected exactly onto div u = 0:
//               a = P(u + dt F(u))   b = P(3/4 u + 1/4 (a + dt F(a)))   u+ = P(1/3 u + 2/3 (b + dt F(b)))
//             or forward Euler, u+ = P(u + dt F(u))
//             or semi-Lagrangian, u+ = P(traced u + dt F(u)), F without div(u u): for smoke, any dt
//             or stokes: a step leads to the steady creeping flow, resistance u - nu lap u + grad p = f
//             (Brinkman; without viscosity Darcy), and to the powers that it takes (steady/stokes_system.h)
//
// Inputs, all of them differentiable: the fields at the start, viscosity per cell, force, the velocities on
// every face of the sides (walls, lids, inflows; constant or driven in time), a push on every face in time,
// dt; places of tracers; of scalars diffusivity, buoyancy, sources, values on sides and rates of reactions;
// of obstacles centre, shape, velocity and spin. Force and torque on each obstacle during the last step, and
// the pressure if asked for, are in the state; nothing reads them back, so that every loss can look at them.
// Fields have x fastest; component u lies on the faces across x, with both ends where x does not wrap: nx +
// 1 numbers per row. What a state says on a face whose speed a side prescribes is not read.
//
// [1] Harlow, Welch, Phys. Fluids 8 (1965); Morinishi et al., J. Comput. Phys. 143 (1998).
// [2] Shu, Osher, J. Comput. Phys. 77 (1988), eq. 2.18.
// Rooms: grid/ (fields, sides), pressure/ (the solver), obstacles/ (shapes, masks), scalars/ (what is
// carried), carry/ (tracing back), step/ (the step and its transpose, side by side), steady/ (creeping flow).
// Tests: tests/fluid/.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "costate/grid/cell_values.h"
#include "costate/system/system.h"

namespace costate::fluid {

using grid::CellValues;
class Linkage;  // obstacles/linkage.h

enum class Scheme { rk3, euler, semi_lagrangian, stokes };

struct Side {
  enum class Kind {
    periodic,
    velocity,  // given on every face: a wall, a moving lid, an inflow
    slip,      // nothing passes, and nothing drags
    outflow    // pressure 0, speeds go on unchanged
  };
  Kind kind = Kind::periodic;
  std::array<CellValues, 3> velocity = {0.0, 0.0, 0.0};  // components: one number, or one per face
  bool driven = false;                                   // the velocity is a control instead of a parameter
};
Side wall(std::array<double, 3> velocity = {});

// In the order of `FlowOptions::sides`.
inline constexpr const char* kSideNames[6] = {"west", "east", "south", "north", "bottom", "top"};
inline constexpr const char* kComponents[3] = {"u", "v", "w"};

// A body in the flow. Its surface may move (a rotating cylinder, a belt), and where it `moves` so does the
// body: how far it has come and turned is part of the state. A `Free` body is moved by the flow.
struct Obstacle {
  enum class Shape { ball, ellipsoid, fourier, box, capsule, level };  // obstacles/shapes.h
  std::string name = "body";
  Shape shape = Shape::ball;
  std::array<double, 3> center = {};  // [m]
  // ball: radius; ellipsoid: semi-axes; fourier (2-D): r_0, a_1, b_1, a_2, b_2, ...; box: half edges, its
  // corners rounded by about a third of a cell; capsule: radius, half length of its axis, which lies along x,
  // in 3-D along z; level: the depth inside of every cell, negative outside (obstacles/outline.h) [m]
  std::vector<double> size = {0.1};
  double angle = 0;                     // of what is not round, in 2-D [rad]
  std::array<double, 3> velocity = {};  // of its surface [m/s]
  std::array<double, 3> spin = {};      // [rad/s]; in 2-D the third number
  bool driven = false;                  // velocity and spin are controls instead of parameters
  bool moves = false;                   // with velocity and spin; in 3-D a shape does not turn
  // In 2-D, with rk3 and euler (obstacles/free.h). Mass and inertia are those beyond the fluid it displaces,
  // (density - 1) area, per density of the fluid. Springs pull it back to where it was made. What is not
  // free of (x, y, angle) goes with velocity and spin.
  struct Free {
    double mass = 0, inertia = 0;                    // [m^2], [m^4]
    std::array<double, 2> gravity = {};              // [m/s^2]
    std::array<double, 3> spring = {}, damper = {};  // along x and y, and about the centre
    std::array<bool, 3> axes = {true, true, true};
  };
  std::optional<Free> free = {};
  // In 2-D, with rk3 and euler: the next shape of FlowOptions::linkage, which moves it. Centre and angle are
  // those in the frame of its body.
  bool linked = false;
  // Inside, resistance grows without limit (firm: closer to the sharp body), or it is the same everywhere
  // (soft: the usual volume penalty). Or points on the surface hold the flow, exactly without slip (surface:
  // in 2-D, of bodies that do not move; obstacles/surface.h).
  enum class Core { firm, soft, surface };
  Core core = Core::firm;
  // Of its mask, in cells. Narrower is closer to the sharp body, and its shape derivative then depends on
  // where the body lies between the cells.
  double mask = 1;
};

// Something that the flow carries along: temperature, salt, smoke.
struct Scalar {
  std::string name = "c";
  double diffusivity = 0.01;            // [m^2/s]
  CellValues source = 0.0;              // per cell, per second
  std::array<double, 3> buoyancy = {};  // acceleration of the flow per unit [m/s^2]
  // By central fluxes, by limited upwind ones (carry/limited.h), or traced back, which the scheme
  // semi_lagrangian can: carry/trace.h.
  enum class Carried { central, limited, semi_lagrangian, mac_cormack };
  Carried carried = Carried::central;
  bool mix_norm = false;  // the state has "c/mix_norm_squared": step/readings.h
  // The value on a side that does not wrap: one number, or one per face. Without, nothing diffuses through.
  std::array<std::optional<CellValues>, 6> sides = {};
};

// Scalars that become others (scalars/reactions.h): c_0^takes_0 c_1^takes_1 ... times `rate` per second. Of
// every scalar, in their order: how many are taken, which is the power of its number, and how many are made.
struct Reaction {
  std::string name = "reaction";
  double rate = 1;
  std::vector<int> takes = {}, makes = {};
};

// Points that the flow carries along and that do not act on it (carry/tracers.h): where they are is part of
// the state, and where they begin is its start.
struct Tracers {
  std::string name = "tracers";
  std::int64_t count = 1;
};

// Where a state says what the flow does there, after every step: "inlet/velocity", "inlet/T" of every scalar,
// and with `pressure` "inlet/p". With `minus` how much that differs from what there is at another place: a
// pressure drop.
struct Probe {
  std::string name = "probe";
  std::array<double, 3> place = {};
  std::optional<std::array<double, 3>> minus = {};
};

struct FlowOptions {
  std::vector<std::int64_t> cells = {32, 32};  // two or three numbers
  std::array<double, 3> width = {1, 1, 1};     // of a cell along each axis [m]
  // A stretched grid: the width of every cell along an axis, instead of `width`; grid/graded.h makes such.
  // With rk3 and euler, central fluxes and explicit viscosity.
  std::array<std::vector<double>, 3> widths = {};
  double dt = 0.01;                  // [s]
  CellValues viscosity = 0.01;       // [m^2/s]
  std::array<double, 3> force = {};  // [m/s^2]
  std::array<Side, 6> sides = {};
  bool push = false;  // a force on every face is a control: "push/u", ... [m/s^2]
  std::vector<Obstacle> obstacles = {};
  std::vector<Scalar> scalars = {};      // at most 8
  std::vector<Reaction> reactions = {};  // at most 16
  std::vector<Tracers> tracers = {};     // not of stokes
  std::vector<Probe> probes = {};        // not of stokes
  bool dissipation = false;              // the state has it, by viscosity: step/readings.h
  Scheme scheme = Scheme::rk3;
  // Speeds are carried by limited upwind fluxes (carry/limited.h) instead of central ones: for eddies and
  // fronts that the grid does not resolve. With rk3 and euler.
  bool limited = false;
  // Viscosity does not limit dt: one linear system more per component and stage (step/implicit.h). Not of
  // stokes, which has no dt.
  bool implicit = false;
  CellValues resistance = 0.0;  // of the scheme stokes alone: of a porous medium [1/s]
  // Eddies that the grid does not resolve, as viscosity: Smagorinsky's constant, about 0.1; 0: none.
  double smagorinsky = 0;
  bool pressure = false;  // the state has "p", over density, of every cell: of the last stage of a step
  // What holds bodies together that the flow moves: joints of a rigid model (costate/coupled/swimmer.h).
  std::shared_ptr<const Linkage> linkage = {};
};

// Error for what makes no sense: sides that do not match, net inflow that cannot leave, too few cells.
template <class Real>
std::shared_ptr<System<Real>> flow(const FlowOptions& options);

extern template std::shared_ptr<System<float>> flow<float>(const FlowOptions&);
extern template std::shared_ptr<System<double>> flow<double>(const FlowOptions&);

}  // namespace costate::fluid
