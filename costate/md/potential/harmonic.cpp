// A spring to a point, also the restraint of an atom to its place; and a constant force.
//
//   harmonic        U = k |x - centre|^2 / 2
//   uniform_field   U = -force . x
//
// Tests: tests/md/potential_test.cpp, equilibrium_test.cpp.
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/local_term.h"

namespace costate::md {
namespace {

struct Harmonic {
  static constexpr int kAtoms = 1, kParameters = 4;
  static constexpr std::array<Link, 1> kLinks = {{{-1, 0}}};
  explicit Harmonic(const Sites&) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    T square(0);
    for (int k = 0; k < 3; ++k) {
      const T away = d[0][k] - p[1 + k];
      d_bar[0][k] = p[0] * away;
      p_bar[1 + k] = -d_bar[0][k];
      square += away * away;
    }
    p_bar[0] = T(0.5) * square;
    return p[0] * p_bar[0];
  }
};

struct UniformField {
  static constexpr int kAtoms = 1, kParameters = 3;
  static constexpr std::array<Link, 1> kLinks = {{{-1, 0}}};
  explicit UniformField(const Sites&) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    T u(0);
    for (int k = 0; k < 3; ++k) {
      d_bar[0][k] = -p[k];
      p_bar[k] = -d[0][k];
      u += p[k] * p_bar[k];
    }
    return u;
  }
};

}  // namespace

PotentialKind harmonic_kind() {
  return local_kind<Harmonic>("harmonic", "k |x - centre|^2 / 2", {{"k", {1}}, {"centre", {}}});
}
PotentialKind uniform_field_kind() {
  return local_kind<UniformField>("uniform_field", "-force . x", {{"force", {}}});
}

}  // namespace costate::md
