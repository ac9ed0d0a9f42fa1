// NumbersLaw<K>: a law of a solid with numbers of its own, from a kernel K.
//
// K has kName, kInverts, numbers(), and is made of (F, numbers) once, with energy(), stress(), stress_dot(dF)
// and by(i), the derivative of the stress with respect to number i.
#pragma once

#include <algorithm>

#include "costate/soft/laws/law.h"
#include "costate/soft/laws/polar.h"

namespace costate::soft {

template <class K>
class NumbersLaw final : public SolidLaw {
 public:
  const char* name() const override { return K::kName; }
  const std::vector<LawNumber>& numbers() const override { return K::numbers(); }
  bool defined(const double* F, const double*) const override {
    return K::kInverts || determinant(read(F)) > 0;
  }
  double energy(const double* F, const double* c) const override { return K(read(F), c).energy(); }
  void stress(const double* F, const double* c, double* P) const override {
    write(K(read(F), c).stress(), P);
  }
  void stress_slope(const double* F, const double* c, double* A) const override {
    const K at(read(F), c);
    double e[9] = {};
    for (int i = 0; i < 9; ++i) {
      e[i] = 1;
      write(at.stress_dot(read(e)), A + 9 * i);
      e[i] = 0;
    }
  }
  void numbers_vjp(const double* F, const double* c, const double* G, double* c_bar) const override {
    const K at(read(F), c);
    for (std::size_t i = 0; i < K::numbers().size(); ++i) c_bar[i] += contract(at.by(int(i)), read(G));
  }
  void numbers_jvp(const double* F, const double* c, const double* c_dot, double* P_dot) const override {
    const K at(read(F), c);
    for (std::size_t i = 0; i < K::numbers().size(); ++i) {
      double P[9];
      write(at.by(int(i)), P);
      for (int j = 0; j < 9; ++j) P_dot[j] += c_dot[i] * P[j];
    }
  }

 private:
  static M3 read(const double* f) { return {{{f[0], f[1], f[2]}, {f[3], f[4], f[5]}, {f[6], f[7], f[8]}}}; }
  static void write(const M3& m, double* to) { std::copy(&m.e[0][0], &m.e[0][0] + 9, to); }
};

}  // namespace costate::soft
