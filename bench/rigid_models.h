// The two robots of bench/peers/rigid_pinocchio.py, or as near as their joints and dofs: an arm of seven
// revolute joints and a floating humanoid of 32 dofs.
#pragma once

#include <string>

#include "costate/rigid/model.h"

namespace costate::bench {

inline int add_link(rigid::Model& m, int parent, rigid::Double3 pos, rigid::JointType type,
                    rigid::Double3 axis) {
  rigid::Body body;
  body.name = "link" + std::to_string(m.bodies.size());
  body.parent = parent;
  body.pos = pos;
  body.mass = 3;
  body.com = {0, 0.02, 0.15};
  body.inertia = {0.03, 0.03, 0.01, 0, 0, 0};
  m.bodies.push_back(body);
  rigid::Joint joint;
  joint.name = "joint" + std::to_string(m.joints.size());
  joint.type = type;
  joint.axis = axis;
  joint.body = static_cast<int>(m.bodies.size()) - 1;
  m.joints.push_back(joint);
  return joint.body;
}

inline int add_limb(rigid::Model& m, int parent, rigid::Double3 pos, int joints) {
  const rigid::Double3 axes[3] = {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}};
  for (int i = 0; i < joints; ++i) {
    parent = add_link(m, parent, pos, rigid::JointType::hinge, axes[i % 3]);
    pos = {0, 0, 0.3};
  }
  return parent;
}

inline rigid::Model arm7() {
  rigid::Model m;
  m.bodies.resize(1);
  int parent = 0;
  for (int i = 0; i < 7; ++i) {
    parent = add_link(m, parent, {0, 0, i ? 0.3 : 0.0}, rigid::JointType::hinge,
                      i % 2 ? rigid::Double3{0, 1, 0} : rigid::Double3{0, 0, 1});
  }
  complete(m);
  return m;
}

inline rigid::Model humanoid32() {
  rigid::Model m;
  m.bodies.resize(1);
  const int base = add_link(m, 0, {0, 0, 1}, rigid::JointType::free, {0, 0, 1});
  add_limb(m, base, {0.1, 0, 0}, 6);
  add_limb(m, base, {-0.1, 0, 0}, 6);
  const int chest = add_limb(m, base, {0, 0, 0.2}, 2);
  add_limb(m, chest, {0.2, 0, 0.2}, 6);
  add_limb(m, chest, {-0.2, 0, 0.2}, 6);
  complete(m);
  return m;
}

}  // namespace costate::bench
