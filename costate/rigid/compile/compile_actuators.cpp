// Actuators: targets, limits, ranges inherited from the target.
#include <cmath>

#include "costate/rigid/compile/compile_stages.h"

namespace costate::rigid::stages {
namespace {

// The range of the joint or tendon that an actuator moves, scaled about its middle.
Range inherited(const Compilation& c, const Actuator& a, const ActuatorSpec& s, const std::string& who) {
  Range range{0, 0};
  if (a.transmission == TransmissionType::joint || a.transmission == TransmissionType::joint_in_parent)
    range = c.model.joints[a.target].range;
  else if (a.transmission == TransmissionType::tendon)
    range = c.model.tendons[a.target].range;
  if (range[0] == range[1])
    fail(who, "inheritrange needs a joint or tendon with a range", s.where, "write ctrlrange instead");
  const double middle = 0.5 * (range[0] + range[1]), radius = 0.5 * (range[1] - range[0]) * s.inherit_range;
  return {middle - radius, middle + radius};
}

void check_curve(const MuscleCurve& c, const ActuatorSpec& s, const std::string& who) {
  if (!(c.range[0] < c.range[1])) fail(who, "the range of its muscle must increase", s.where);
  if (!(c.lmin < 1 && 1 < c.lmax)) fail(who, "its muscle needs lmin < 1 < lmax", s.where);
  if (!(c.vmax > 0)) fail(who, "vmax of its muscle must be positive", s.where);
  if (!(c.fvmax > 1)) fail(who, "fvmax of its muscle must be more than 1", s.where);
}

void compile_muscle(const ActuatorSpec& s, const std::string& who, Actuator& a) {
  if (s.dynamics == DynType::muscle) {
    if (!(s.time_constants[0] > 0 && s.time_constants[1] > 0))
      fail(who, "the time constants of its muscle must be positive", s.where);
    if (!(s.time_constants[2] >= 0)) fail(who, "tausmooth must not be negative", s.where);
    a.time_constants = s.time_constants;
  }
  const bool gain = s.gain == GainType::muscle, bias = s.bias == BiasType::muscle;
  if (!gain && !bias) return;
  if (s.transmission == TransmissionType::site)
    fail(who, "a muscle acts on a joint or a tendon", s.where, "write joint or tendon instead of site");
  if (gain) check_curve(s.gain_muscle, s, who);
  if (bias) check_curve(s.bias_muscle, s, who);
  if (!(s.length_range[0] < s.length_range[1]))
    fail(who, "a muscle needs the range of its lengths, which is not searched for here", s.where,
         "write lengthrange=\"SHORTEST LONGEST\" (MuJoCo prints what it finds as actuator_lengthrange)");
  a.gain_muscle = s.gain_muscle;
  a.bias_muscle = s.bias_muscle;
  a.length_range = s.length_range;
}

}  // namespace

void compile_actuators(Compilation& c) {
  for (const ActuatorSpec& s : c.spec.actuators) {
    const std::string who = title("actuator", s);
    Actuator a;
    a.name = s.name;
    a.transmission = s.transmission;
    switch (s.transmission) {
      case TransmissionType::joint:
      case TransmissionType::joint_in_parent:
        a.target = c.joints.find(s.target, who, s.where);
        break;
      case TransmissionType::tendon:
        a.target = c.tendons.find(s.target, who, s.where);
        break;
      case TransmissionType::site:
        a.target = c.sites.find(s.target, who, s.where);
        if (!s.refsite.empty()) a.reference_site = c.sites.find(s.refsite, who, s.where);
        break;
    }
    for (const double g : s.gear) {
      if (!std::isfinite(g)) fail(who, "its gear is not finite", s.where);
    }
    a.gear = s.gear;
    a.dynamics = s.dynamics;
    a.time_constant = s.time_constant;
    if ((s.dynamics == DynType::filter || s.dynamics == DynType::filterexact) && !(s.time_constant > 0))
      fail(who, "the time constant of its filter must be positive", s.where);
    a.gain = s.gain;
    a.gainprm = s.gainprm;
    a.bias = s.bias;
    a.biasprm = s.biasprm;
    if (s.gain == GainType::muscle || s.bias == BiasType::muscle || s.dynamics == DynType::muscle)
      compile_muscle(s, who, a);
    a.control_range = s.ctrl_range;
    a.force_range = s.force_range;
    a.activation_range = s.act_range;
    std::optional<bool> ctrl_limited = s.ctrl_limited, act_limited = s.act_limited;
    if (s.inherit_range > 0) {
      const bool integrates = s.dynamics == DynType::integrator;
      Range& range = integrates ? a.activation_range : a.control_range;
      if (range[0] != 0 || range[1] != 0)
        fail(who, "inheritrange and an explicit range exclude each other", s.where);
      range = inherited(c, a, s, who);
      (integrates ? act_limited : ctrl_limited) = true;
    }
    a.control_limited = is_limited(c, ctrl_limited, a.control_range, who, "ctrlrange", s.where);
    a.force_limited = is_limited(c, s.force_limited, a.force_range, who, "forcerange", s.where);
    a.activation_limited = is_limited(c, act_limited, a.activation_range, who, "actrange", s.where);
    if (a.activation_limited && s.dynamics == DynType::none)
      fail(who, "it limits an activation, but has none", s.where, "give it a dyntype, or leave out actrange");
    a.act_early = s.act_early;
    c.actuators.add(s.name, int(c.model.actuators.size()), s.where);
    c.model.actuators.push_back(std::move(a));
  }
}

}  // namespace costate::rigid::stages
