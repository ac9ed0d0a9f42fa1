// Rubber and tissue, with numbers of their own. J = det F, C = cof F, I1 = F:F, I2 = cof F : cof F.
//
//   mooney_rivlin   W = c1 (J^-2/3 I1 - 3) + c2 (J^-4/3 I2 - 3) + bulk/2 (J - 1)^2
//   fung            W = c/2 (e^Q - 1) + bulk/2 (J - 1)^2,  Q = b1 tr(E)^2 + b2 E:E,  E = (F'F - I)/2
//
//   dI2 = 2 (I1 F - F F'F) : dF,   d ln J = F^-T : dF
//
// mooney_rivlin has no value where J <= 0. [1] Holzapfel: Nonlinear Solid Mechanics, sections 6.5 and 6.7.
// Tests: tests/soft/law_test.cpp.
#include "costate/soft/laws/kinds.h"
#include "costate/soft/laws/numbers_law.h"

namespace costate::soft {
namespace {

struct MooneyRivlin {
  static constexpr const char* kName = "mooney_rivlin";
  static constexpr bool kInverts = false;
  static const std::vector<LawNumber>& numbers() {
    static const std::vector<LawNumber> all = {
        {"c1", "Pa", 1e4, 0}, {"c2", "Pa", 1e4, -1e300}, {"bulk", "Pa", 1e6, 0}};
    return all;
  }
  M3 F, T, C, B;  // B = dI2/dF / 2
  double c1, c2, bulk, j, i1, i2, a, b;
  MooneyRivlin(const M3& f, const double* c)
      : F(f),
        T(transpose(inverse(f))),
        C(cofactors(f)),
        c1(c[0]),
        c2(c[1]),
        bulk(c[2]),
        j(determinant(f)),
        i1(contract(f, f)),
        i2(contract(C, C)),
        a(std::pow(j, -2.0 / 3)),
        b(a * a) {
    B = i1 * F - F * (transpose(F) * F);
  }
  double energy() const { return c1 * (a * i1 - 3) + c2 * (b * i2 - 3) + 0.5 * bulk * (j - 1) * (j - 1); }
  // dW/dF of each part, with d(J^k) = k J^k T : dF
  M3 first() const { return (2 * a) * F - (2.0 / 3 * a * i1) * T; }
  M3 second() const { return (2 * b) * B - (4.0 / 3 * b * i2) * T; }
  M3 stress() const { return c1 * first() + c2 * second() + (bulk * (j - 1)) * C; }
  M3 by(int i) const { return i == 0 ? first() : i == 1 ? second() : (j - 1) * C; }
  M3 stress_dot(const M3& dF) const {
    const double dl = contract(T, dF), di1 = 2 * contract(F, dF), di2 = 2 * contract(B, dF);
    const M3 dT = -1.0 * (T * transpose(dF) * T);
    const M3 A = transpose(F) * dF;
    const M3 dB = di1 * F + i1 * dF - dF * (transpose(F) * F) - F * (A + transpose(A));
    const M3 dfirst =
        (-2.0 / 3 * dl) * first() + (2 * a) * dF - (2.0 / 3 * a * di1) * T - (2.0 / 3 * a * i1) * dT;
    const M3 dsecond =
        (-4.0 / 3 * dl) * second() + (2 * b) * dB - (4.0 / 3 * b * di2) * T - (4.0 / 3 * b * i2) * dT;
    return c1 * dfirst + c2 * dsecond + (bulk * contract(C, dF)) * C +
           (bulk * (j - 1)) * cofactors_dot(F, dF);
  }
};

struct Fung {
  static constexpr const char* kName = "fung";
  static constexpr bool kInverts = true;
  static const std::vector<LawNumber>& numbers() {
    static const std::vector<LawNumber> all = {
        {"c", "Pa", 1e4, 0}, {"b1", "", 1, -1e300}, {"b2", "", 1, 0}, {"bulk", "Pa", 1e6, 0}};
    return all;
  }
  M3 F, E, C;
  double c, b1, b2, bulk, j, grown;  // grown = e^Q
  Fung(const M3& f, const double* n)
      : F(f),
        E(0.5 * (transpose(f) * f - M3::identity())),
        C(cofactors(f)),
        c(n[0]),
        b1(n[1]),
        b2(n[2]),
        bulk(n[3]),
        j(determinant(f)),
        grown(std::exp(b1 * trace(E) * trace(E) + b2 * contract(E, E))) {}
  double energy() const { return 0.5 * c * (grown - 1) + 0.5 * bulk * (j - 1) * (j - 1); }
  // dQ/dE / 2 and c/2 e^Q dQ/dF = c e^Q F q
  M3 q(const M3& e) const { return (b1 * trace(e)) * M3::identity() + b2 * e; }
  M3 stress() const { return (c * grown) * (F * q(E)) + (bulk * (j - 1)) * C; }
  M3 by(int i) const {
    const M3 Fq = F * q(E);
    if (i == 0) return grown * Fq;
    if (i == 1) return (c * grown) * ((trace(E) * trace(E)) * Fq + trace(E) * F);
    if (i == 2) return (c * grown) * (contract(E, E) * Fq + F * E);
    return (j - 1) * C;
  }
  M3 stress_dot(const M3& dF) const {
    const M3 A = transpose(F) * dF, dE = 0.5 * (A + transpose(A));
    const double dQ = 2 * contract(q(E), dE);
    return (c * grown) * (dQ * (F * q(E)) + dF * q(E) + F * q(dE)) + (bulk * contract(C, dF)) * C +
           (bulk * (j - 1)) * cofactors_dot(F, dF);
  }
};

}  // namespace

const SolidLaw& mooney_rivlin() {
  static const NumbersLaw<MooneyRivlin> law;
  return law;
}
const SolidLaw& fung() {
  static const NumbersLaw<Fung> law;
  return law;
}

}  // namespace costate::soft
