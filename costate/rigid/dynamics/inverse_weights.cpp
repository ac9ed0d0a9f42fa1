#include "costate/rigid/dynamics/inverse_weights.h"

#include "costate/rigid/compile/complete.h"

namespace costate::rigid {
namespace {

// Every dof moves some mass, so that M can be factored.
bool moves_masses(const Tree& tree, const double* p, const double* q) {
  Data<double> d(tree);
  kinematics(tree, p, q, d);
  body_inertias(tree, p, d);
  crba(tree, p, d);
  for (const TreeDof& dof : tree.dofs) {
    if (!(d.M[dof.row] > 0)) return false;
  }
  return true;
}

std::vector<double> lengths_at(const Tree& tree, const double* p, const double* q) {
  Data<double> d(tree);
  kinematics(tree, p, q, d);
  tendon_lengths(tree, p, q, d);
  return d.tendon_length;
}

// Lengths at qpos0, and where springs are at rest.
void measure_tendons(Model& model, const Tree& tree, const double* p) {
  if (model.tendons.empty()) return;
  const std::vector<double> length = lengths_at(tree, p, model.qpos0.data()),
                            rest = lengths_at(tree, p, model.qpos_spring.data());
  for (std::size_t t = 0; t < model.tendons.size(); ++t) {
    Tendon& tendon = model.tendons[t];
    tendon.length = length[t];
    if (tendon.springlength == Double2{-1, -1}) tendon.springlength = {rest[t], rest[t]};
  }
}

// Peak forces of muscles that are written as a scale: scale / |M^-1 m|, m the moment arms at qpos0.
void measure_muscles(Model& model, const Tree& tree, const double* p) {
  Data<double> d(tree);
  kinematics(tree, p, model.qpos0.data(), d);
  body_inertias(tree, p, d);
  tendon_lengths(tree, p, model.qpos0.data(), d);
  crba(tree, p, d);
  factor(tree.dofs, d.M.data(), d.inverse_D.data());
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    Actuator& a = model.actuators[i];
    const TreeActuator& t = tree.actuators[i];
    if (!t.muscle_gain && !t.muscle_bias) continue;
    std::vector<double> arms(tree.nv);
    if (t.kind == TreeActuator::Kind::tendon) {
      const TreeTendon& tendon = tree.tendons[t.target];
      for (std::size_t k = 0; k < tendon.dof.size(); ++k)
        arms[tendon.dof[k]] += a.gear[0] * d.tendon_J[tendon.jacobian + k];
    } else if (t.kind != TreeActuator::Kind::site) {
      for (int k = 0; k < t.p.gear_size; ++k) arms[t.dof + k] = a.gear[k];
    }
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), arms.data());
    double square = 0;
    for (const double x : arms) square += x * x;
    for (MuscleCurve* c : {&a.gain_muscle, &a.bias_muscle})
      if (c->force < 0) c->force = c->scale / std::max(1e-15, std::sqrt(square));
  }
}

}  // namespace

void measure_at_reference(Model& model) {
  Signature signature;
  const Tree tree = make_tree(model, add_parameters(model, signature));
  std::vector<double> p;
  for (const Field& f : signature.fields(Role::parameter))
    p.insert(p.end(), f.defaults.begin(), f.defaults.end());
  p.resize(tree.p.prepared_size);
  prepare_units(tree.p, p.data());
  measure_tendons(model, tree, p.data());
  if (!moves_masses(tree, p.data(), model.qpos0.data())) return;
  measure_muscles(model, tree, p.data());
  const InverseWeights<double> w = inverse_weights(tree, p.data(), model.qpos0.data());
  for (std::size_t i = 0; i < model.dofs.size(); ++i) model.dofs[i].invweight = w.dofs[i];
  for (std::size_t b = 0; b < model.bodies.size(); ++b)
    model.bodies[b].invweight = {w.bodies[b].x, w.bodies[b].y};
  model.mean_inertia = model.nv > 0 ? w.mean_inertia : 1;
  for (std::size_t t = 0; t < model.tendons.size(); ++t) model.tendons[t].invweight = w.tendons[t];
}

}  // namespace costate::rigid
