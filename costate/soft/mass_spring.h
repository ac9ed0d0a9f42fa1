// Masses joined by springs, some of them muscles, in the plane or in space: many small worlds in SIMD lanes.
//
//   d = x_a - x_b,  w = v_a - v_b,  l = |d| + softening
//   L = rest_length (1 + strength act)                               a muscle's length follows its control
//   f = [stiffness (l - L) + damping (w.d)/l] d / l                  on b; -f on a           (spring_force.h)
//   v' = e^{-drag dt} v + dt (F/mass + gravity),  x' = x + dt v'     symplectic Euler with exact drag
//                                                                    (mass_spring_step.h)
//   planes n.x >= offset, inelastic, with Coulomb friction                                  (plane_contact.h)
//
//   state      "x" [m], "v" [m/s]: dimensions numbers a mass
//   control    "actuation": one number a muscle (springs may share one); none where there is no muscle
//   parameter  "mass", "spring/rest_length", "spring/stiffness", "spring/damping", "spring/strength", "drag",
//              "gravity", "plane/friction", "plane/offset" (with Contact::split), "dt": all of them
//              differentiable. Softening, normals and topology are constants.
//
// The model is that of [1], its ground and its time of impact included.
// [1] Hu et al.: DiffTaichi: Differentiable Programming for Physical Simulation, ICLR 2020, mass_spring and
//     mass_spring_simple.
// Tests: tests/soft/mass_spring_test.cpp (closed forms, contract), mass_spring_simple_test.cpp (the published
// run).
#pragma once

#include <memory>
#include <vector>

#include "costate/system/system.h"

namespace costate::soft {

struct Spring {
  int a = 0, b = 1;        // the masses it joins
  double rest_length = 1;  // m
  double stiffness = 1;    // N/m
  double damping = 0;      // N s/m, along the spring
  int muscle = -1;         // which control moves it; -1: passive
  double strength = 0;     // share of the rest length that act = 1 adds
};

// Masses stay where normal.x >= offset.
struct Plane {
  std::vector<double> normal;  // made unit length
  double offset = 0;           // m
  double friction = 0;
};

enum class Contact {
  // The step is split at the time of impact: the gradient is that of the motion, and resting masses do not
  // sink.
  split,
  // Velocities are corrected after the positions have moved. The gradient does not see the time of impact.
  end_of_step,
};

struct MassSpringModel {
  int dimensions = 2;               // 2 or 3
  std::vector<double> masses = {};  // kg, one a mass
  std::vector<Spring> springs = {};
  std::vector<double> gravity = {};  // m/s^2; empty: none
  double drag = 0;                   // 1/s: velocities decay as e^{-drag t}
  std::vector<Plane> planes = {};
  Contact contact = Contact::split;
  double softening = 1e-4;  // m, keeps springs of no length regular
  double dt = 1e-3;         // s

  int muscles() const;  // one more than the largest index in use
};

// Throws Error where the model is no model (a spring to a mass that does not exist).
template <class Real>
std::shared_ptr<System<Real>> make_system(const MassSpringModel& model);

extern template std::shared_ptr<System<float>> make_system<float>(const MassSpringModel&);
extern template std::shared_ptr<System<double>> make_system<double>(const MassSpringModel&);

}  // namespace costate::soft
