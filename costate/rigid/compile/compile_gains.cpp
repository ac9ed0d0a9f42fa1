// Gains that are written as time constants and damping ratios, from the inverse weights w at qpos0:
//
//   springdamper  (t, r) of a joint: stiffness I / (t r)^2, damping 2 I / t, with I = 1 / (mean w of its
//                 dofs)
//   dampratio     r of a servo: kv = 2 r sqrt(kp / (gear^2 w)), w of its joint or tendon
//
// Reference: MuJoCo documentation, "XML reference" (joint/springdamper, position/dampratio).
// Tests: tests/io/mjcf_parity_test.cpp (models/joints.xml, models/actuators.xml).
#include <cmath>

#include "costate/rigid/compile/compile_stages.h"

namespace costate::rigid::stages {
namespace {

constexpr double kTiny = 1e-15;

void set_springs(Compilation& c) {
  Model& m = c.model;
  std::size_t index = 0;
  for (const BodySpec* const body : c.body_specs) {
    for (const JointSpec& s : body->joints) {
      Joint& q = m.joints[index++];
      const double t = s.springdamper[0], ratio = s.springdamper[1];
      if (!(t > 0 && ratio > 0)) continue;
      double weight = 0;
      for (int d = 0; d < dof_size(q.type); ++d) weight += m.dofs[q.dof + d].invweight;
      const double inertia = dof_size(q.type) / std::max(weight, kTiny);
      q.stiffness = inertia / (t * t * ratio * ratio);
      q.damping = 2 * inertia / t;
    }
  }
}

double weight_of(const Model& m, const Actuator& a) {
  if (a.transmission == TransmissionType::tendon) return m.tendons[a.target].invweight;
  if (a.transmission == TransmissionType::site) return 0;
  const Joint& q = m.joints[a.target];
  return dof_size(q.type) == 1 ? m.dofs[q.dof].invweight : 0;
}

void set_servos(Compilation& c) {
  for (std::size_t i = 0; i < c.spec.actuators.size(); ++i) {
    const ActuatorSpec& s = c.spec.actuators[i];
    if (!(s.damping_ratio > 0)) continue;
    Actuator& a = c.model.actuators[i];
    const double weight = a.gear[0] * a.gear[0] * weight_of(c.model, a);
    if (!(weight > kTiny))
      fail(title("actuator", s), "dampratio needs a slide or hinge joint, or a fixed tendon, with a gear",
           s.where, "write kv instead");
    a.biasprm[2] = -2 * s.damping_ratio * std::sqrt(a.gainprm[0] / weight);
  }
}

}  // namespace

void compile_gains(Compilation& c) {
  set_springs(c);
  set_servos(c);
}

}  // namespace costate::rigid::stages
