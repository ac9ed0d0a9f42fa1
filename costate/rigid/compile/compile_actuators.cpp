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
