// Double wells: minima near x = -1 and x = 1, a barrier of height a between them.
//
//   double_well      U = a (x^2 - 1)^2 + b x                    one dimension; b tilts it
//   double_well_2d   U = a (x^2 - 1)^2 + b x + k y^2 / 2
//
// Gradient: dU/dx = 4 a x (x^2 - 1) + b, dU/dy = k y.
// Tests: tests/md/potential_test.cpp, equilibrium_test.cpp.
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/local_term.h"

namespace costate::md {
namespace {

struct DoubleWell {
  static constexpr int kAtoms = 1, kParameters = 2;
  static constexpr std::array<Link, 1> kLinks = {{{-1, 0}}};
  explicit DoubleWell(const Sites&) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    const T x = d[0][0], w = x * x - 1;
    d_bar[0] = Point<T>::zero();
    d_bar[0][0] = p[0] * (4 * x * w) + p[1];
    p_bar[0] = w * w;
    p_bar[1] = x;
    return p[0] * p_bar[0] + p[1] * x;
  }
};

struct DoubleWell2D {
  static constexpr int kAtoms = 1, kParameters = 3;
  static constexpr std::array<Link, 1> kLinks = {{{-1, 0}}};
  explicit DoubleWell2D(const Sites& sites) : along(sites) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    const T u = along(d, p, d_bar, p_bar), y = d[0][1];
    d_bar[0][1] = p[2] * y;
    p_bar[2] = T(0.5) * (y * y);
    return u + p[2] * p_bar[2];
  }
  DoubleWell along;
};

}  // namespace

PotentialKind double_well_kind() {
  return local_kind<DoubleWell>("double_well", "a (x^2 - 1)^2 + b x", {{"a", {1}}, {"b", {0}}});
}
PotentialKind double_well_2d_kind() {
  return local_kind<DoubleWell2D>("double_well_2d", "a (x^2 - 1)^2 + b x + k y^2 / 2",
                                  {{"a", {1}}, {"b", {0}}, {"k", {1}}}, {}, 2);
}

}  // namespace costate::md
