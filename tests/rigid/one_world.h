// The kernels of rigid bodies on one world: scalar double, parameters at their defaults.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "costate/rigid/step/acceleration.h"

namespace costate::rigid::test {

struct OneWorld {
  explicit OneWorld(const Model& model)
      : tree(make_tree(model, add_parameters(model, signature))),
        constraints(make_constraints(model, tree)),
        d(tree),
        c(constraints) {
    for (const Field& f : signature.fields(Role::parameter))
      p.insert(p.end(), f.defaults.begin(), f.defaults.end());
    p.resize(static_cast<std::size_t>(tree.p.prepared_size));
    prepare_units(tree.p, p.data());
  }

  // d.qacc and c, without anything implicit.
  void accelerate(const StateIn<double>& in) {
    smooth_forces(tree, p.data(), in, d);
    solve_acceleration(tree, constraints, Implicit::none, p.data(), in, d, c);
  }
  // J' f
  std::vector<double> constraint_forces() const {
    std::vector<double> force(tree.dofs.size());
    std::vector<double> rows = c.force;
    for (int k = 0; k < c.noslip.rows(); ++k) rows[c.noslip.row[k]] = c.noslip.force[k];
    if (c.in_play && constraints.rows > 0)
      add_transposed<double>(constraints, c, rows.data(), 1.0, force.data());
    return force;
  }

  Signature signature;
  Tree tree;
  Constraints constraints;
  Data<double> d;
  ConstraintData<double> c;
  std::vector<double> p;
};

inline double relative_error(std::span<const double> ours, std::span<const double> theirs) {
  double scale = 1e-300, error = 0;
  for (double x : theirs) scale = std::max(scale, std::abs(x));
  if (ours.size() != theirs.size()) return 1e300;
  for (std::size_t i = 0; i < theirs.size(); ++i) error = std::max(error, std::abs(ours[i] - theirs[i]));
  return error / std::max(scale, 1.0);
}

}  // namespace costate::rigid::test
