// The coefficient of restitution of two geoms: the larger of theirs, that of the one with the higher
// priority, or the <pair>'s own. Two equal ones share the cotangent.
#pragma once

#include "costate/rigid/contact/contact_mixing.h"

namespace costate::rigid {

struct RestitutionSource {
  int first, second;  // parameters; second may be absent
};

inline RestitutionSource restitution_source(const Tree& tree, const GeomPair& g) {
  const int one = tree.geoms[g.first].p.restitution, two = tree.geoms[g.second].p.restitution;
  if (g.pair >= 0) return {tree.p.pairs[g.pair].restitution, kAbsent};
  if (g.chosen) return {g.chosen == 1 ? one : two, kAbsent};
  return {one, two};
}

template <class S>
S first_share(const RestitutionSource& from, const S* p) {
  return from.second < 0 ? S(1) : share_of_max(p[from.first], p[from.second]);
}

template <class S>
S restitution_of(const Tree& tree, const GeomPair& g, const S* p) {
  const RestitutionSource from = restitution_source(tree, g);
  const S share = first_share(from, p);
  S e = p[from.first] * share;
  if (from.second >= 0) e += (S(1) - share) * p[from.second];
  return e;
}

template <class S>
void restitution_vjp(const Tree& tree, const GeomPair& g, const S* p, const S& e_bar, const Wanted& wanted,
                     S* p_bar) {
  const RestitutionSource from = restitution_source(tree, g);
  const S share = first_share(from, p);
  if (wanted(from.first)) p_bar[from.first] += share * e_bar;
  if (wanted(from.second)) p_bar[from.second] += (S(1) - share) * e_bar;
}

}  // namespace costate::rigid
