// What an equality, a limit or friction measures: the position of a joint or the length of a tendon, its
// Jacobian over the dofs of a group, and the transpose of both. Two structs with the same functions.
#pragma once

#include "costate/rigid/constraints/constraint_kind.h"

namespace costate::rigid {

// Of a dof among the group's.
inline auto place_in(const ConstraintGroup& g, int dof) {
  return std::lower_bound(g.dofs.begin(), g.dofs.end(), dof) - g.dofs.begin();
}

struct JointPath {
  static const JointParameters& numbers(const Tree& tree, int j) { return tree.joints[j].p; }
  static int weight(const Tree& tree, int j) { return j < 0 ? kAbsent : numbers(tree, j).invweight; }
  template <class S>
  static S value(const GroupInput<S>& in, int j, const Data<S>&) {
    return in.q[in.tree.joints[j].q];
  }
  // J += scale times the Jacobian.
  template <class S>
  static void add_jacobian(const GroupInput<S>& in, int j, const S& scale, const Data<S>&, S* J) {
    J[place_in(in.g, in.tree.joints[j].dof)] += scale;
  }
  // Cotangents of the value and, by J_bar over the group's dofs, of `scale` times the Jacobian. Returns that
  // of scale.
  template <class S>
  static S vjp(const GroupInput<S>& in, int j, const S&, const S& value_bar, const S* J_bar,
               const ConstraintBar<S>& bar, Data<S>&) {
    const int dof = in.tree.joints[j].dof;
    bar.q[dof] += value_bar;
    return J_bar[place_in(in.g, dof)];
  }
};

struct TendonPath {
  static const TendonParameters& numbers(const Tree& tree, int t) { return tree.tendons[t].p; }
  static int weight(const Tree& tree, int t) { return t < 0 ? kAbsent : numbers(tree, t).invweight; }
  template <class S>
  static S value(const GroupInput<S>&, int t, const Data<S>& d) {
    return d.tendon_length[t];
  }
  template <class S>
  static void add_jacobian(const GroupInput<S>& in, int t, const S& scale, const Data<S>& d, S* J) {
    const TreeTendon& tendon = in.tree.tendons[t];
    for (std::size_t k = 0; k < tendon.dof.size(); ++k)
      J[place_in(in.g, tendon.dof[k])] += scale * d.tendon_J[tendon.jacobian + k];
  }
  template <class S>
  static S vjp(const GroupInput<S>& in, int t, const S& scale, const S& value_bar, const S* J_bar,
               const ConstraintBar<S>&, Data<S>& d) {
    const TreeTendon& tendon = in.tree.tendons[t];
    d.tendon_length_bar[t] += value_bar;
    S scale_bar(0);
    for (std::size_t k = 0; k < tendon.dof.size(); ++k) {
      const std::size_t at = static_cast<std::size_t>(tendon.jacobian) + k;
      const S entry_bar = J_bar[place_in(in.g, tendon.dof[k])];
      scale_bar += d.tendon_J[at] * entry_bar;
      d.tendon_J_bar[at] += scale * entry_bar;
    }
    return scale_bar;
  }
};

}  // namespace costate::rigid
