#include "costate/rigid/constraints/constraints.h"

#include <algorithm>
#include <iterator>

#include "costate/rigid/constraints/kinds.h"

namespace costate::rigid {
namespace {

// Whether the distance of each slot of a pair's contact points is continuous in the pose, so that its zero is
// the moment at which a contact begins or ends. It is where a slot is the same point of a shape from step to
// step, and where it is the point of the same rank in depth. The nearest points of two shapes of which one is
// strictly convex, which have one slot, move continuously too. Points found by clipping come and go.
bool distances_are_continuous(const GeomPair& geoms, GeomType first, GeomType second) {
  if (first == GeomType::heightfield) return false;
  const bool capsule = first == GeomType::capsule && second == GeomType::capsule;
  return first == GeomType::plane || geoms.slots == 1 || capsule ||
         (second == GeomType::box && (first == GeomType::capsule || first == GeomType::box));
}

class Maker {
 public:
  Maker(const Model& model, const Tree& tree, Constraints& c) : model_(model), tree_(tree), c_(c) {}

  ConstraintGroup& add(GroupKind kind, RowKind row_kind, int index, int rows, std::vector<int> dofs,
                       SoftnessParameters softness) {
    std::sort(dofs.begin(), dofs.end());
    dofs.erase(std::unique(dofs.begin(), dofs.end()), dofs.end());
    ConstraintGroup g;
    g.kind = kind;
    g.index = index;
    g.row = c_.rows;
    g.rows = rows;
    g.jacobian = c_.jacobian;
    g.dofs = std::move(dofs);
    g.softness = softness;
    c_.rows += rows;
    c_.jacobian += rows * int(g.dofs.size());
    c_.kinds.insert(c_.kinds.end(), static_cast<std::size_t>(rows), row_kind);
    c_.permanent |= row_kind != RowKind::limit && row_kind != RowKind::contact;
    c_.bodies |= holds_bodies(kind);
    c_.groups.push_back(std::move(g));
    return c_.groups.back();
  }

  void add_equalities() {
    for (std::size_t e = 0; e < model_.equalities.size(); ++e) {
      const Equality& q = model_.equalities[e];
      if (!q.active) continue;
      const auto& p = tree_.p.equalities[e].softness;
      std::vector<int> dofs;
      ConstraintGroup* g = nullptr;
      switch (q.type) {
        case EqualityType::connect:
        case EqualityType::weld: {
          const bool weld = q.type == EqualityType::weld;
          chain(q.first, dofs);
          chain(q.second, dofs);
          std::vector<int> first, second;
          chain(q.first, first);
          chain(q.second, second);
          g = &add(weld ? GroupKind::weld : GroupKind::connect, RowKind::equality, int(e), weld ? 6 : 3, dofs,
                   p);
          for (int i : g->dofs) {
            const bool moves_first = std::find(first.begin(), first.end(), i) != first.end(),
                       moves_second = std::find(second.begin(), second.end(), i) != second.end();
            g->sides.push_back(int(moves_first) - int(moves_second));
          }
          break;
        }
        case EqualityType::joint: {
          for (int j : {q.first, q.second}) {
            if (j >= 0) dofs.push_back(joint(j).dof);
          }
          g = &add(GroupKind::joint_equality, RowKind::equality, int(e), 1, dofs, p);
          g->first_ref = model_.qpos0[joint(q.first).qpos];
          if (q.second >= 0) g->second_ref = model_.qpos0[joint(q.second).qpos];
          break;
        }
        case EqualityType::tendon: {
          for (int t : {q.first, q.second}) {
            if (t < 0) continue;
            const auto& path = tree_.tendons[t].dof;
            dofs.insert(dofs.end(), path.begin(), path.end());
          }
          g = &add(GroupKind::tendon_equality, RowKind::equality, int(e), 1, dofs, p);
          g->first_ref = model_.tendons[q.first].length;
          if (q.second >= 0) g->second_ref = model_.tendons[q.second].length;
          break;
        }
      }
      g->first = q.first;
      g->second = q.second;
    }
  }

  void add_friction() {
    for (std::size_t i = 0; i < tree_.dofs.size(); ++i) {
      const JointParameters& p = tree_.joints[tree_.dofs[i].joint].p;
      if (p.frictionloss >= 0)
        add(GroupKind::dof_friction, RowKind::friction, int(i), 1, {int(i)}, p.friction);
    }
    for (std::size_t t = 0; t < tree_.tendons.size(); ++t) {
      const TreeTendon& tendon = tree_.tendons[t];
      if (tendon.p.frictionloss >= 0)
        add(GroupKind::tendon_friction, RowKind::friction, int(t), 1, tendon.dof, tendon.p.friction);
    }
  }

