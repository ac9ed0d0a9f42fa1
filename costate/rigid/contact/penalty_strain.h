// How much more a spring of contact_penalty.h does within a step than the step can follow.
//
//   stiffness   k dt^2 / m                            above 1 a bounce is over within a few steps, above 4 it
//                                                     explodes
//   friction    mu f dt / (m sqrt(|w_t|^2 + s^2))     above 2 an explicit step throws sliding to and fro,
//                                                     growing
//
// 1/m the inverse weight of both bodies, f the normal force of a point. The speed under the root follows from
// the friction there: |f_t| / (mu f) = |w_t| / sqrt(|w_t|^2 + s^2). Tests:
// tests/rigid/contact/penalty_test.cpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "costate/rigid/contact/contact_mixing.h"

namespace costate::rigid {

struct PenaltyStrain {
  double most = 0;
  int pair = -1;  // of Constraints::pairs
  double dt = 0;
};
struct PenaltyStrains {
  PenaltyStrain stiffness, friction;
};

inline constexpr double kMostStiffness = 1, kMostFriction = 2;

// Of the step that penalty_vjp has seen last.
template <class S>
PenaltyStrains penalty_strains(const Tree& tree, const Constraints& cons, const S* p, const S& dt,
                               const ConstraintData<S>& c) {
  PenaltyStrains out;
  const auto take = [](PenaltyStrain& to, double strain, int pair, double h) {
    if (strain > to.most) to = {strain, pair, h};
  };
  const S k = p[tree.p.penalty.stiffness], s = p[tree.p.penalty.slip_speed];
  for (const int index : c.contact.touching) {
    const TouchingPair& pair = cons.pairs[index];
    const S weight = contact_weight(tree, pair, p);
    ContactParameters<S> par;
    contact_parameters(tree, pair.geoms, p, par);
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const auto& rows = c.contact.rows_bar[pair.point + slot];
      if (!rows.any_world) continue;
      for (int l = 0; l < lanes_of<S>; ++l) {
        const double f = double(lane(rows.f[0], l)), h = double(lane(dt, l)), w = double(lane(weight, l));
        if (!(f > 0)) continue;
        take(out.stiffness, double(lane(k, l)) * h * h * w, index, h);
        const double slip = double(lane(s, l)), mu = double(lane(par.friction[1], l));
        if (pair.geoms.condim < 3 || !(slip > 0) || !(mu > 0)) continue;
        const double x = double(lane(rows.f[1], l)) / (mu * f), y = double(lane(rows.f[2], l)) / (mu * f);
        take(out.friction, mu * f * h * w / slip * std::sqrt(std::max(0.0, 1 - x * x - y * y)), index, h);
      }
    }
  }
  return out;
}

}  // namespace costate::rigid
