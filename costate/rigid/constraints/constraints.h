// Constraints: which rows the convex problem of a model has, and where their numbers lie.
//
//   a = argmin 1/2 (a - a0)' M (a - a0) + sum_i s_i(J_i a - aref_i)                   [1, "constraint model"]
//
//   equality    s = D y^2 / 2                                    connect 3 rows, weld 6, joint 1, tendon 1
//   friction    the same up to |D y| = frictionloss, then linear  one row per dof or tendon with dry friction
//   limit       D y^2 / 2 for y < 0, else 0        lower and upper end of a joint or tendon; one row for a
//                                                  ball joint
//   contact     a function of all rows of a point together  contact_law.h: normal, tangents, spin and rolling
//
// Rows have fixed places: one that is not in play in a world (a limit that is far) has D = 0 there. A group
// is the rows of one element, which share their dofs; a contact point of two geoms is one. Of many groups few
// are in play at a time: ConstraintData lists them.
//
// The matrix of Newton's method, H = M + J' S J, has M's entries and those that rows couple. Eliminated from
// the last dof to the first, its rows are nested like M's: `dofs` is that elimination tree, which is M's own
// where every row acts along one branch.
//
// [1] MuJoCo documentation, Computation.
// constraint_rows.h fills the rows, constraint_solver.h finds a, constraint_adjoint.h transposes both.
#pragma once

#include "costate/rigid/contact/contact_pairs.h"
#include "costate/rigid/contact_model.h"
#include "costate/rigid/dynamics/tree.h"

namespace costate::rigid {

enum class RowKind { equality, friction, limit, contact };

enum class GroupKind {
  joint_limit,
  ball_limit,
  tendon_limit,
  dof_friction,
  tendon_friction,
  joint_equality,
  tendon_equality,
  connect,
  weld,
  contact,
};

struct ConstraintGroup {
  GroupKind kind;
  int index = 0;  // joint, dof, tendon, equality or pair of geoms
  int row = 0, rows = 1;
  int jacobian = 0;          // first value: rows x dofs numbers
  int block = 0;             // of a contact: first value of its S, the lower triangle
  std::vector<int> dofs;     // ascending
  std::vector<int> entries;  // of H for each pair (a, b), b <= a, of positions in `dofs`
  SoftnessParameters softness;
  int first = -1, second = -1;           // of an equality: joints, tendons or bodies
  double first_ref = 0, second_ref = 0;  // positions or lengths at qpos0
  std::vector<int>
      sides;  // of each dof of a connect or weld: +1 moves the first body, -1 the second, 0 both;
              // of a contact the other way round
};

// Two geoms that may touch: contact points are the groups [group, group + slots).
struct TouchingPair {
  GeomPair geoms;
  int first_body = 0, second_body = 0;
  int group = 0;
  int point = 0;            // the first of its contact points among all
  bool splittable = false;  // the distance of each slot is continuous: steps may be cut at its zero
};

// One end of a joint's limit, of which a step is cut where it begins and ends to act (limit_events.h).
struct CutLimit {
  int group = 0, row = 0;  // of the group's
};

struct Constraints {
  std::vector<ConstraintGroup> groups;
  std::vector<RowKind> kinds;  // of each row
  int rows = 0, jacobian = 0, blocks = 0;
  std::vector<TouchingPair> pairs;
  std::vector<int> geoms;  // that may touch something
  int points = 0;
  std::vector<CutLimit> cut_limits;
  std::vector<int> event_of_row;  // of the limits among the events of split_step.h, or -1; empty: none is cut
  // Of split_step.h: contact points, and after them the limits that are cut.
  int events() const { return points + int(cut_limits.size()); }
  std::size_t all_geoms = 0, all_bodies = 0;
  ContactModel contact = ContactModel::convex;
  double rest_speed = 0;  // of impacts
  HardOptions hard;
  bool elliptic = false;  // cones
  double impratio = 1;
  bool permanent = false;  // some row is always in play
  bool bodies = false;     // some row holds points of bodies together

  std::vector<TreeDof> dofs;  // of H: parent, row, depth
  int entries = 0;
  std::vector<int> place;  // of M's entries among H's

  bool refsafe = true;
  int iterations = 100;
  int noslip = 0;                    // iterations of noslip.h
  bool conjugate_gradients = false;  // constraint_solver.h
};

// Contacts are rows of the convex problem.
inline bool soft_contacts(const Constraints& cons) {
  return parts_of(cons.contact).rows && !cons.pairs.empty();
}

Constraints make_constraints(const Model& model, const Tree& tree);

}  // namespace costate::rigid
