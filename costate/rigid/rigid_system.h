// A model as a System: many worlds in SIMD lanes, every number of the model a parameter by name.
//
//   state      "q" (nq: positions as MuJoCo's qpos), "v" (nv), "act" (na)
//   control    "ctrl" (one per actuator); with applied_forces also "qfrc" (one force per dof)
//   parameter  "gravity", "dt", "body/<name>/mass", "joint/<name>/damping", ...: parameter_map.h lists them
//
// Quaternions in q need not be unit: a step divides by their length, and returns unit ones. So the gradient
// with respect to q is tangent to the sphere: orthogonal to each quaternion, zero along it; half of it,
// turned into body axes, is the gradient with respect to a rotation of the body: theta_bar = vec(q*
// q_bar) / 2 for unit q.
// Tests: tests/rigid/rigid_system_test.cpp (contract), parity_test.cpp (MuJoCo).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/rigid/contact_model.h"
#include "costate/rigid/model.h"
#include "costate/system/system.h"

namespace costate::rigid {

// What happens inside a step in which a contact, or the limit of a joint, begins or ends to act.
//   none        the step does not notice until it is over, as in MuJoCo: gradients are those of the time grid
//   split       the step is cut there, and gradients are those of the physics (split_step.h)
//   automatic   split, except that models with actuators are left to the time grid; the report says so
//               (docs/contact.md)
enum class Onset { automatic, none, split };

struct SystemOptions {
  bool applied_forces = false;
  Onset onset = Onset::
      automatic;  // of convex and penalty, limits of convex; event and hard see impacts in their own way
  ContactModel contact = ContactModel::convex;
  ImpactOptions impact = {};
  PenaltyOptions penalty = {};
  HardOptions hard = {};
};

// Throws an Error for what the model has and the dynamics do not simulate.
template <class Real>
std::shared_ptr<System<Real>> make_system(const Model& model, const SystemOptions& options = {});

// The same from the stepper and the signature that make_stepper has made of the model.
struct Stepper;  // step/step.h
template <class Real>
std::shared_ptr<System<Real>> make_system(const Model& model, const Stepper& stepper,
                                          const Signature& signature);

// Where a model starts (q, v, act of one world): its reference configuration at rest, or one of its keyframes
// by name.
std::vector<double> initial_state(const Model& model);
std::vector<double> initial_state(const Model& model, const std::string& keyframe);

extern template std::shared_ptr<System<float>> make_system<float>(const Model&, const SystemOptions&);
extern template std::shared_ptr<System<double>> make_system<double>(const Model&, const SystemOptions&);

}  // namespace costate::rigid
