// Incompressible flow in a box, in two or three dimensions, on a staggered (MAC) grid.
//
//   du/dt = -div(u u) + div(2 nu S) - grad p + f        div u = 0
//   S = (grad u + grad u') / 2, nu viscosity [m^2/s], p pressure over density [m^2/s^2], f force [m/s^2]
//
//   in space  central fluxes of second order: without viscosity and walls they keep the energy [1]
//   in time   SSP-RK3 [2], each stage projected exactly onto div u = 0:
//               a = P(u + dt F(u))   b = P(3/4 u + 1/4 (a + dt F(a)))   u+ = P(1/3 u + 2/3 (b + dt F(b)))
//             or forward Euler, u+ = P(u + dt F(u))
//
// Inputs, all of them differentiable: the speeds at the start, viscosity per cell, force, the velocities on
// every face of the sides (walls, lids, inflows; constant or driven in time), a push on every face in time,
// dt. Fields have x fastest; component u lies on the faces across x, with both ends where x does not wrap:
// nx + 1 numbers per row. What a state says on a face whose speed a side prescribes is not read.
//
// [1] Harlow, Welch, Phys. Fluids 8 (1965); Morinishi et al., J. Comput. Phys. 143 (1998).
// [2] Shu, Osher, J. Comput. Phys. 77 (1988), eq. 2.18.
// Rooms: grid/ (fields, sides), pressure/ (the solver), step/ (the step and its transpose, side by side).
// Tests: tests/fluid/.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "costate/grid/cell_values.h"
#include "costate/system/system.h"

namespace costate::fluid {

using grid::CellValues;

enum class Scheme { rk3, euler };

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

struct FlowOptions {
  std::vector<std::int64_t> cells = {32, 32};  // two or three numbers
  std::array<double, 3> width = {1, 1, 1};     // of a cell along each axis [m]
  double dt = 0.01;                            // [s]
  CellValues viscosity = 0.01;                 // [m^2/s]
  std::array<double, 3> force = {};            // [m/s^2]
  std::array<Side, 6> sides = {};
  bool push = false;  // a force on every face is a control: "push/u", ... [m/s^2]
  Scheme scheme = Scheme::rk3;
};

// Error for what makes no sense: sides that do not match, net inflow that cannot leave, too few cells.
template <class Real>
std::shared_ptr<System<Real>> flow(const FlowOptions& options);

extern template std::shared_ptr<System<float>> flow<float>(const FlowOptions&);
extern template std::shared_ptr<System<double>> flow<double>(const FlowOptions&);

}  // namespace costate::fluid
