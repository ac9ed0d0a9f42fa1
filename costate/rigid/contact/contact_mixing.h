// Friction, softness and margin of two geoms that touch, mixed from theirs [1, "contact parameters"].
//
//   margin        m1 + m2: how far apart the geoms are when they begin to push
//   friction      the larger of each coefficient, or that of the geom with the higher priority
//   solref        both time constants positive: w s1 + (1 - w) s2, w = solmix1 / (solmix1 + solmix2); else
//                 the smaller
//   solimp        w s1 + (1 - w) s2
//
// Where two numbers are equal, larger and smaller have a corner, and both get half of the cotangent, as a
// central difference would give.
//
// Coefficients are those of sliding, spin and rolling; a contact has (sliding, sliding, spin, rolling,
// rolling), which a <pair> states itself. None is below 1e-5.
//
// [1] MuJoCo documentation, Modeling. Tests: tests/rigid/contact/gradient_test.cpp.
#pragma once

#include "costate/rigid/constraints/constraint_rows.h"
#include "costate/rigid/dynamics/rnea_adjoint.h"

namespace costate::rigid {

inline constexpr double kLeastFriction = 1e-5;
inline constexpr SoftnessParameters kMixed{0, 2};  // where solref and solimp lie in `soft`

template <class S>
struct ContactParameters {
  S soft[7];              // solref, solimp
  S friction[kMostRows];  // [k]: of row k; [0] unused
};

// How much of max(a, b) is a's: 1, 0, or a half at the corner.
template <class S>
COSTATE_INLINE S share_of_max(const S& a, const S& b) {
  return select(a > b, S(1), select(a < b, S(0), S(value_t<S>(0.5))));
}

// Which of a geom's coefficients row k of a contact has.
constexpr int friction_kind(int k) { return k <= 2 ? 0 : k == 3 ? 1 : 2; }

template <class S>
COSTATE_INLINE S contact_margin(const Tree& tree, const GeomPair& g, const S* p) {
  if (g.pair >= 0) return p[tree.p.pairs[g.pair].margin];
  return p[tree.geoms[g.first].p.margin] + p[tree.geoms[g.second].p.margin];
}

// Inverse weight of both bodies, where they can move at all.
template <class S>
COSTATE_INLINE S contact_weight(const Tree& tree, const TouchingPair& pair, const S* p) {
  S w(0);
  for (const int body : {pair.first_body, pair.second_body}) {
    const int at = tree.bodies[body].p.invweight;
    if (at >= 0) w += p[at];
  }
  return w;
}

// The parameter that damps tangents by itself, or none: the normal's does it.
inline int own_damping(const Tree& tree, const GeomPair& g) {
  return g.pair < 0 ? kAbsent : tree.p.pairs[g.pair].solreffriction;
}
template <class S>
COSTATE_INLINE S tangential_damping(const Tree& tree, const Constraints& cons, const GeomPair& g,
                                    const ContactParameters<S>& par, const S* p, const S& normal) {
  const int own = own_damping(tree, g);
  if (own < 0) return normal;
  const S dmax = clip(par.soft[kMixed.solimp + 1], kLowestImpedance, kHighestImpedance);
  return stiffness(p + own, dmax, p[tree.p.whole_dt], cons.refsafe, true).B;
}

// w, and its slopes by solmix1 and solmix2.
template <class S>
struct MixingWeight {
  S w, by_first, by_second;
};
template <class S>
COSTATE_INLINE MixingWeight<S> mixing_weight(const S& first, const S& second) {
  const S tiny = S(value_t<S>(kTiny));
  const mask_t<S> one = first >= tiny, two = second >= tiny, both = one & two;
  const S sum = select(both, first + second, S(1)), inverse = S(1) / sum;
  const S alone = select(one, S(1), select(two, S(0), S(value_t<S>(0.5))));
  return {select(both, first * inverse, alone), select(both, second * inverse * inverse, S(0)),
          select(both, -(first * inverse * inverse), S(0))};
}

template <class S>
void contact_parameters(const Tree& tree, const GeomPair& g, const S* p, ContactParameters<S>& out) {
  const GeomParameters &one = tree.geoms[g.first].p, &two = tree.geoms[g.second].p;
  const auto copy = [&](const SoftnessParameters& from) {
    for (int i = 0; i < 2; ++i) out.soft[i] = p[from.solref + i];
    for (int i = 0; i < 5; ++i) out.soft[2 + i] = p[from.solimp + i];
  };
  const PairParameters* pair = g.pair >= 0 ? &tree.p.pairs[g.pair] : nullptr;
  if (pair) {
    copy(pair->contact);
  } else if (g.chosen) {
    copy(g.chosen == 1 ? one.contact : two.contact);
  } else {
    const S w = mixing_weight(p[one.solmix], p[two.solmix]).w, rest = S(1) - w;
    const S *a = p + one.contact.solref, *b = p + two.contact.solref;
    const mask_t<S> times = (a[0] > S(0)) & (b[0] > S(0));
    for (int i = 0; i < 2; ++i) {
      const S of_second = share_of_max(a[i], b[i]), share = select(times, w, S(1) - of_second);
      out.soft[i] = share * a[i] + (S(1) - share) * b[i];
    }
    a = p + one.contact.solimp;
    b = p + two.contact.solimp;
    for (int i = 0; i < 5; ++i) out.soft[2 + i] = w * a[i] + rest * b[i];
  }
  const S least = S(value_t<S>(kLeastFriction));
  out.friction[0] = S(0);
  for (int k = 1; k < g.condim; ++k) {
    S mu;
    if (pair) {
      mu = p[pair->friction + k - 1];
    } else {
      const int kind = friction_kind(k);
      if (g.chosen) {
        mu = p[(g.chosen == 1 ? one : two).friction + kind];
      } else {
        const S a = p[one.friction + kind], b = p[two.friction + kind], share = share_of_max(a, b);
        mu = share * a + (S(1) - share) * b;
      }
    }
    out.friction[k] = select(mu < least, least, mu);
  }
}

// Adds to bar.p what the cotangents of a contact's parameters hand to those of the pair or the geoms.
template <class S>
void contact_parameters_vjp(const Tree& tree, const GeomPair& g, const S* p, const ContactParameters<S>& bar,
                            const Wanted& wanted, S* p_bar) {
  const GeomParameters &one = tree.geoms[g.first].p, &two = tree.geoms[g.second].p;
  const auto add = [&](const SoftnessParameters& to) {
    for (int i = 0; i < 2; ++i) {
      if (wanted(to.solref)) p_bar[to.solref + i] += bar.soft[i];
    }
    for (int i = 0; i < 5; ++i) {
      if (wanted(to.solimp)) p_bar[to.solimp + i] += bar.soft[2 + i];
    }
  };
  const PairParameters* pair = g.pair >= 0 ? &tree.p.pairs[g.pair] : nullptr;
  if (pair) {
    add(pair->contact);
  } else if (g.chosen) {
    add(g.chosen == 1 ? one.contact : two.contact);
  } else {
    const MixingWeight<S> weight = mixing_weight(p[one.solmix], p[two.solmix]);
    const S w = weight.w, rest = S(1) - w;
    S w_bar(0);
    const S *a = p + one.contact.solref, *b = p + two.contact.solref;
    const mask_t<S> times = (a[0] > S(0)) & (b[0] > S(0));
    for (int i = 0; i < 2; ++i) {
      const S share = select(times, w, S(1) - share_of_max(a[i], b[i]));
      if (wanted(one.contact.solref)) p_bar[one.contact.solref + i] += share * bar.soft[i];
      if (wanted(two.contact.solref)) p_bar[two.contact.solref + i] += (S(1) - share) * bar.soft[i];
      w_bar += select(times, (a[i] - b[i]) * bar.soft[i], S(0));
    }
    a = p + one.contact.solimp;
    b = p + two.contact.solimp;
    for (int i = 0; i < 5; ++i) {
      if (wanted(one.contact.solimp)) p_bar[one.contact.solimp + i] += w * bar.soft[2 + i];
      if (wanted(two.contact.solimp)) p_bar[two.contact.solimp + i] += rest * bar.soft[2 + i];
      w_bar += (a[i] - b[i]) * bar.soft[2 + i];
    }
    if (wanted(one.solmix)) p_bar[one.solmix] += weight.by_first * w_bar;
    if (wanted(two.solmix)) p_bar[two.solmix] += weight.by_second * w_bar;
  }
  const S least = S(value_t<S>(kLeastFriction));
  for (int k = 1; k < g.condim; ++k) {
    const auto hand = [&](int at, const S& share) {
      if (wanted(at)) p_bar[at] += select(p[at] < least, S(0), share);
    };
    if (pair) {
      if (wanted(pair->friction)) hand(pair->friction + k - 1, bar.friction[k]);
      continue;
    }
    const int kind = friction_kind(k);
    if (g.chosen) {
      hand((g.chosen == 1 ? one : two).friction + kind, bar.friction[k]);
    } else {
      const S share = share_of_max(p[one.friction + kind], p[two.friction + kind]);
      hand(one.friction + kind, share * bar.friction[k]);
      hand(two.friction + kind, (S(1) - share) * bar.friction[k]);
    }
  }
}

}  // namespace costate::rigid
