// The force of one spring, and its transpose.
//
//   l = |d| + softening,  e = (w.d)/l,  tension = stiffness (l - L) + damping e,  f = (tension/l) d,
//     L = rest (1 + strength act)
//
// At d = 0 the force is 0 and smooth for softening > 0; |d| has no slope there, and none is needed: it is
// multiplied by d.
// Tests: tests/soft/mass_spring_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/core/vec.h"

namespace costate::soft {

template <class S>
struct SpringNumbers {
  S rest, stiffness, damping, strength, act;
};

// What force and transpose share.
template <class S, int D>
struct StretchedSpring {
  Vec<S, D> d, w;
  S norm, inverse, stretch, rate, tension;  // norm: 1 instead of 0; inverse: 1/l, likewise

  StretchedSpring() = default;
  COSTATE_INLINE StretchedSpring(const Vec<S, D>& d_, const Vec<S, D>& w_, const SpringNumbers<S>& s,
                                 double softening)
      : d(d_), w(w_) {
    using costate::sqrt;
    const S square = dot(d, d);
    const auto apart = square > S(0);
    norm = sqrt(select(apart, square, S(1)));
    const S soft = select(apart, norm, S(0)) + S(value_t<S>(softening));
    const S length = select(soft > S(0), soft, S(1));
    inverse = S(1) / length;
    stretch = length - s.rest * (S(1) + s.strength * s.act);
    rate = dot(w, d) * inverse;
    tension = s.stiffness * stretch + s.damping * rate;
  }
};

template <class S, int D>
COSTATE_INLINE Vec<S, D> spring_force(const StretchedSpring<S, D>& at) {
  return (at.tension * at.inverse) * at.d;
}

// Adds to d_bar, w_bar and to the cotangents of the spring's own numbers.
template <class S, int D>
COSTATE_INLINE void spring_force_vjp(const StretchedSpring<S, D>& at, const SpringNumbers<S>& s,
                                     const Vec<S, D>& f_bar, Vec<S, D>& d_bar, Vec<S, D>& w_bar,
                                     SpringNumbers<S>& s_bar) {
  const S inverse = at.inverse, ratio = at.tension * inverse;
  const S tension_bar = dot(f_bar, at.d) * inverse;  // f = tension d / l
  d_bar += ratio * f_bar;
  S length_bar = -ratio * tension_bar;

  const S stretch_bar = s.stiffness * tension_bar, rate_bar = s.damping * tension_bar;  // tension
  s_bar.stiffness += at.stretch * tension_bar;
  s_bar.damping += at.rate * tension_bar;

  w_bar += (rate_bar * inverse) * at.d;  // rate = w.d / l
  d_bar += (rate_bar * inverse) * at.w;
  length_bar -= at.rate * inverse * rate_bar;

  length_bar += stretch_bar;  // stretch = l - L
  s_bar.rest -= (S(1) + s.strength * s.act) * stretch_bar;
  s_bar.strength -= s.rest * s.act * stretch_bar;
  s_bar.act -= s.rest * s.strength * stretch_bar;

  d_bar += (length_bar / at.norm) * at.d;  // l = |d| + softening
}

}  // namespace costate::soft
