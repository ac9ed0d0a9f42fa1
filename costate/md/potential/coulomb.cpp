// Charges: plain, or cut off with a reaction field.
//
//   U = strength q_a q_b (1/r + k_rf r^2 - c_rf)          r < cutoff
//   k_rf = (e - 1) / ((2 e + 1) cutoff^3),  c_rf = 3 e / ((2 e + 1) cutoff),  e = `dielectric` outside [1]
//
// Without a cutoff it is strength q_a q_b / r.
// [1] Tironi, Sperb, Smith, van Gunsteren: A generalized reaction field method, J. Chem. Phys. 102 (1995).
// Tests: tests/md/potential_test.cpp.
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/pair_kind.h"
#include "costate/md/potential/radial.h"

namespace costate::md {
namespace {

struct Coulomb {
  static constexpr int kAtoms = 2, kParameters = 3;  // q_a, q_b, strength
  static constexpr auto kLinks = kPair;
  explicit Coulomb(const Sites& sites) : cut{sites.options[0]} {
    const double r = cut.cutoff, e = sites.options[1];
    if (r > 0) field = (e - 1) / ((2 * e + 1) * r * r * r), offset = 3 * e / ((2 * e + 1) * r);
  }

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::sqrt;
    using V = value_t<T>;
    const T s = square_of(d[0]), inverse = 1 / sqrt(s);
    const auto near = cut.within(s);
    const T shape = select(near, T(inverse + V(field) * s - V(offset)), T(0));
    const T slope = select(near, T(V(field) - T(0.5) * inverse / s), T(0));
    return charged_pair(shape, T(2 * slope), d[0], p, d_bar[0], p_bar);
  }
  template <class Number>
  double reach(const Number&) const {
    return cut.cutoff;
  }
  Cutoff cut;
  double field = 0, offset = 0;
};

}  // namespace

PotentialKind coulomb_kind() {
  using Per = ParameterKind::Per;
  return pair_kind<Coulomb>("coulomb", "strength q_a q_b / r, with a cutoff a reaction field",
                            {{"charge", {0}, "", Per::atom}, {"strength", {1}, "", Per::model}},
                            {{"cutoff", 0}, {"dielectric", 78.3}});
}

}  // namespace costate::md
