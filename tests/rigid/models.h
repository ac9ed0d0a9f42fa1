// Small models filled in by hand, that together use every joint, transmission and integrator.
#pragma once

#include <cmath>
#include <random>

#include "costate/rigid/model.h"
#include "costate/system/rollout.h"

namespace costate::rigid::test {

inline int add_body(Model& m, const std::string& name, int parent, Double3 pos, double mass) {
  Body b;
  b.name = name;
  b.parent = parent;
  b.pos = pos;
  b.quat = {0.9, 0.1, -0.3, 0.2};
  const double norm = std::sqrt(0.9 * 0.9 + 0.1 * 0.1 + 0.3 * 0.3 + 0.2 * 0.2);
  for (double& q : b.quat) q /= norm;
  b.mass = mass;
  b.com = {0.05, -0.02, 0.11};
  b.inertia = {0.03 * mass, 0.04 * mass, 0.02 * mass, 0.003 * mass, -0.002 * mass, 0.001 * mass};
  m.bodies.push_back(b);
  return static_cast<int>(m.bodies.size()) - 1;
}

inline Joint& add_joint(Model& m, const std::string& name, int body, JointType type) {
  Joint j;
  j.name = name;
  j.body = body;
  j.type = type;
  const double norm = std::sqrt(0.3 * 0.3 + 0.8 * 0.8 + 0.5 * 0.5);
  j.axis = {0.3 / norm, -0.8 / norm, 0.5 / norm};
  j.pos = {0.02, 0.03, -0.1};
  j.damping = 0.3;
  j.armature = 0.05;
  j.stiffness = 1.7;
  j.springref = 0.2;
  m.joints.push_back(j);
  return m.joints.back();
}

inline Actuator& add_actuator(Model& m, const std::string& name, TransmissionType type, int target) {
  Actuator a;
  a.name = name;
  a.transmission = type;
  a.target = target;
  a.gear = {1.3, 0.4, -0.2, 0.1, 0.6, 0.7};
  m.actuators.push_back(a);
  return m.actuators.back();
}

// A pendulum that swings into its limit and out of it again.
inline Model limited_pendulum() {
  Model m;
  m.bodies.resize(2);
  m.bodies[1].parent = 0;
  m.bodies[1].mass = 1;
  m.bodies[1].com = {0, 0, -0.5};
  m.bodies[1].inertia = {0.01, 0.01, 0.01, 0, 0, 0};
  m.joints.resize(1);
  m.joints[0].body = 1;
  m.joints[0].axis = {0, 1, 0};
  m.joints[0].limited = true;
  m.joints[0].range = {-0.2, 3};
  complete(m);
  return m;
}

// Two trees: a free body with a ball joint, and a chain with a slide, a hinge, two hinges in one body and a
// body welded to another; every kind of actuator.
inline Model zoo(Integrator integrator) {
  Model m;
  m.options.integrator = integrator;
  m.options.timestep = 0.01;
  m.bodies.emplace_back();
  m.bodies[0].name = "world";
  const int base = add_body(m, "base", 0, {0, 0, 1}, 3.0);
  add_joint(m, "float", base, JointType::free);
  const int arm = add_body(m, "arm", base, {0.2, 0.1, 0.3}, 1.2);
  add_joint(m, "shoulder", arm, JointType::ball);
  const int hand = add_body(m, "hand", arm, {0.1, 0, 0.4}, 0.7);
  add_joint(m, "wrist", hand, JointType::hinge).ref = 0.1;
  const int cart = add_body(m, "cart", 0, {1, 2, 0}, 2.0);
  add_joint(m, "rail", cart, JointType::slide).ref = -0.2;
  const int pole = add_body(m, "pole", cart, {0, 0.1, 0.2}, 0.9);
  add_joint(m, "pitch", pole, JointType::hinge);
  Joint& roll = add_joint(m, "roll", pole, JointType::hinge);
  roll.axis = {1, 0, 0};
  roll.actuator_force_limited = true;
  roll.actuator_force_range = {-0.4, 0.4};
  const int tip = add_body(m, "tip", pole, {0.05, 0, 0.3}, 0.4);
  (void)tip;
  m.joints[1].stiffness = 0.8;
  m.bodies[static_cast<std::size_t>(arm)].gravcomp = 0.7;
  m.bodies[static_cast<std::size_t>(pole)].gravcomp = 1.2;
  Site site;
  site.name = "rotor";
  site.body = hand;
  site.pos = {0.1, 0.2, -0.1};
  site.quat = {0.8, 0, 0.6, 0};
  m.sites.push_back(site);
  Wrap wrap;
  wrap.object = 3;
  wrap.value = 0.7;
  m.wraps.push_back(wrap);
  wrap.object = 4;
  wrap.value = -1.1;
  m.wraps.push_back(wrap);
  Tendon tendon;
  tendon.name = "cord";
  tendon.wraps = 2;
  tendon.stiffness = 2.0;
  tendon.damping = 0.1;
  tendon.springlength = {-0.05, 0.03};
  m.tendons.push_back(tendon);

  add_actuator(m, "motor", TransmissionType::joint, 2);
  Actuator& servo = add_actuator(m, "servo", TransmissionType::joint, 4);
  servo.gainprm = {5, 0, 0};
  servo.bias = BiasType::affine;
  servo.biasprm = {0.1, -5, -0.5};
  servo.force_limited = true;
  servo.force_range = {-20, 20};
  Actuator& lag = add_actuator(m, "lag", TransmissionType::joint, 3);
  lag.dynamics = DynType::filter;
  lag.time_constant = 0.05;
  lag.gain = GainType::affine;
  lag.gainprm = {2, 0.3, -0.4};
  Actuator& exact = add_actuator(m, "exact", TransmissionType::joint, 5);
  exact.dynamics = DynType::filterexact;
  exact.time_constant = 0.03;
  exact.act_early = true;
  Actuator& sum = add_actuator(m, "sum", TransmissionType::tendon, 0);
  sum.dynamics = DynType::integrator;
  sum.activation_limited = true;
  sum.activation_range = {-0.9, 0.9};
  sum.control_limited = true;
  sum.control_range = {-0.8, 0.8};
  Actuator& spin = add_actuator(m, "spin", TransmissionType::joint, 1);
  spin.gear = {0.3, -0.2, 0.5, 0, 0, 0};
  Actuator& thrust = add_actuator(m, "thrust", TransmissionType::site, 0);
  if (integrator != Integrator::implicitfast) {
    spin.bias = BiasType::affine;
    spin.biasprm = {0, -0.3, -0.2};
    thrust.bias = BiasType::affine;
    thrust.biasprm = {0.2, 0, -0.1};
  }
  add_actuator(m, "jet", TransmissionType::joint, 0);
  complete(m);
  return m;
}

// f(q) for the quaternion of every joint that has one.
template <class F>
void each_quaternion(const Model& m, std::vector<double>& x, const F& f) {
  for (const Joint& joint : m.joints) {
    if (joint.type != JointType::free && joint.type != JointType::ball) continue;
    f(x.data() + joint.qpos + (joint.type == JointType::free ? 3 : 0));
  }
}
// `centre` and numbers of up to `spread`; quaternions unit.
inline std::vector<double> random_state_around(std::vector<double> centre, const Model& m, unsigned seed,
                                               double spread) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double& value : centre) value += spread * uniform(random);
  each_quaternion(m, centre, [](double* q) {
    double norm = 0;
    for (int k = 0; k < 4; ++k) norm += q[k] * q[k];
    for (int k = 0; k < 4; ++k) q[k] /= std::sqrt(norm);
  });
  return centre;
}
// A state with every number away from zero.
inline std::vector<double> random_state(const Model& m, unsigned seed, double spread = 0.6) {
  std::vector<double> centre(static_cast<std::size_t>(m.nq + m.nv + m.na), 0.0);
  each_quaternion(m, centre, [](double* q) { q[0] = 0.8; });
  return random_state_around(std::move(centre), m, seed, spread);
}

template <class Real>
Arguments<Real> random_arguments(const Model& m, const Rollout<Real>& rollout, unsigned seed,
                                 double spread = 0.6) {
  Arguments<Real> at = rollout.arguments();
  const auto x = random_state(m, seed, spread);
  at.x0.assign(x.begin(), x.end());
  std::mt19937 random(seed + 100);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  for (Real& u : at.controls) u = static_cast<Real>(uniform(random));
  return at;
}

}  // namespace costate::rigid::test
