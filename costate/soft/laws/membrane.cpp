// Membranes in plane stress: F is 3x2, C = F'F, J = sqrt(det C), E = (C - I)/2.
//
//   stvk          W = mu E:E + la/2 tr(E)^2
//   neo_hookean   W = mu/2 (tr C - 2 - 2 ln J) + la/2 (ln J)^2           no value for a flattened triangle
//   arap          W = mu |F - R|^2 = mu (tr C - 2 t + 2),  t = sqrt(tr C + 2 J) the sum of the stretches
//
// All of them are functions of C, so with S = 2 dW/dC the stress is P = F S and dP = dF S + F dS; of C^-1 =
// adj(C)/J^2 the derivative is -C^-1 dC C^-1. Per rest area and unit of thickness.
// Tests: tests/soft/law_test.cpp.
#include "costate/soft/laws/kinds.h"

namespace costate::soft {
namespace {

constexpr Sym2 kOne = {1, 1, 0};

struct StVenantKirchhoff {
  static constexpr const char* kName = "stvk";
  static constexpr bool kInverts = true;
  Mat32 F;
  Sym2 E;
  explicit StVenantKirchhoff(const Mat32& f) : F(f), E(green(f)) {}
  static Sym2 green(const Mat32& F) { return 0.5 * (symmetric_product(F, F) + -1.0 * kOne); }
  static Sym2 second(const Sym2& E, double mu, double la) { return 2 * mu * E + la * trace(E) * kOne; }

  static double energy(const Mat32& F, double mu, double la) {
    const Sym2 E = green(F);
    return mu * contract(E, E) + 0.5 * la * trace(E) * trace(E);
  }
  Mat32 stress(double mu, double la) const { return F * second(E, mu, la); }
  Mat32 stress_dot(const Mat32& dF, double mu, double la) const {
    return dF * second(E, mu, la) + F * second(symmetric_product(F, dF), mu, la);
  }
};

struct NeoHookean {
  static constexpr const char* kName = "neo_hookean";
  static constexpr bool kInverts = false;
  Mat32 F;
  Sym2 inverse;  // of C
  double ln_j;
  explicit NeoHookean(const Mat32& f) : F(f) {
    const Sym2 C = symmetric_product(f, f);
    inverse = 1 / determinant(C) * adjugate(C);
    ln_j = 0.5 * std::log(determinant(C));
  }

  static double energy(const Mat32& F, double mu, double la) {
    const Sym2 C = symmetric_product(F, F);
    const double ln_j = 0.5 * std::log(determinant(C));
    return 0.5 * mu * (trace(C) - 2 - 2 * ln_j) + 0.5 * la * ln_j * ln_j;
  }
  Sym2 second(double mu, double la) const { return mu * kOne + (la * ln_j - mu) * inverse; }
  Mat32 stress(double mu, double la) const { return F * second(mu, la); }
  Mat32 stress_dot(const Mat32& dF, double mu, double la) const {
    const Sym2 dC = 2 * symmetric_product(F, dF);
    const Sym2& i = inverse;
    // C^-1 dC C^-1
    const double a = i.xx * dC.xx + i.xy * dC.xy, b = i.xx * dC.xy + i.xy * dC.yy,
                 c = i.xy * dC.xx + i.yy * dC.xy, d = i.xy * dC.xy + i.yy * dC.yy;
    const Sym2 twice = {a * i.xx + b * i.xy, c * i.xy + d * i.yy, a * i.xy + b * i.yy};
    const Sym2 dS = (mu - la * ln_j) * twice + 0.5 * la * contract(i, dC) * i;
    return dF * second(mu, la) + F * dS;
  }
};

struct Arap {
  static constexpr const char* kName = "arap";
  static constexpr bool kInverts = true;
  Mat32 F;
  Sym2 C, adj;
  double j, t;
  explicit Arap(const Mat32& f)
      : F(f),
        C(symmetric_product(f, f)),
        adj(adjugate(C)),
        j(volume_ratio(f)),
        t(std::sqrt(trace(C) + 2 * j)) {}

  static double energy(const Mat32& F, double mu, double) {
    const double square = trace(symmetric_product(F, F));
    return mu * (square - 2 * std::sqrt(square + 2 * volume_ratio(F)) + 2);
  }
  // dt/dC = (I + adj(C)/J)/(2t)
  Sym2 second(double mu) const { return 2 * mu * kOne + -2 * mu / t * (kOne + 1 / j * adj); }
  Mat32 stress(double mu, double) const { return F * second(mu); }
  Mat32 stress_dot(const Mat32& dF, double mu, double) const {
    const Sym2 dC = 2 * symmetric_product(F, dF);
    const double dj = 0.5 * contract(adj, dC) / j, dt = (0.5 * trace(dC) + dj) / t;
    const Sym2 dS = 2 * mu * dt / (t * t) * (kOne + 1 / j * adj) +
                    -2 * mu / t * (1 / j * adjugate(dC) + -dj / (j * j) * adj);
    return dF * second(mu) + F * dS;
  }
};

}  // namespace

const MembraneLaw& membrane_stvk() {
  static const LameLaw<StVenantKirchhoff, 2> law;
  return law;
}
const MembraneLaw& membrane_neo_hookean() {
  static const LameLaw<NeoHookean, 2> law;
  return law;
}
const MembraneLaw& membrane_arap() {
  static const LameLaw<Arap, 2> law;
  return law;
}

}  // namespace costate::soft
