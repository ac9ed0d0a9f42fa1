// Solids that are linear in a measure of strain.
//
//   stvk     W = mu E:E + la/2 tr(E)^2,  E = (F'F - I)/2      Saint Venant-Kirchhoff: softens under
//            compression and gives way at a stretch of 1/sqrt(3)
//   hencky   W = mu e:e + la/2 tr(e)^2,  e = ln(F'F)/2 = V diag(ln s) V'      no value where det F <= 0
//
// For hencky, with F = U diag(s) V', P = U diag(p) V', p_i = (2 mu ln s_i + la ln J)/s_i; in the frames of U
// and V the derivative of P couples the diagonal through dp_i/ds_j, and each off-diagonal pair through
// (p_i - p_j)/(s_i - s_j) and (p_i + p_j)/(s_i + s_j). The first is written with log1p, so that it is smooth
// at equal stretches.
// Tests: tests/soft/law_test.cpp.
#include "costate/soft/laws/kinds.h"
#include "costate/soft/laws/polar.h"

namespace costate::soft {
namespace {

struct StVenantKirchhoff {
  static constexpr const char* kName = "stvk";
  static constexpr bool kInverts = true;
  M3 F, E;
  explicit StVenantKirchhoff(const M3& f) : F(f), E(green(f)) {}
  static M3 green(const M3& F) { return 0.5 * (transpose(F) * F - M3::identity()); }
  static M3 second(const M3& E, double mu, double la) {
    return (2 * mu) * E + (la * trace(E)) * M3::identity();
  }

  static double energy(const M3& F, double mu, double la) {
    const M3 E = green(F);
    return mu * contract(E, E) + 0.5 * la * trace(E) * trace(E);
  }
  M3 stress(double mu, double la) const { return F * second(E, mu, la); }
  M3 stress_dot(const M3& dF, double mu, double la) const {
    const M3 A = transpose(F) * dF;
    return dF * second(E, mu, la) + F * second(0.5 * (A + transpose(A)), mu, la);
  }
};

struct Hencky {
  static constexpr const char* kName = "hencky";
  static constexpr bool kInverts = false;
  Svd d;
  double log_s[3], ln_j;
  explicit Hencky(const M3& F) : d(svd(F)) {
    for (int i = 0; i < 3; ++i) log_s[i] = std::log(d.s[i]);
    ln_j = log_s[0] + log_s[1] + log_s[2];
  }

  static double energy(const M3& F, double mu, double la) {
    const Hencky at(F);
    double squares = 0;
    for (const double l : at.log_s) squares += l * l;
    return mu * squares + 0.5 * la * at.ln_j * at.ln_j;
  }
  double p(int i, double mu, double la) const { return (2 * mu * log_s[i] + la * ln_j) / d.s[i]; }
  M3 stress(double mu, double la) const {
    return d.U * M3::diagonal(p(0, mu, la), p(1, mu, la), p(2, mu, la)) * transpose(d.V);
  }
  // (p_i - p_j)/(s_i - s_j)
  double quotient(int i, int j, double mu, double la) const {
    const double si = d.s[i], sj = d.s[j], x = (si - sj) / sj;
    const double slope = std::abs(x) < 1e-300 ? 1 / sj : std::log1p(x) / (si - sj);
    return (2 * mu * slope - p(j, mu, la)) / si;
  }
  M3 stress_dot(const M3& dF, double mu, double la) const {
    const M3 f = transpose(d.U) * dF * d.V;
    M3 r;
    for (int i = 0; i < 3; ++i) {
      r(i, i) = (2 * mu / d.s[i] - p(i, mu, la)) / d.s[i] * f(i, i);
      for (int j = 0; j < 3; ++j) r(i, i) += la / (d.s[i] * d.s[j]) * f(j, j);
    }
    for (const auto& [i, j] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}}) {
      const double minus = quotient(i, j, mu, la), plus = (p(i, mu, la) + p(j, mu, la)) / (d.s[i] + d.s[j]);
      const double even = 0.5 * (f(i, j) + f(j, i)) * minus, odd = 0.5 * (f(i, j) - f(j, i)) * plus;
      r(i, j) = even + odd, r(j, i) = even - odd;
    }
    return d.U * r * transpose(d.V);
  }
};

}  // namespace

const SolidLaw& stvk() {
  static const LameLaw<StVenantKirchhoff> law;
  return law;
}
const SolidLaw& hencky() {
  static const LameLaw<Hencky> law;
  return law;
}

}  // namespace costate::soft
