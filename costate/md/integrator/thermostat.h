// N: a chain of Nose-Hoover thermostats over h [1]. The chain sees the velocities through m|v|^2 alone and
// scales them by one factor z, so its step is a map of (a_0 ... a_(M-1), z):
//
//   push j    G = (z^2 m|v|^2 - dof kT) / Q_0  for j = 0,   (Q_(j-1) a_(j-1)^2 - kT) / Q_j  above
//             E = e^(-d a_(j+1) / 4)           (1 for the last link)
//             a_j' = E^2 a_j + E G d / 2
//   scale     z' = z e^(-d a_0)
//
// One part of length d = w h: push M-1, ..., push 0, scale, push 0, ..., push M-1. Weights w of Suzuki and
// Yoshida make it of higher order. At the end v' = z v. With one link it is the block
// a += d/2 (m|v|^2 - dof kT)/Q; v *= e^(-a d); a += d/2 (...)/Q.
//
// It is m|v|^2 that drives the thermostat, not |v|^2. Transpose: the same pushes backwards, from values kept
// on the way. The inverse is the step with -h, because the parts are palindromes.
// [1] Martyna, Tuckerman, Tobias, Klein: Explicit reversible integrators for extended systems dynamics, Mol.
//     Phys. 87 (1996).
// Tests: tests/md/integrator_test.cpp (its derivatives by complex step).
#pragma once

#include <array>

#include "costate/md/integrator/part.h"

