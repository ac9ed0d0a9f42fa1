// <actuator>: the general actuator and its shortcuts, which only fill in its gain, bias and dynamics:
//
//   motor        gain 1
//   position     gain kp, bias -kp length - kv velocity; a filter if there is a time constant
//   velocity     gain kv, bias -kv velocity
//   intvelocity  as position, of the integral of the control
//   damper       gain -kv velocity
//   cylinder     gain area, bias affine, a filter
//   muscle       gain, bias and activation of one
#include <algorithm>
#include <cmath>
#include <numbers>

#include "costate/io/model/mjcf_reader.h"

namespace costate::io {

using rigid::BiasType;
using rigid::DynType;
using rigid::GainType;
using rigid::TransmissionType;

namespace {

// A feedback on position: gain kp, bias -kp length - kv velocity.
void servo(XmlAttributes& a, rigid::ActuatorSpec& u) {
  double kp = 1, kv = 0;
  a.read("kp", kp);
  a.read("kv", kv);
  a.read("dampratio", u.damping_ratio);
  a.read("inheritrange", u.inherit_range);
  if (a.has("dampratio") && a.has("kv")) a.fail_at("dampratio", "and kv exclude each other");
  if (kp < 0 || kv < 0 || u.damping_ratio < 0) a.fail("kp, kv and dampratio must not be negative");
  u.bias = BiasType::affine;
  u.gainprm = {kp, 0, 0};
  u.biasprm = {0, -kp, -kv};
}

double velocity_gain(XmlAttributes& a) {
  double kv = 1;
  a.read("kv", kv);
  if (kv < 0) a.fail_at("kv", "must not be negative");
  return kv;
}

// The nine numbers of a muscle's curve in gainprm or biasprm.
void read_curve(XmlAttributes& a, const char* name, rigid::MuscleCurve& c) {
  const std::vector<double> v = a.numbers_then_zeros(name, 9, 10);
  double* const to[] = {&c.range[0], &c.range[1], &c.force, &c.scale, &c.lmin,
                        &c.lmax,     &c.vmax,     &c.fpmax, &c.fvmax};
  for (std::size_t i = 0; i < std::min<std::size_t>(9, v.size()); ++i) *to[i] = v[i];
}

void muscle(XmlAttributes& a, rigid::ActuatorSpec& u) {
  u.dynamics = DynType::muscle;
  u.gain = GainType::muscle;
  u.bias = BiasType::muscle;
  a.read_some("timeconst", u.time_constants);
  a.read("tausmooth", u.time_constants[2]);
  rigid::MuscleCurve& c = u.gain_muscle;
  a.read("range", c.range);
  a.read("force", c.force);
  a.read("scale", c.scale);
  a.read("lmin", c.lmin);
  a.read("lmax", c.lmax);
  a.read("vmax", c.vmax);
  a.read("fpmax", c.fpmax);
  a.read("fvmax", c.fvmax);
  u.bias_muscle = c;
}

void general(XmlAttributes& a, rigid::ActuatorSpec& u) {
  a.choose("dyntype", u.dynamics,
           {{"none", DynType::none},
            {"integrator", DynType::integrator},
            {"filter", DynType::filter},
            {"filterexact", DynType::filterexact},
            {"muscle", DynType::muscle}});
  a.choose("gaintype", u.gain,
           {{"fixed", GainType::fixed}, {"affine", GainType::affine}, {"muscle", GainType::muscle}});
  a.choose("biastype", u.bias,
           {{"none", BiasType::none}, {"affine", BiasType::affine}, {"muscle", BiasType::muscle}});
  const auto few = [&](const char* name, auto& values) {
    const std::vector<double> v = a.numbers_then_zeros(name, 3, 10);
    for (std::size_t i = 0; i < v.size(); ++i) values[i] = v[i];
  };
  if (u.gain == GainType::muscle)
    read_curve(a, "gainprm", u.gain_muscle);
  else
    few("gainprm", u.gainprm);
  if (u.bias == BiasType::muscle)
    read_curve(a, "biasprm", u.bias_muscle);
  else
    few("biasprm", u.biasprm);
  const std::vector<double> dynamics =
      a.numbers_then_zeros("dynprm", u.dynamics == DynType::muscle ? 3 : 1, 10);
  if (u.dynamics == DynType::muscle)
    for (std::size_t i = 0; i < std::min<std::size_t>(3, dynamics.size()); ++i)
      u.time_constants[i] = dynamics[i];
  else if (!dynamics.empty())
    u.time_constant = dynamics[0];
  a.read("inheritrange", u.inherit_range);
  a.read("actearly", u.act_early);
  int activations = -1;
  a.read("actdim", activations);
  if (activations > 1) a.fail_at("actdim", "is not supported");
  a.refuse({"input", "velrange", "ffrange"});
}

}  // namespace

void MjcfReader::actuator_attributes(XmlAttributes& a, rigid::ActuatorSpec& u) {
  u.where = a.where();
  a.read("name", u.name);
  a.read("ctrllimited", u.ctrl_limited);
  a.read("ctrlrange", u.ctrl_range);
  a.read("forcelimited", u.force_limited);
  a.read("forcerange", u.force_range);
  a.read("actlimited", u.act_limited);
  a.read("actrange", u.act_range);
  a.read("group", u.group);
  a.read_some("gear", u.gear);
  for (const char* const name : {"armature", "damping", "delay", "nsample"}) {
    for (const double value : a.numbers(name, 1, 8)) {
      if (value != 0) a.fail_at(name, "is not supported for actuators");
    }
  }
  a.read("lengthrange", u.length_range);
  a.ignore({"user", "cranklength", "interp"});

  const std::string& kind = a.element().name;
  if (kind == "motor") {
    u.gainprm = {1, 0, 0};
  } else if (kind == "position") {
    servo(a, u);
    double time_constant = 0;
    a.read("timeconst", time_constant);
    if (time_constant < 0) a.fail_at("timeconst", "must not be negative");
    if (time_constant > 0) {
      u.dynamics = DynType::filterexact;
      u.time_constant = time_constant;
    }
  } else if (kind == "velocity") {
    const double kv = velocity_gain(a);
    u.bias = BiasType::affine;
    u.gainprm = {kv, 0, 0};
    u.biasprm = {0, 0, -kv};
  } else if (kind == "intvelocity") {
    servo(a, u);
    u.dynamics = DynType::integrator;
    u.act_limited = true;
  } else if (kind == "damper") {
    const double kv = velocity_gain(a);
    u.ctrl_limited = true;
    u.gain = GainType::affine;
    u.gainprm = {0, 0, -kv};
    if (u.ctrl_range[0] < 0 || u.ctrl_range[1] < 0)
      a.fail_at("ctrlrange", "of a damper must not be negative");
  } else if (kind == "cylinder") {
    double area = 1, diameter = 0;
    a.read("area", area);
    a.read("diameter", diameter);
    if (a.has("diameter")) area = std::numbers::pi / 4 * diameter * diameter;
    a.read("timeconst", u.time_constant);
    a.read_some("bias", u.biasprm);
    u.dynamics = DynType::filter;
    u.bias = BiasType::affine;
    u.gainprm = {area, 0, 0};
  } else if (kind == "muscle") {
    muscle(a, u);
  } else {
    general(a, u);
  }
}

void MjcfReader::actuator(const XmlElement& e) {
  XmlAttributes(e).finish();
  for (const XmlElement& child : e.children) {
    if (!is_mjcf_actuator(child.name)) {
      fail_unknown_element(
          child, "actuator",
          {"general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle"},
          {"adhesion", "pid", "orientation", "dcmotor", "plugin"});
    }
    XmlAttributes a = with_defaults(child);
    rigid::ActuatorSpec u;
    const XmlElement gains = defaults_.actuator_gains(child, "");
    if (child.name == "general" && is_other_mjcf_actuator(gains.name))
      a.fail("takes its gains from a <" + gains.name + "> default, which is not simulated",
             "give it a class without one, or gains of its own in a <general> default");
    if (child.name == "general" && !gains.name.empty() && gains.name != "general") {
      XmlAttributes inherited(gains);
      actuator_attributes(inherited, u);
    } else if (child.name != "general" && child.name != "motor" && gains.name == "general") {
      a.fail("does not take its gains from a <general> default here", "write a <" + child.name + "> default");
    }
    actuator_attributes(a, u);
    const char* used = nullptr;
    const auto transmits = [&](const char* name, TransmissionType type) {
      if (!a.has(name)) return;
      if (used) a.fail_at(name, "and '" + std::string(used) + "' exclude each other");
      used = name;
      u.transmission = type;
      u.target = a.required(name);
    };
    transmits("joint", TransmissionType::joint);
    transmits("jointinparent", TransmissionType::joint_in_parent);
    transmits("tendon", TransmissionType::tendon);
    transmits("site", TransmissionType::site);
    a.refuse({"slidersite", "cranksite", "body"});
    if (!used) a.fail("needs a joint, tendon or site to act on");
    a.read("refsite", u.refsite);
    a.ignore({"joint", "jointinparent", "tendon", "site"});  // known names
    a.finish();
    spec_.add(std::move(u));
  }
}

}  // namespace costate::io
