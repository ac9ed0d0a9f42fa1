// A membrane whose stretches cannot pass a limit: strain limiting by a barrier on C = F'F.
//
//   W = W_stvk(E, nu) + stiffness phi(y),   y = det(L^2 I - C)/(L^2 - 1)^2
//   phi(y) = -(1 - y)^2 ln y  for y < 1, else 0
//
// y is (L^2 - c1)(L^2 - c2)/(L^2 - 1)^2 with the squares c of the two stretches: 1 at rest, 0 where the
// larger stretch is L = limit. phi is twice continuously differentiable at y = 1 and without bound at y = 0,
// so a state beyond the limit has no energy, and the line search never takes a step there.
// det(L^2 I - C) = L^4 - L^2 tr C + det C;  its slope with respect to C is A = adj(C) - L^2 I.
// [1] Li, Kaufman, Jiang: Codimensional Incremental Potential Contact, ACM TOG 40 (2021), section 5 (with a
// barrier on each stretch). Tests: tests/soft/law_test.cpp.
#include <cmath>

#include "costate/soft/laws/kinds.h"
#include "costate/soft/laws/numbers_law.h"

namespace costate::soft {
namespace {

constexpr Sym2 kOne = {1, 1, 0};

struct Phi {
  double value = 0, slope = 0, curve = 0;
  explicit Phi(double y) {
    if (!(y < 1)) return;
    const double q = 1 - y, l = std::log(y);
    value = -q * q * l;
    slope = 2 * q * l - q * q / y;
    curve = -2 * l + 4 * q / y + q * q / (y * y);
  }
};

// Everything at one F.
struct Limited {
  static constexpr const char* kName = "limited";
  static const std::vector<LawNumber>& numbers() {
    static const std::vector<LawNumber> all = {
        young_and_poisson()[0], young_and_poisson()[1], {"limit", "", 1.2, 1}, {"stiffness", "Pa", 1e4, 0}};
    return all;
  }
  static bool defined(const Mat32& f, const double* c) {
    const Sym2 C = symmetric_product(f, f);
    // Both stretches beyond the limit make y positive again.
    return room(C, c[2]) > 0 && trace(C) < 2 * c[2] * c[2];
  }

  Mat32 F;
  Sym2 E, A;
  Lame lame;
  double limit, stiffness, scale, y, trace_c;  // scale = (L^2 - 1)^2
  Phi phi;
  Limited(const Mat32& f, const double* c) : Limited(f, symmetric_product(f, f), c) {}
  Limited(const Mat32& f, const Sym2& C, const double* c)
      : F(f),
        E(0.5 * (C + -1.0 * kOne)),
        A(adjugate(C) + -(c[2] * c[2]) * kOne),
        lame(membrane_lame(c)),
        limit(c[2]),
        stiffness(c[3]),
        scale((limit * limit - 1) * (limit * limit - 1)),
        y(room(C, limit) / scale),
        trace_c(trace(C)),
        phi(y) {}
  static double room(const Sym2& C, double limit) {
    const double square = limit * limit;
    return square * square - square * trace(C) + determinant(C);
  }
  static Sym2 stvk(const Sym2& strain, double mu, double la) {
    return 2 * mu * strain + la * trace(strain) * kOne;
  }

  double energy() const {
    return lame.mu * contract(E, E) + 0.5 * lame.la * trace(E) * trace(E) + stiffness * phi.value;
  }
  Sym2 second() const { return stvk(E, lame.mu, lame.la) + (2 * stiffness * phi.slope / scale) * A; }
  Mat32 stress() const { return F * second(); }
  Mat32 stress_dot(const Mat32& dF) const {
    const Sym2 half = symmetric_product(F, dF), dC = 2 * half;
    const double dy = contract(A, dC) / scale;
    const Sym2 dS = stvk(half, lame.mu, lame.la) +
                    (2 * stiffness / scale) * (phi.curve * dy * A + phi.slope * adjugate(dC));
    return dF * second() + F * dS;
  }
  // The derivative of the stress with respect to number i.
  Mat32 by(int i) const {
    if (i == 0) return F * stvk(E, lame.mu_E, lame.la_E);
    if (i == 1) return F * stvk(E, lame.mu_nu, lame.la_nu);
    if (i == 3) return F * ((2 * phi.slope / scale) * A);
    const double scale_l = 4 * limit * (limit * limit - 1),
                 y_l = (4 * limit * limit * limit - 2 * limit * trace_c - y * scale_l) / scale;
    return F * ((2 * stiffness / scale) *
                ((phi.curve * y_l - phi.slope * scale_l / scale) * A + (-2 * limit * phi.slope) * kOne));
  }
};

class LimitedLaw final : public NumbersLaw<Limited, MembraneLaw> {
 public:
  const char* complaint() const override { return "is stretched beyond its limit"; }
};

}  // namespace

const MembraneLaw& membrane_limited() {
  static const LimitedLaw law;
  return law;
}

}  // namespace costate::soft