namespace costate::md {

inline constexpr int kMostLinks = 8;

struct Thermostat {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    run(c, c.h, s);
  }
  template <class S>
  static void undo(const Part<S>& c, S* s) {
    run(c, S(-c.h), s);
  }

  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const int dof = c.at.dof, links = c.at.chain;
    const S *v = s + c.at.v, *Q = c.p + c.at.thermostat_mass;
    S *v_bar = bar + c.at.v, *a_bar = bar + c.at.thermostat;
    // Forward, with the chain before every push or scaling.
    std::array<Chain<S>, kMostStages> kept;
    Chain<S> now = start(c, s);
    const S twice_kinetic = twice_kinetic_energy(c, s);
    int stages = 0;
    walk(c, c.h, [&](int link, const S& d) {
      kept[std::size_t(stages++)] = now;
      stage(c, link, d, twice_kinetic, now);
    });
    // v' = z v
    S z_bar(0);
    for (int i = 0; i < dof; ++i) {
      z_bar += v[i] * v_bar[i];
      v_bar[i] = now.z * v_bar[i];
    }
    S kinetic_bar(0), kT_bar(0), h_bar(0);
    S* Q_bar = c.p_bar + c.at.thermostat_mass;
    walk_back(c, c.h, [&](int link, const S& d, double weight) {
      using costate::exp;
      const Chain<S>& k = kept[std::size_t(--stages)];
      S d_bar(0);
      if (link < 0) {  // z' = z e^(-d a_0)
        const S e = exp(-d * k.a[0]), exponent_bar = -(k.z * e * z_bar);
        a_bar[0] += d * exponent_bar;
        d_bar = k.a[0] * exponent_bar;
        z_bar = e * z_bar;
      } else {
        const Push<S> push(c, link, d, twice_kinetic, k);
        const S out = a_bar[link], half = S(0.5) * d;
        const S e_bar = out * (S(2) * push.e * k.a[link] + half * push.g), g_bar = out * push.e * half;
        d_bar = S(0.5) * out * push.e * push.g;
        a_bar[link] = push.e * push.e * out;
        if (link + 1 < links) {
          const S exponent_bar = S(-0.25) * push.e * e_bar;
          a_bar[link + 1] += d * exponent_bar;
          d_bar += k.a[link + 1] * exponent_bar;
        }
        Q_bar[link] -= g_bar * push.g / Q[link];
        const S drive_bar = g_bar / Q[link];
        if (link == 0) {
          z_bar += S(2) * k.z * twice_kinetic * drive_bar;
          kinetic_bar += k.z * k.z * drive_bar;
          kT_bar -= S(value_t<S>(c.at.freedom)) * drive_bar;
        } else {
          a_bar[link - 1] += S(2) * Q[link - 1] * k.a[link - 1] * drive_bar;
          Q_bar[link - 1] += k.a[link - 1] * k.a[link - 1] * drive_bar;
          kT_bar -= drive_bar;
        }
      }
      h_bar += S(value_t<S>(weight)) * d_bar;
    });
    c.h_bar += h_bar;
    c.p_bar[c.at.kT] += kT_bar;
    for (int i = 0; i < dof; ++i) {
      v_bar[i] += S(2) * c.mass(i) * v[i] * kinetic_bar;
      c.mass_bar(i) += v[i] * v[i] * kinetic_bar;
    }
  }

 private:
  static constexpr int kMostStages = 7 * (2 * kMostLinks + 1);

  template <class S>
  struct Chain {
    std::array<S, kMostLinks> a;
    S z;
  };
  template <class S>
  struct Push {
    S e, g;
    Push(const Part<S>& c, int j, const S& d, const S& twice_kinetic, const Chain<S>& k) : e(1) {
      using costate::exp;
      const S *Q = c.p + c.at.thermostat_mass, &kT = c.p[c.at.kT];
      if (j + 1 < c.at.chain) e = exp(S(-0.25) * d * k.a[std::size_t(j) + 1]);
      const S drive = j == 0 ? k.z * k.z * twice_kinetic - S(value_t<S>(c.at.freedom)) * kT
                             : Q[j - 1] * k.a[std::size_t(j) - 1] * k.a[std::size_t(j) - 1] - kT;
      g = drive / Q[j];
    }
  };

  template <class S>
  static S twice_kinetic_energy(const Part<S>& c, const S* s) {
    S sum(0);
    const S* v = s + c.at.v;
    for (int i = 0; i < c.at.dof; ++i) sum += c.mass(i) * v[i] * v[i];
    return sum;
  }
  template <class S>
  static Chain<S> start(const Part<S>& c, const S* s) {
    Chain<S> chain;
    for (int j = 0; j < kMostLinks; ++j)
      chain.a[std::size_t(j)] = j < c.at.chain ? s[c.at.thermostat + j] : S(0);
    chain.z = S(1);
    return chain;
  }
  template <class S>
  static void stage(const Part<S>& c, int link, const S& d, const S& twice_kinetic, Chain<S>& k) {
    using costate::exp;
    if (link < 0) {
      k.z = k.z * exp(-d * k.a[0]);
    } else {
      const Push<S> push(c, link, d, twice_kinetic, k);
      S& a = k.a[std::size_t(link)];
      a = push.e * push.e * a + push.e * push.g * (S(0.5) * d);
    }
  }
  // body(link, d) for every stage in turn; link -1 is the scaling.
  template <class S, class F>
  static void walk(const Part<S>& c, const S& h, const F& body) {
    for (const double weight : c.at.yoshida) {
      const S d = S(value_t<S>(weight)) * h;
      for (int j = c.at.chain - 1; j >= 0; --j) body(j, d);
      body(-1, d);
      for (int j = 0; j < c.at.chain; ++j) body(j, d);
    }
  }
  template <class S, class F>
  static void walk_back(const Part<S>& c, const S& h, const F& body) {
    for (std::size_t w = c.at.yoshida.size(); w-- > 0;) {
      const double weight = c.at.yoshida[w];
      const S d = S(value_t<S>(weight)) * h;
      for (int j = c.at.chain - 1; j >= 0; --j) body(j, d, weight);
      body(-1, d, weight);
      for (int j = 0; j < c.at.chain; ++j) body(j, d, weight);
    }
  }
  template <class S>
  static void run(const Part<S>& c, const S& h, S* s) {
    Chain<S> now = start(c, s);
    const S twice_kinetic = twice_kinetic_energy(c, s);
    walk(c, h, [&](int link, const S& d) { stage(c, link, d, twice_kinetic, now); });
    for (int j = 0; j < c.at.chain; ++j) s[c.at.thermostat + j] = now.a[std::size_t(j)];
    S* v = s + c.at.v;
    for (int i = 0; i < c.at.dof; ++i) v[i] = now.z * v[i];
  }
};

}  // namespace costate::md
