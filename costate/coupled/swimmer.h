// A rigid model in a flow, both ways, in two dimensions: a pendulum in a stream, a foil on a joint, a fish of
// links with motors (costate/rigid: joints, actuators, MJCF, URDF). Geoms of its bodies are obstacles of the
// flow, and the model feels what the fluid does to them.
//
//   fluid::FlowOptions options = ...;
//   coupled::put_into(options, {.model = fish, .density = 1000});
//   const auto system = fluid::flow<double>(options);
//       states: those of the flow, then "model/q", "model/v", "model/act"; controls: "ctrl"
//
// In a stage of the flow (fluid/obstacles/free.h) each shape feels the force A - K V, per density rho of the
// fluid, when it moves with V = J v. With v_n the velocities at the start of the step, v_c those of the stage
// before, and v_0 those after a rigid step that feels no fluid,
//
//   w = kept v_n + share (v_c + v_0 - v_n)
//   (M + s sum J' K J) (v - w) = s sum J' (A - K J w)        s = share dt rho, J and M at the step's start
//
// so that bodies hardly heavier than the fluid are stable with any dt. The step of the model is the rigid
// one, with its integrator, limits, contacts and actuators, and with the generalised forces rho sum J' wrench
// of what the shapes felt in all stages: what the fluid loses the model receives, whatever v was.
//
// Transposes, in swimmer.cpp beside what they transpose. Of a stage, with S = M + s sum J' K J,
//
//   v_bar += sum J' V_bar      lambda = S^-1 v_bar      mu = rho J lambda
//   w_bar = M lambda           and <lambda, s J' (A - K J v) - M (v - w)> has the derivatives by J, M and s
//
// Masses of bodies are those beyond the fluid that their shapes displace: put_into takes that away, with its
// weight and its inertia, at the sizes of the shapes that it sees (they are numbers of the model afterwards,
// "body/<name>/mass", which do not change with "<shape>/size"). Gravity is the model's. Parameters: all of
// the model's by their names but dt, then "density". Tests: tests/coupled/swimmer_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/fluid/flow.h"
#include "costate/fluid/obstacles/linkage.h"
#include "costate/rigid/rigid_system.h"

namespace costate::coupled {

struct Swimmer {
  rigid::Model model = {};
  double density = 1000;                   // of the fluid [kg/m^2]: that of water, times the model's depth
  std::vector<std::string> geoms = {};     // that the flow sees; empty: all of bodies that can move
  double mask = 1;                         // of these obstacles, in cells
  rigid::SystemOptions options = {};       // applied_forces is set whatever it says
  std::vector<double> initial_state = {};  // (q, v, act); empty: the model's reference configuration
};

// Adds an obstacle per geom, which has its name (or its body's), and makes the model the flow's linkage.
// Error for geoms that have no shape in the plane or can leave it, and for bodies lighter than the fluid.
void put_into(fluid::FlowOptions& flow, const Swimmer& swimmer);

}  // namespace costate::coupled
