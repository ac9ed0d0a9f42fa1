// Bonds between two atoms at distance r.
//
//   harmonic_bond   U = k (r - r0)^2 / 2
//   morse_bond      U = depth (1 - e^(-alpha (r - r0)))^2
//   dimer_bond      U = height (1 - ((r - r0 - width) / width)^2)^2      two states, r0 and r0 + 2 width
//
// Tests: tests/md/potential_test.cpp.
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/radial.h"

namespace costate::md {
namespace {

struct HarmonicBond {
  static constexpr int kAtoms = 2, kParameters = 2;
  static constexpr auto kLinks = kPair;
  explicit HarmonicBond(const Sites&) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::sqrt;
    const T r = sqrt(square_of(d[0])), stretch = r - p[1], pull = p[0] * stretch;
    d_bar[0] = (pull / r) * d[0];
    p_bar[0] = T(0.5) * stretch * stretch;
    p_bar[1] = -pull;
    return p[0] * p_bar[0];
  }
};

struct MorseBond {
  static constexpr int kAtoms = 2, kParameters = 3;
  static constexpr auto kLinks = kPair;
  explicit MorseBond(const Sites&) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::exp, costate::sqrt;
    const T r = sqrt(square_of(d[0])), stretch = r - p[2];
    const T e = exp(-p[1] * stretch), w = 1 - e, slope = 2 * p[0] * w * e;  // dU / d(alpha stretch)
    d_bar[0] = (slope * p[1] / r) * d[0];
    p_bar[0] = w * w;
    p_bar[1] = slope * stretch;
    p_bar[2] = -slope * p[1];
    return p[0] * p_bar[0];
  }
};

struct DimerBond {
  static constexpr int kAtoms = 2, kParameters = 3;
  static constexpr auto kLinks = kPair;
  explicit DimerBond(const Sites&) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::sqrt;
    const T r = sqrt(square_of(d[0])), t = (r - p[1] - p[2]) / p[2], w = 1 - t * t;
    const T slope = -4 * p[0] * w * t / p[2];  // dU/dr
    d_bar[0] = (slope / r) * d[0];
    p_bar[0] = w * w;
    p_bar[1] = -slope;
    p_bar[2] = -slope * (1 + t);
    return p[0] * p_bar[0];
  }
};

}  // namespace

PotentialKind harmonic_bond_kind() {
  return local_kind<HarmonicBond>("harmonic_bond", "k (r - r0)^2 / 2", {{"k", {1}}, {"r0", {1}}});
}
PotentialKind morse_bond_kind() {
  return local_kind<MorseBond>("morse_bond", "depth (1 - exp(-alpha (r - r0)))^2",
                               {{"depth", {1}}, {"alpha", {1}}, {"r0", {1}}});
}
PotentialKind dimer_bond_kind() {
  return local_kind<DimerBond>("dimer_bond", "height (1 - ((r - r0 - width) / width)^2)^2",
                               {{"height", {1.5}}, {"r0", {1.122462048309373}}, {"width", {0.5}}});
}

}  // namespace costate::md
