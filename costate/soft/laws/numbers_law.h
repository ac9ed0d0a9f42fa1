// NumbersLaw<K>: a law of a solid, or NumbersLaw<K, MembraneLaw>: of a membrane, with numbers of its own,
// from a kernel K.
//
// K has kName, numbers(), and is made of (F, numbers) once, with energy(), stress(), stress_dot(dF) and
// by(i), the derivative of the stress with respect to number i. It has kInverts, whether it is defined for
// det F <= 0, or defined(F, numbers).
#pragma once

#include <algorithm>
#include <utility>

#include "costate/soft/laws/law.h"
#include "costate/soft/laws/polar.h"

namespace costate::soft {

template <class K, class Law = SolidLaw>
class NumbersLaw : public Law {
  using Matrix = decltype(std::declval<const K&>().stress());
  static constexpr int kSize = sizeof(Matrix) / sizeof(double);

 public:
  const char* name() const override { return K::kName; }
  const std::vector<LawNumber>& numbers() const override { return K::numbers(); }
  bool defined(const double* F, const double* c) const override {
    if constexpr (requires { K::kInverts; })
      return K::kInverts || determinant(read(F)) > 0;
    else
      return K::defined(read(F), c);
  }
  double energy(const double* F, const double* c) const override { return K(read(F), c).energy(); }
  void stress(const double* F, const double* c, double* P) const override {
    write(K(read(F), c).stress(), P);
  }
  void stress_slope(const double* F, const double* c, double* A) const override {
    const K at(read(F), c);
    double e[kSize] = {};
    for (int i = 0; i < kSize; ++i) {
      e[i] = 1;
      write(at.stress_dot(read(e)), A + kSize * i);
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
      double P[kSize];
      write(at.by(int(i)), P);
      for (int j = 0; j < kSize; ++j) P_dot[j] += c_dot[i] * P[j];
    }
  }

 private:
  static Matrix read(const double* from) {
    Matrix m;
    std::copy(from, from + kSize, &m.e[0][0]);
    return m;
  }
  static void write(const Matrix& m, double* to) { std::copy(&m.e[0][0], &m.e[0][0] + kSize, to); }
};

}  // namespace costate::soft
