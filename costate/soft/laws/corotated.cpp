// Solids whose energy measures the distance to the nearest rotation, F = R S (polar.h), J = det F, C = cof F.
//
//   fixed_corotated    W = mu |F - R|^2 + la/2 (J - 1)^2                [1]
//   corotated          W = mu |F - R|^2 + la/2 tr(S - I)^2              linear elasticity in the rotated
// frame
//   arap               W = mu |F - R|^2                                  as rigid as possible; la has no say
//
// R is the rotation variant, so an inverted element is pushed back the short way. The derivative has a pole
// where two stretches sum to zero.
// [1] Stomakhin et al.: Energetically Consistent Invertible Elasticity, SCA 2012.
// Tests: tests/soft/law_test.cpp.
#include "costate/soft/laws/kinds.h"
#include "costate/soft/laws/polar.h"

namespace costate::soft {
namespace {

double distance(const M3& F, const Polar& p) { return contract(F - p.R, F - p.R); }

struct FixedCorotated {
  static constexpr const char* kName = "fixed_corotated";
  static constexpr bool kInverts = true;
  M3 F, C;
  Polar p;
  double j;
  explicit FixedCorotated(const M3& f) : F(f), C(cofactors(f)), p(polar(f)), j(determinant(f)) {}

  static double energy(const M3& F, double mu, double la) {
    const double j = determinant(F);
    return mu * distance(F, polar(F)) + 0.5 * la * (j - 1) * (j - 1);
  }
  M3 stress(double mu, double la) const { return (2 * mu) * (F - p.R) + (la * (j - 1)) * C; }
  M3 stress_dot(const M3& dF, double mu, double la) const {
    return (2 * mu) * (dF - rotation_dot(p, dF)) + (la * contract(C, dF)) * C +
           (la * (j - 1)) * cofactors_dot(F, dF);
  }
};

struct Corotated {
  static constexpr const char* kName = "corotated";
  static constexpr bool kInverts = true;
  M3 F;
  Polar p;
  double stretch;  // tr(S - I)
  explicit Corotated(const M3& f) : F(f), p(polar(f)), stretch(trace(p.S) - 3) {}

  static double energy(const M3& F, double mu, double la) {
    const Polar p = polar(F);
    const double t = trace(p.S) - 3;
    return mu * distance(F, p) + 0.5 * la * t * t;
  }
  M3 stress(double mu, double la) const { return (2 * mu) * (F - p.R) + (la * stretch) * p.R; }
  M3 stress_dot(const M3& dF, double mu, double la) const {
    const M3 dR = rotation_dot(p, dF);
    return (2 * mu) * (dF - dR) + (la * contract(p.R, dF)) * p.R + (la * stretch) * dR;
  }
};

struct Arap {
  static constexpr const char* kName = "arap";
  static constexpr bool kInverts = true;
  M3 F;
  Polar p;
  explicit Arap(const M3& f) : F(f), p(polar(f)) {}

  static double energy(const M3& F, double mu, double) { return mu * distance(F, polar(F)); }
  M3 stress(double mu, double) const { return (2 * mu) * (F - p.R); }
  M3 stress_dot(const M3& dF, double mu, double) const { return (2 * mu) * (dF - rotation_dot(p, dF)); }
};

}  // namespace

const SolidLaw& fixed_corotated() {
  static const LameLaw<FixedCorotated> law;
  return law;
}
const SolidLaw& corotated() {
  static const LameLaw<Corotated> law;
  return law;
}
const SolidLaw& arap() {
  static const LameLaw<Arap> law;
  return law;
}

}  // namespace costate::soft