  void add_limits() {
    for (std::size_t j = 0; j < tree_.joints.size(); ++j) {
      const TreeJoint& t = tree_.joints[j];
      if (t.p.range < 0) continue;
      if (t.type == JointType::ball) {
        add(GroupKind::ball_limit, RowKind::limit, int(j), 1, {t.dof, t.dof + 1, t.dof + 2}, t.p.limit);
      } else if (t.type != JointType::free) {
        add(GroupKind::joint_limit, RowKind::limit, int(j), 2, {t.dof}, t.p.limit);
      }
    }
    for (std::size_t t = 0; t < tree_.tendons.size(); ++t) {
      const TreeTendon& tendon = tree_.tendons[t];
      if (tendon.p.range >= 0)
        add(GroupKind::tendon_limit, RowKind::limit, int(t), 2, tendon.dof, tendon.p.limit);
    }
  }

  void add_contacts() {
    std::vector<bool> touches(tree_.geoms.size());
    for (const GeomPair& geoms : touching_pairs(model_)) {
      const int one = tree_.geoms[geoms.first].body, two = tree_.geoms[geoms.second].body;
      touches[geoms.first] = touches[geoms.second] = true;
      // A dof that moves both bodies does not move them against each other.
      std::vector<int> first, second, dofs;
      chain(one, first);
      chain(two, second);
      std::sort(first.begin(), first.end());
      std::sort(second.begin(), second.end());
      std::set_symmetric_difference(first.begin(), first.end(), second.begin(), second.end(),
                                    std::back_inserter(dofs));
      const int index = int(c_.pairs.size());
      const auto type = [&](int geom) { return tree_.geoms[geom].type; };
      c_.pairs.push_back({geoms, one, two, int(c_.groups.size()), c_.points,
                          distances_are_continuous(geoms, type(geoms.first), type(geoms.second))});
      c_.points += geoms.slots;
      for (int slot = 0; slot < geoms.slots; ++slot) {
        ConstraintGroup& g = add(GroupKind::contact, RowKind::contact, index, geoms.condim, dofs, {});
        g.block = c_.blocks;
        c_.blocks += geoms.condim * (geoms.condim + 1) / 2;
        g.first = one;
        g.second = two;
        for (int i : g.dofs) g.sides.push_back(std::binary_search(second.begin(), second.end(), i) ? 1 : -1);
      }
    }
    for (std::size_t g = 0; g < touches.size(); ++g) {
      if (touches[g]) c_.geoms.push_back(int(g));
    }
  }

  // The elimination tree of M's pattern and the rows'.
  void eliminate() {
    const std::size_t n = tree_.nv;
    std::vector<std::vector<bool>> couples(n, std::vector<bool>(n, false));
    for (std::size_t i = 0; i < n; ++i) {
      for (int j = tree_.dofs[i].parent; j >= 0; j = tree_.dofs[j].parent) couples[i][j] = true;
    }
    for (const ConstraintGroup& g : c_.groups) {
      for (int a : g.dofs) {
        for (int b : g.dofs) {
          if (b < a) couples[a][b] = true;
        }
      }
    }
    c_.dofs.assign(tree_.dofs.begin(), tree_.dofs.end());
    for (std::size_t k = n; k-- > 0;) {
      int parent = -1;
      for (std::size_t j = k; j-- > 0;) {
        if (!couples[k][j]) continue;
        if (parent < 0)
          parent = int(j);
        else
          couples[parent][j] = true;
      }
      c_.dofs[k].parent = parent;
    }
    for (TreeDof& dof : c_.dofs) {
      dof.depth = dof.parent < 0 ? 1 : c_.dofs[dof.parent].depth + 1;
      dof.row = c_.entries;
      c_.entries += dof.depth;
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (int j = int(i); j >= 0; j = tree_.dofs[j].parent) c_.place.push_back(entry(int(i), j));
    }
    for (ConstraintGroup& g : c_.groups) {
      for (std::size_t a = 0; a < g.dofs.size(); ++a) {
        for (std::size_t b = 0; b <= a; ++b) g.entries.push_back(entry(g.dofs[a], g.dofs[b]));
      }
    }
  }

 private:
  const Joint& joint(int j) const { return model_.joints[j]; }
  void chain(int body, std::vector<int>& dofs) const {
    for (int i = tree_.bodies[body].last_dof; i >= 0; i = tree_.dofs[i].parent) dofs.push_back(i);
  }
  int entry(int i, int j) const {
    int offset = 0;
    for (int k = i; k != j; k = c_.dofs[k].parent) ++offset;
    return c_.dofs[i].row + offset;
  }

  const Model& model_;
  const Tree& tree_;
  Constraints& c_;
};

}  // namespace

Constraints make_constraints(const Model& model, const Tree& tree) {
  Constraints c;
  c.refsafe = model.options.refsafe;
  c.iterations = std::max(model.options.iterations, 100);  // gradients need the minimum itself
  c.noslip = model.options.noslip_iterations;
  c.conjugate_gradients = model.options.solver == SolverType::cg;
  c.elliptic = model.options.cone == ConeType::elliptic;
  c.impratio = model.options.impratio;
  c.all_geoms = tree.geoms.size();
  c.all_bodies = tree.bodies.size();
  Maker make(model, tree, c);
  if (model.options.constraint) {
    if (model.options.equality) make.add_equalities();
    if (model.options.frictionloss) make.add_friction();
    if (model.options.limit) make.add_limits();
    make.add_contacts();
  }
  make.eliminate();
  return c;
}

}  // namespace costate::rigid
