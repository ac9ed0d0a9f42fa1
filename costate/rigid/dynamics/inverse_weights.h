// Inverse weights: how much a unit force along a dof, on a body or on a tendon accelerates it at qpos0.
//
//   joint    slide, hinge: (M^-1)_ii;  ball: the mean over its dofs;
//            free: the means over translations and rotations
//   body     means over x, y, z of (J M^-1 J')_ii, J the Jacobian of the centre of mass, translation and
//            rotation
//   tendon   J M^-1 J'
//
// Constraints scale their softness with them [1, "diagApprox"]. They are parameters of their own
// ("joint/<name>/invweight"), since a rollout need not repeat what only depends on masses;
// derived_parameters.h carries their gradient on to masses, inertias and frames, so that it is the gradient
// of a model compiled again.
//
// A body that only slides along its own axes, has no children and hangs on nothing that moves counts with its
// bare mass, as in MuJoCo (armature left out; the mean only over directions that move).
//
// [1] MuJoCo documentation, Computation, "constraint model".
// Tests: tests/rigid/parity_test.cpp, derived_parameters_test.cpp.
#pragma once

#include "costate/rigid/dynamics/crba.h"
#include "costate/rigid/dynamics/kinematics.h"
#include "costate/rigid/dynamics/tendon_length.h"

namespace costate::rigid {

template <class S>
struct InverseWeights {
  std::vector<S> dofs, tendons;
  std::vector<Vec3<S>> bodies;  // x: translation, y: rotation
  S mean_inertia;
};

// At configuration q, for prepared parameters p.
template <class S>
InverseWeights<S> inverse_weights(const Tree& tree, const S* p, const S* q) {
  Data<S> d(tree);
  kinematics(tree, p, q, d);
  body_inertias(tree, p, d);
  tendon_lengths(tree, p, q, d);
  crba(tree, p, d);
  InverseWeights<S> r;
  r.mean_inertia = S(0);
  for (const TreeDof& dof : tree.dofs) r.mean_inertia += d.M[dof.row];
  if (tree.nv > 0) r.mean_inertia /= S(value_t<S>(tree.nv));
  factor(tree.dofs, d.M.data(), d.inverse_D.data());
  std::vector<S> row(tree.nv), solved(row.size());
  const auto weight = [&] {  // row M^-1 row'
    solved = row;
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), solved.data());
    S sum(0);
    for (std::size_t i = 0; i < row.size(); ++i) sum += row[i] * solved[i];
    return sum;
  };

  r.dofs.assign(row.size(), S(0));
  for (const TreeJoint& joint : tree.joints) {
    const int group = joint.type == JointType::slide || joint.type == JointType::hinge ? 1 : 3;
    for (int begin = joint.dof; begin < joint.dof + dof_size(joint.type); begin += group) {
      S sum(0);
      for (int i = begin; i < begin + group; ++i) {
        std::fill(row.begin(), row.end(), S(0));
        row[i] = S(1);
        sum += weight();
      }
      for (int i = begin; i < begin + group; ++i) r.dofs[i] = sum / S(value_t<S>(group));
    }
  }

  r.bodies.assign(tree.bodies.size(), Vec3<S>::zero());
  for (std::size_t b = 1; b < tree.bodies.size(); ++b) {
    if (tree.bodies[b].last_dof < 0) continue;
    const Vec3<S> com = d.x[b] + d.R[b] * vec3_at(p + tree.bodies[b].p.com);
    for (int rotation = 0; rotation < 2; ++rotation) {
      S sum(0);
      for (int k = 0; k < 3; ++k) {
        std::fill(row.begin(), row.end(), S(0));
        for (int i = tree.bodies[b].last_dof; i >= 0; i = tree.dofs[i].parent) {
          const Motion<S>& axis = d.axis[i];
          row[i] = rotation ? axis.w[k] : (axis.v + cross(axis.w, com))[k];
        }
        sum += weight();
      }
      r.bodies[b][rotation] = sum / S(value_t<S>(3));
    }
  }

  for (const TreeTendon& tendon : tree.tendons) {
    std::fill(row.begin(), row.end(), S(0));
    for (std::size_t k = 0; k < tendon.dof.size(); ++k) row[tendon.dof[k]] += d.tendon_J[tendon.jacobian + k];
    r.tendons.push_back(weight());
  }
  for (int b : tree.sliders) {
    const TreeBody& body = tree.bodies[b];
    const S weight_of_mass = S(1) / p[body.p.mass];
    r.bodies[b].x = weight_of_mass;
    for (int i = body.dof_begin; i < body.dof_end; ++i) r.dofs[i] = weight_of_mass;
  }
  return r;
}

}  // namespace costate::rigid
