// LameLaw<K>: a law whose energy is linear in Lame's constants, W = mu W_mu(F) + la W_la(F), from a kernel K.
//
//   solids      mu = E / 2(1 + nu),  la = E nu / (1 + nu)(1 - 2 nu)
//   membranes   mu the same,         la = E nu / (1 - nu^2)            (plane stress)
//
// K has kName, kInverts, energy(F, mu, la), and a State made of F once, with stress(mu, la) and
// stress_dot(dF, mu, la): the stress and its derivative along dF. The derivatives with respect to E and nu
// follow from the two stresses of (mu, la) = (1, 0) and (0, 1).
#pragma once

#include "costate/soft/laws/law.h"
#include "costate/soft/laws/matrix32.h"

namespace costate::soft {

struct Lame {
  double mu, la;
  double mu_E, mu_nu, la_E, la_nu;  // derivatives
};
Lame solid_lame(const double* c);
Lame membrane_lame(const double* c);
const std::vector<LawNumber>& young_and_poisson();

template <int C>
struct Gradient;  // the type of F
template <>
struct Gradient<3> {
  using Type = Mat3<double>;
  static Lame lame(const double* c) { return solid_lame(c); }
};
template <>
struct Gradient<2> {
  using Type = Mat32;
  static Lame lame(const double* c) { return membrane_lame(c); }
};

template <class K, int C = 3>
class LameLaw final : public Law<C> {
 public:
  using F_t = typename Gradient<C>::Type;
  const char* name() const override { return K::kName; }
  const std::vector<LawNumber>& numbers() const override { return young_and_poisson(); }
  bool defined(const double* F, const double*) const override {
    return K::kInverts || volume_ratio(read(F)) > 0;
  }

  double energy(const double* F, const double* c) const override {
    const Lame l = Gradient<C>::lame(c);
    return K::energy(read(F), l.mu, l.la);
  }
  void stress(const double* F, const double* c, double* P) const override {
    const Lame l = Gradient<C>::lame(c);
    write(K(read(F)).stress(l.mu, l.la), P);
  }
  void stress_slope(const double* F, const double* c, double* A) const override {
    const Lame l = Gradient<C>::lame(c);
    const K at(read(F));
    double e[3 * C] = {};
    for (int i = 0; i < 3 * C; ++i) {
      e[i] = 1;
      write(at.stress_dot(read(e), l.mu, l.la), A + 3 * C * i);
      e[i] = 0;
    }
  }
  void numbers_vjp(const double* F, const double* c, const double* G, double* c_bar) const override {
    const Lame l = Gradient<C>::lame(c);
    const K at(read(F));
    const double mu_bar = contract(at.stress(1, 0), read(G)), la_bar = contract(at.stress(0, 1), read(G));
    c_bar[0] += l.mu_E * mu_bar + l.la_E * la_bar;
    c_bar[1] += l.mu_nu * mu_bar + l.la_nu * la_bar;
  }
  void numbers_jvp(const double* F, const double* c, const double* c_dot, double* P_dot) const override {
    const Lame l = Gradient<C>::lame(c);
    double P[3 * C];
    write(K(read(F)).stress(l.mu_E * c_dot[0] + l.mu_nu * c_dot[1], l.la_E * c_dot[0] + l.la_nu * c_dot[1]),
          P);
    for (int i = 0; i < 3 * C; ++i) P_dot[i] += P[i];
  }

 private:
  static F_t read(const double* f) {
    F_t r;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < C; ++j) r(i, j) = f[C * i + j];
    return r;
  }
  static void write(const F_t& m, double* to) {
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < C; ++j) to[C * i + j] = m(i, j);
  }
};

}  // namespace costate::soft
