// From a model and the options of a system to the stepper that takes its steps, or an Error that names what
// the dynamics do not have.
#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/rigid/contact/contact_pairs.h"
#include "costate/rigid/parameter_range.h"
#include "costate/rigid/rigid_system.h"
#include "costate/rigid/step/integrators.h"

namespace costate::rigid {
namespace {

void refuse_nonsense(const SystemOptions& options) {
  const auto expect = [](bool good, const char* name, double value, const char* range) {
    if (!good) throw Error({std::string(name) + " = " + number(value), {}, range});
  };
  const ImpactOptions& impact = options.impact;
  expect(impact.restitution >= 0 && impact.restitution <= 1, "restitution", impact.restitution,
         "it lies between 0 and 1, which returns all of the speed");
  expect(impact.rest_speed >= 0, "rest_speed", impact.rest_speed, "a speed is not negative");
  expect(options.penalty.stiffness > 0, "stiffness", options.penalty.stiffness,
         "contact pushes apart: more than 0");
  expect(options.penalty.damping >= 0, "damping", options.penalty.damping, "damping is not negative");
}

// What the model asks for and the dynamics do not have.
void refuse_unsupported(const Model& model) {
  refuse_unknown_pairs(model);
  for (const Geom& g : model.geoms) {
    if (g.fluid_ellipsoid && has_fluid(model))
      throw Error({"geom \"" + g.name + "\": a fluid sees bodies as boxes, not their geoms as ellipsoids",
                   {},
                   "leave out fluidshape"});
  }
  if (!model.options.actuation && model.na > 0)
    throw Error("actuation is switched off, but actuators have activations: remove them");
  for (const Joint& j : model.joints) {
    // Without a limit it makes no difference whose force it is.
    if (j.actuator_gravcomp && j.actuator_force_limited)
      throw Error("joint \"" + j.name +
                  "\": gravity compensation as a part of its limited actuator force is not simulated");
  }
  for (const Actuator& a : model.actuators) {
    if (a.transmission == TransmissionType::joint_in_parent) {
      const JointType type = model.joints[static_cast<std::size_t>(a.target)].type;
      if (type == JointType::free || type == JointType::ball)
        throw Error("actuator \"" + a.name +
                    "\": jointinparent is simulated for slide and hinge joints only");
    }
    if (a.reference_site >= 0) throw Error("actuator \"" + a.name + "\": a reference site is not simulated");
  }
  for (const Tendon& t : model.tendons) {
    if (t.armature != 0) throw Error("tendon \"" + t.name + "\": armature of tendons is not simulated");
    if (t.actuator_force_limited)
      throw Error("tendon \"" + t.name + "\": limits of a tendon's actuator force are not simulated");
  }
}

// Lists the limits of all joints as events.
void list_limit_events(Constraints& cons) {
  cons.event_of_row.assign(std::size_t(cons.rows), -1);
  for (std::size_t at = 0; at < cons.groups.size(); ++at) {
    const ConstraintGroup& g = cons.groups[at];
    if (g.kind != GroupKind::joint_limit && g.kind != GroupKind::ball_limit) continue;
    for (int i = 0; i < g.rows; ++i) {
      cons.event_of_row[std::size_t(g.row + i)] = cons.events();
      cons.cut_limits.push_back({int(at), i});
    }
  }
}

}  // namespace

Stepper make_stepper(const Model& model, const SystemOptions& options, Signature& signature) {
  refuse_nonsense(options);
  refuse_unsupported(model);
  signature.state("q", model.nq).state("v", model.nv);
  if (model.na > 0) signature.state("act", model.na);
  if (model.nu() > 0) signature.control("ctrl", model.nu());
  if (options.applied_forces) signature.control("qfrc", model.nv);
  Stepper s;
  s.tree =
      make_tree(model, add_parameters(model, signature, {options.contact, options.impact, options.penalty}));
  limit_parameters(signature);
  s.constraints = make_constraints(model, s.tree);
  s.integrator = model.options.integrator;
  s.applied_forces = options.applied_forces;
  s.constraints.contact = options.contact;
  s.constraints.rest_speed = options.impact.rest_speed;
  s.constraints.hard = options.hard;
  // Feet that chatter meet the ground in nearly every step: a gradient through each of these impacts is exact
  // and grows until it carries no signal, and robots learn by those of the time grid.
  const bool chosen = options.onset == Onset::automatic && model.nu() == 0;
  const bool cut = chosen || options.onset == Onset::split || parts_of(options.contact).impacts;
  if (cut && options.contact == ContactModel::convex) list_limit_events(s.constraints);
  s.split = cut && !s.hard() && s.constraints.events() > 0;
  // With `event` only impacts of round shapes are taken one by one: a box that falls flat has one impact, and
  // a sequence of corners is another thing. With springs no points that may leap: one that is gone would
  // pull.
  const auto type = [&](int geom) { return s.tree.geoms[static_cast<std::size_t>(geom)].type; };
  const auto round = [&](int geom) {
    return type(geom) == GeomType::plane || type(geom) == GeomType::sphere || type(geom) == GeomType::capsule;
  };
  for (TouchingPair& pair : s.constraints.pairs) {
    const int one = pair.geoms.first, two = pair.geoms.second;
    if (parts_of(options.contact).impacts) pair.splittable &= round(one) && round(two);
    const bool leaps =
        type(two) == GeomType::box && (type(one) == GeomType::capsule || type(one) == GeomType::box);
    if (options.contact != ContactModel::convex) pair.splittable &= !leaps;
  }
  with_integrator(s.integrator, [&](auto method) {
    s.evaluations = method.kEvaluations;
    method.set_up(model, s);
  });
  if (s.graded() && s.integrator != Integrator::rk4) {
    auto in_contact = std::make_shared<Stepper>(s);
    in_contact->integrator = Integrator::rk4;
    in_contact->evaluations = Rk4::kEvaluations;
    in_contact->implicit = Implicit::none;
    in_contact->tree.spinning.clear();
    s.in_contact = std::move(in_contact);
  }
  return s;
}

}  // namespace costate::rigid
