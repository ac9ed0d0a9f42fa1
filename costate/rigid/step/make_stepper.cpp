// From a model and the options of a system to the stepper that takes its steps, or an Error that names what
// the dynamics do not have.
#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/rigid/contact/contact_pairs.h"
#include "costate/rigid/parameter_range.h"
#include "costate/rigid/rigid_system.h"
#include "costate/rigid/step/integrators.h"
#include "costate/rigid/step/part_method.h"

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

void refuse_tolerances(const Options& options, Onset onset) {
  for (const auto& [name, value] : {std::pair{"rtol", options.rtol}, {"atol", options.atol}})
    if (!(value > 0)) throw Error({std::string(name) + " = " + number(value), {}, "a tolerance is positive"});
  if (onset == Onset::none)
    throw Error(
        {"integrator = adaptive holds the error of parts between contacts, and onset = none does not cut "
         "there",
         {},
         "use onset = automatic, or RK4"});
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

// Lists all limits as events.
void list_limit_events(Constraints& cons) {
  cons.event_of_row.assign(std::size_t(cons.rows), -1);
  for (std::size_t at = 0; at < cons.groups.size(); ++at) {
    const ConstraintGroup& g = cons.groups[at];
    if (!is_limit(g.kind)) continue;
    for (int i = 0; i < g.rows; ++i) {
      cons.event_of_row[std::size_t(g.row + i)] = cons.events();
      cons.cut_limits.push_back({int(at), i});
    }
  }
}

// What damps each dof and tendon of a model, for Stepper::dampers.
std::vector<std::vector<Stepper::Damper>> list_dampers(const Model& model, const Tree& tree) {
  std::vector<std::vector<Stepper::Damper>> of_dof(tree.dofs.size()), of_tendon(tree.tendons.size());
  const auto add = [](std::vector<Stepper::Damper>& to, int number, double weight) {
    to.push_back({number, weight});
  };
  const auto dof = [&](std::size_t i) { return model.dofs[i].invweight; };
  const auto tendon = [&](std::size_t t) { return model.tendons[t].invweight; };
  if (tree.dampers) {
    for (std::size_t i = 0; i < of_dof.size(); ++i)
      add(of_dof[i], tree.joints[std::size_t(tree.dofs[i].joint)].p.damping, dof(i));
    for (std::size_t t = 0; t < of_tendon.size(); ++t)
      add(of_tendon[t], tree.tendons[t].p.damping, tendon(t));
  }
  // The slope of a force over its velocity, as far as a control does not scale it.
  for (std::size_t i = 0; i < tree.actuators.size(); ++i) {
    const TreeActuator& a = tree.actuators[i];
    if (!a.affine_bias) continue;
    const double gear = model.actuators[i].gear[0], square = gear * gear;
    if (a.kind == TreeActuator::Kind::scalar_joint)
      add(of_dof[std::size_t(a.dof)], a.p.bias + 2, square * dof(std::size_t(a.dof)));
    if (a.kind == TreeActuator::Kind::tendon)
      add(of_tendon[std::size_t(a.target)], a.p.bias + 2, square * tendon(std::size_t(a.target)));
  }
  of_dof.insert(of_dof.end(), of_tendon.begin(), of_tendon.end());
  return of_dof;
}

}  // namespace

Stepper make_stepper(const Model& model, const SystemOptions& options, Signature& signature) {
  refuse_nonsense(options);
  refuse_unsupported(model);
  if (model.options.integrator == Integrator::adaptive) refuse_tolerances(model.options, options.onset);
  signature.state("q", model.nq).state("v", model.nv);
  if (model.na > 0) signature.state("act", model.na);
  if (model.nu() > 0) signature.control("ctrl", model.nu());
  if (options.applied_forces) signature.control("qfrc", model.nv);
  Stepper s;
  s.tree =
      make_tree(model, add_parameters(model, signature, {options.contact, options.impact, options.penalty}));
  limit_parameters(signature);
  s.constraints = make_constraints(model, s.tree);
  s.adaptive = model.options.integrator == Integrator::adaptive;
  s.integrator = s.adaptive ? Integrator::rk4 : model.options.integrator;
  s.rtol = model.options.rtol;
  s.atol = model.options.atol;
  s.applied_forces = options.applied_forces;
  s.constraints.contact = options.contact;
  s.constraints.rest_speed = options.impact.rest_speed;
  s.constraints.hard = options.hard;
  // Feet that chatter meet the ground in nearly every step: a gradient through each of these impacts is exact
  // and grows until it carries no signal, and robots learn by those of the time grid.
  const bool chosen = options.onset == Onset::automatic && (model.nu() == 0 || s.adaptive);
  const bool cut = chosen || options.onset == Onset::split || parts_of(options.contact).impacts;
  if (cut && options.contact == ContactModel::convex) list_limit_events(s.constraints);
  s.split = cut && !s.hard() && (s.constraints.events() > 0 || s.adaptive);
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
  if (s.split && s.integrator != Integrator::rk4) {
    s.dampers = list_dampers(model, s.tree);
    auto by_rk4 = std::make_shared<Stepper>(s);
    by_rk4->integrator = Integrator::rk4;
    by_rk4->evaluations = Rk4::kEvaluations;
    by_rk4->implicit = Implicit::none;
    by_rk4->tree.spinning.clear();
    s.by_rk4 = std::move(by_rk4);
  }
  return s;
}

}  // namespace costate::rigid
