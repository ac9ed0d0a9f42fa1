// Compressible neo-Hookean solids, F with det F = J, I1 = F : F, C = cof F = J F^-T.
//
//   neo_hookean        W = mu/2 (I1 - 3) - mu ln J + la/2 (ln J)^2      [1], eq. 6.148
//   neo_hookean_j      W = mu/2 (I1 - 3) - mu ln J + la/2 (J - 1)^2
//   neo_hookean_simple W = mu/2 (I1 - 3) - mu (J - 1) + l/2 (J - 1)^2,  l = la + mu so that E and nu are
//                      those of small strains (without the + mu, Poisson's ratio is another one)
//   neo_hookean_stable W = m/2 (I1 - 3) + l/2 (J - a)^2 - m/2 ln(I1 + 1) - W(I)     [2], eq. 14
//                      m = 4/3 mu, l = la + 5/6 mu, l a = l + 3/4 m
//
// The first two have no value where J <= 0; the other two go through inversion.
// [1] Bonet, Wood: Nonlinear Continuum Mechanics for Finite Element Analysis, 2nd ed.
// [2] Smith, de Goes, Kim: Stable Neo-Hookean Flesh Simulation, ACM TOG 37 (2018).
// Tests: tests/soft/law_test.cpp.
#include "costate/soft/laws/kinds.h"
#include "costate/soft/laws/polar.h"

namespace costate::soft {
namespace {

struct NeoHookean {
  static constexpr const char* kName = "neo_hookean";
  static constexpr bool kInverts = false;
  M3 F, T;  // T = F^-T
  double ln_j;
  explicit NeoHookean(const M3& f) : F(f), T(transpose(inverse(f))), ln_j(std::log(determinant(f))) {}

  static double energy(const M3& F, double mu, double la) {
    const double ln_j = std::log(determinant(F));
    return 0.5 * mu * (contract(F, F) - 3) - mu * ln_j + 0.5 * la * ln_j * ln_j;
  }
  M3 stress(double mu, double la) const { return mu * F + (la * ln_j - mu) * T; }
  M3 stress_dot(const M3& dF, double mu, double la) const {
    return mu * dF + (mu - la * ln_j) * (T * transpose(dF) * T) + (la * contract(T, dF)) * T;
  }
};

struct NeoHookeanJ {
  static constexpr const char* kName = "neo_hookean_j";
  static constexpr bool kInverts = false;
  M3 F, T, C;
  double j;
  explicit NeoHookeanJ(const M3& f) : F(f), T(transpose(inverse(f))), C(cofactors(f)), j(determinant(f)) {}

  static double energy(const M3& F, double mu, double la) {
    const double j = determinant(F);
    return 0.5 * mu * (contract(F, F) - 3) - mu * std::log(j) + 0.5 * la * (j - 1) * (j - 1);
  }
  M3 stress(double mu, double la) const { return mu * F - mu * T + (la * (j - 1)) * C; }
  M3 stress_dot(const M3& dF, double mu, double la) const {
    return mu * (dF + T * transpose(dF) * T) + (la * contract(C, dF)) * C +
           (la * (j - 1)) * cofactors_dot(F, dF);
  }
};

struct NeoHookeanSimple {
  static constexpr const char* kName = "neo_hookean_simple";
  static constexpr bool kInverts = true;
  M3 F, C;
  double j;
  explicit NeoHookeanSimple(const M3& f) : F(f), C(cofactors(f)), j(determinant(f)) {}

  static double energy(const M3& F, double mu, double la) {
    const double j = determinant(F);
    return 0.5 * mu * (contract(F, F) - 3) - mu * (j - 1) + 0.5 * (la + mu) * (j - 1) * (j - 1);
  }
  M3 stress(double mu, double la) const { return mu * F + ((la + mu) * (j - 1) - mu) * C; }
  M3 stress_dot(const M3& dF, double mu, double la) const {
    return mu * dF + ((la + mu) * contract(C, dF)) * C + ((la + mu) * (j - 1) - mu) * cofactors_dot(F, dF);
  }
};

struct NeoHookeanStable {
  static constexpr const char* kName = "neo_hookean_stable";
  static constexpr bool kInverts = true;
  M3 F, C;
  double j, i1;
  explicit NeoHookeanStable(const M3& f) : F(f), C(cofactors(f)), j(determinant(f)), i1(contract(f, f)) {}

  static double energy(const M3& F, double mu, double la) {
    const double m = 4.0 / 3 * mu, l = la + 5.0 / 6 * mu, i1 = contract(F, F), j = determinant(F);
    // (J - a)^2 - (1 - a)^2 = (J - 1)(J + 1 - 2a), and l a = l + 3/4 m
    return 0.5 * m * (i1 - 3) + 0.5 * (j - 1) * (l * (j - 1) - 1.5 * m) - 0.5 * m * std::log((i1 + 1) / 4);
  }
  M3 stress(double mu, double la) const {
    const double m = 4.0 / 3 * mu, l = la + 5.0 / 6 * mu;
    return (m * (1 - 1 / (i1 + 1))) * F + (l * (j - 1) - 0.75 * m) * C;
  }
  M3 stress_dot(const M3& dF, double mu, double la) const {
    const double m = 4.0 / 3 * mu, l = la + 5.0 / 6 * mu, k = 1 / (i1 + 1);
    return (m * (1 - k)) * dF + (2 * m * k * k * contract(F, dF)) * F + (l * contract(C, dF)) * C +
           (l * (j - 1) - 0.75 * m) * cofactors_dot(F, dF);
  }
};

}  // namespace

const SolidLaw& neo_hookean() {
  static const LameLaw<NeoHookean> law;
  return law;
}
const SolidLaw& neo_hookean_j() {
  static const LameLaw<NeoHookeanJ> law;
  return law;
}
const SolidLaw& neo_hookean_simple() {
  static const LameLaw<NeoHookeanSimple> law;
  return law;
}
const SolidLaw& neo_hookean_stable() {
  static const LameLaw<NeoHookeanStable> law;
  return law;
}

}  // namespace costate::soft
