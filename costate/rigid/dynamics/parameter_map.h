// ParameterMap: where each number of a model lies among the parameters of its System.
//
// Every number of a model that a step reads is a parameter with a name: "<kind>/<name>/<field>", or "<field>"
// alone for what the whole model shares. Elements without a name are called by their number, "body/#3/mass".
// A field is listed only where it acts: a joint without a limit has no range, a free joint no axis. Which
// constraints exist is decided by the model, not by the parameters: a joint whose frictionloss is zero in the
// model has none. Geoms are listed where they can touch something ("geom/<name>/size",
// "geom/<name>/friction"), pairs with their own numbers as "pair/<name>/...".
//
// Axes and quaternions are used as unit vectors: the step divides by their length, so that a gradient is
// tangent to the sphere.
//
// Derived parameters: "joint/<name>/invweight", "body/<name>/invweight", "tendon/<name>/invweight" are what
// the model compiler computes from masses at qpos0. They have gradients of their own; docs/rigid.md says how
// to chain them.
// Tests: tests/rigid/dynamics/parameter_map_test.cpp.
#pragma once

#include <vector>

#include "costate/rigid/contact_model.h"
#include "costate/rigid/model.h"
#include "costate/system/signature.h"

namespace costate::rigid {

inline constexpr int kAbsent = -1;

struct SoftnessParameters {
  int solref = kAbsent, solimp = kAbsent;
};
struct BodyParameters {
  int mass = kAbsent, com = kAbsent, inertia = kAbsent, pos = kAbsent, quat = kAbsent, gravcomp = kAbsent;
  int invweight = kAbsent;
  int inverse_quat_norm = kAbsent;                                              // among the prepared numbers
  int fluid_box = kAbsent, fluid_quat = kAbsent, inverse_fluid_norm = kAbsent;  // in a fluid: fluid.h
};
struct JointParameters {
  int pos = kAbsent, axis = kAbsent, ref = kAbsent, springref = kAbsent;
  int stiffness = kAbsent, damping = kAbsent, armature = kAbsent, frictionloss = kAbsent, invweight = kAbsent;
  int range = kAbsent, margin = kAbsent;
  SoftnessParameters limit, friction;
  int actuator_force_range = kAbsent;
  int inverse_axis_norm = kAbsent;
};
struct SiteParameters {
  int pos = kAbsent, quat = kAbsent, inverse_quat_norm = kAbsent;
};
struct TendonParameters {
  int coefficients = kAbsent;  // one per wrap of a fixed tendon
  int divisors = kAbsent;      // one per pulley of a spatial tendon
  int stiffness = kAbsent, damping = kAbsent, springlength = kAbsent;
  int range = kAbsent, margin = kAbsent, frictionloss = kAbsent, invweight = kAbsent;
  SoftnessParameters limit, friction;
};
struct EqualityParameters {
  int anchor = kAbsent, other_anchor = kAbsent, quat = kAbsent, torquescale = kAbsent, polycoef = kAbsent;
  int inverse_quat_norm = kAbsent;
  SoftnessParameters softness;
};
struct ActuatorParameters {
  int gear = kAbsent, gear_size = 0, gain = kAbsent, bias = kAbsent, time_constant = kAbsent;
  int length_range = kAbsent;  // of a muscle
  int control_range = kAbsent, force_range = kAbsent, activation_range = kAbsent;
};

struct GeomParameters {
  int size = kAbsent, sizes = 0;  // how many numbers its shape has
  int pos = kAbsent, quat = kAbsent, inverse_quat_norm = kAbsent;
  int friction = kAbsent, margin = kAbsent, solmix = kAbsent, restitution = kAbsent;
  SoftnessParameters contact;
};
struct PairParameters {
  int friction = kAbsent, margin = kAbsent, solreffriction = kAbsent, restitution = kAbsent;
  SoftnessParameters contact;
};

struct PenaltyParameters {
  int stiffness = kAbsent, damping = kAbsent, slip_speed = kAbsent;
};

struct ParameterMap {
  int gravity = 0, dt = 0;
  int density = kAbsent, viscosity = kAbsent, wind = kAbsent;  // of a fluid, where there is one
  PenaltyParameters penalty;
  std::vector<BodyParameters> bodies;
  std::vector<JointParameters> joints;
  std::vector<GeomParameters> geoms;
  std::vector<SiteParameters> sites;
  std::vector<TendonParameters> tendons;
  std::vector<EqualityParameters> equalities;
  std::vector<ActuatorParameters> actuators;
  std::vector<PairParameters> pairs;

  int size = 0;               // of the signature's parameters
  std::vector<int> field_of;  // number -> index of its field
  struct Unit {
    int at, length,
        inverse_norm;  // a vector that is divided by its length; where 1/length is kept, past `size`
  };
  std::vector<Unit> units;
  int whole_dt = 0;  // dt of the whole step where `dt` is that of a part of it (split_step.h), past `size`
  int prepared_size = 0;  // size, an inverse norm for each unit vector, whole_dt
};

// What the laws of contact other than convex need; it comes last among the parameters.
struct ContactLawOptions {
  ContactModel contact = ContactModel::convex;
  ImpactOptions impact;
  PenaltyOptions penalty;
};

// Adds the parameters of a model to a signature that has none yet.
ParameterMap add_parameters(const Model& model, Signature& signature, const ContactLawOptions& law = {});

// "knee", or "#3" for an element without a name.
std::string name_of(const std::string& name, std::size_t index);

}  // namespace costate::rigid
