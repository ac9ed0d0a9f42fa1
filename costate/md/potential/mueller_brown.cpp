// The potential of Mueller and Brown [1]: four Gaussians in the plane, three minima, two saddles.
//
//   U = sum_i A_i e^(E_i),   E_i = a_i dx^2 + b_i dx dy + c_i dy^2,   dx = x - x0_i,  dy = y - y0_i
//
// Gradient: dU/dx = sum A e^E (2 a dx + b dy), dU/dy = sum A e^E (b dx + 2 c dy).
// [1] Mueller, Brown: Location of saddle points and minimum energy paths by a constrained simplex
//     optimization procedure, Theoret. Chim. Acta 53 (1979).
// Tests: tests/md/potential_test.cpp (its minima).
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/local_term.h"

namespace costate::md {
namespace {

struct MuellerBrown {
  static constexpr int kAtoms = 1, kParameters = 24, kWells = 4;
  static constexpr std::array<Link, 1> kLinks = {{{-1, 0}}};
  explicit MuellerBrown(const Sites&) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::exp;
    T u(0);
    d_bar[0] = Point<T>::zero();
    for (int i = 0; i < kWells; ++i) {
      const T depth = p[i], a = p[4 + i], b = p[8 + i], c = p[12 + i];
      const T dx = d[0][0] - p[16 + i], dy = d[0][1] - p[20 + i];
      const T e = exp(a * dx * dx + b * dx * dy + c * dy * dy), well = depth * e;
      const T ux = well * (2 * a * dx + b * dy), uy = well * (b * dx + 2 * c * dy);
      u += well;
      d_bar[0][0] += ux;
      d_bar[0][1] += uy;
      p_bar[i] = e;
      p_bar[4 + i] = well * dx * dx;
      p_bar[8 + i] = well * dx * dy;
      p_bar[12 + i] = well * dy * dy;
      p_bar[16 + i] = -ux;
      p_bar[20 + i] = -uy;
    }
    return u;
  }
};

}  // namespace

PotentialKind mueller_brown_kind() {
  return local_kind<MuellerBrown>("mueller_brown", "sum A exp(a dx^2 + b dx dy + c dy^2)",
                                  {{"A", {-200, -100, -170, 15}},
                                   {"a", {-1, -1, -6.5, 0.7}},
                                   {"b", {0, 0, 11, 0.6}},
                                   {"c", {-10, -10, -6.5, 0.7}},
                                   {"x0", {1, 0, -0.5, -1}},
                                   {"y0", {0, 0.5, 1.5, 1}}},
                                  {}, 2);
}

}  // namespace costate::md
