// How soft a constraint row is: reference acceleration and weight [1, "constraint model"].
//
//   impedance    d(e) = dmin + y(e / width) (dmax - dmin), e >= 0 the violation; y rises from 0 to 1:
//                y = m (x/m)^p for x <= m, 1 - (1-m) ((1-x)/(1-m))^p for x <= 1, else 1   m midpoint, p power
//                without a width: y = 1/2, whatever the violation
//   stiffness    solref = (T, z) > 0: K = 1/(dmax T z)^2, B = 2/(dmax T); with refsafe T >= 2 dt
//                solref <= 0:         K = -solref0 / dmax^2, B = -solref1 / dmax         friction rows: K = 0
//   reference    aref = -B vel - K d r,           r = position - margin
//   weight       D = d / ((1 - d) w)              w inverse weight
//
// [1] MuJoCo documentation, Computation. Tests: tests/rigid/constraints/impedance_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/rigid/constraints/constraints.h"

namespace costate::rigid {

inline constexpr double kTiny = 1e-15, kLowestImpedance = 1e-4, kHighestImpedance = 0.9999;

// What a row is made from, and its cotangents.
template <class S>
struct RowInput {
  S r, e, vel, weight;
};
template <class S>
struct RowReference {
  S aref, D, B;
};

template <class S>
COSTATE_INLINE S clip(const S& x, double low, double high) {
  using T = value_t<S>;
  return select(x < S(T(low)), S(T(low)), select(x > S(T(high)), S(T(high)), x));
}

template <class S>
struct Impedance {
  S dmin, dmax, width, mid, power, x, base, pw, y, value;
  mask_t<S> flat, saturated, lower;  // flat: no width
};

template <class S>
COSTATE_INLINE Impedance<S> impedance(const S* solimp, const S& e) {
  using T = value_t<S>;
  Impedance<S> i;
  i.dmin = clip(solimp[0], kLowestImpedance, kHighestImpedance);
  i.dmax = clip(solimp[1], kLowestImpedance, kHighestImpedance);
  i.flat = solimp[2] <= S(T(kTiny));
  i.width = select(i.flat, S(T(kTiny)), solimp[2]);
  i.mid = clip(solimp[3], kLowestImpedance, kHighestImpedance);
  i.power = select(solimp[4] < S(1), S(1), solimp[4]);
  const S raw = e / i.width;
  const mask_t<S> beyond = raw >= S(1);
  i.saturated = beyond & !i.flat;
  i.x = select(beyond, S(1), raw);
  i.lower = i.x <= i.mid;
  i.base = select(i.lower, i.x / i.mid, (S(1) - i.x) / (S(1) - i.mid));
  i.pw = pow(i.base, i.power);
  i.y = select(i.flat, S(T(0.5)), select(i.lower, i.mid * i.pw, S(1) - (S(1) - i.mid) * i.pw));
  i.value = select(i.saturated, i.dmax, i.dmin + i.y * (i.dmax - i.dmin));
  return i;
}

template <class S>
struct Stiffness {
  S K, B, T;
  mask_t<S> direct, held;  // solref <= 0; T held at 2 dt
};

template <class S>
COSTATE_INLINE Stiffness<S> stiffness(const S* solref, const S& dmax, const S& dt, bool refsafe,
                                      bool friction) {
  using T = value_t<S>;
  Stiffness<S> s;
  s.direct = solref[0] <= S(0);
  const S shortest = S(2) * dt;
  s.held = refsafe ? mask_t<S>(solref[0] < shortest) : mask_t<S>(false);
  s.T = select(s.direct, S(1), select(s.held, shortest, solref[0]));
  const S ratio = select(s.direct, S(1), solref[1]), root = dmax * s.T * ratio, square = root * root;
  s.K = friction ? S(0)
                 : select(s.direct, -solref[0] / (dmax * dmax),
                          S(1) / select(square < S(T(kTiny)), S(T(kTiny)), square));
  s.B = select(s.direct, -solref[1] / dmax, S(2) / (dmax * s.T));
  return s;
}

template <class S>
RowReference<S> row_reference(const S* p, const SoftnessParameters& at, const S& dt, bool refsafe,
                              bool friction, const RowInput<S>& in) {
  const Impedance<S> d = impedance(p + at.solimp, in.e);
  const Stiffness<S> s = stiffness(p + at.solref, d.dmax, dt, refsafe, friction);
  const S R = (S(1) - d.value) * in.weight / d.value;
  using T = value_t<S>;
  return {-(s.B * in.vel) - s.K * d.value * in.r, S(1) / select(R < S(T(kTiny)), S(T(kTiny)), R), s.B};
}

// Adds to solref, solimp (null: not wanted) and dt_bar; returns the cotangents of the input. damping_bar:
// what others hand to B.
template <class S>
RowInput<S> row_reference_vjp(const S* p, const SoftnessParameters& at, const S& dt, bool refsafe,
                              bool friction, const RowInput<S>& in, const S& aref_bar, const S& D_bar,
                              S* solref_bar, S* solimp_bar, S& dt_bar, const S& damping_bar = S(0)) {
  using T = value_t<S>;
  const S *solref = p + at.solref, *solimp = p + at.solimp;
  const Impedance<S> d = impedance(solimp, in.e);
  const Stiffness<S> s = stiffness(solref, d.dmax, dt, refsafe, friction);
  const S R = (S(1) - d.value) * in.weight / d.value;
  const mask_t<S> floored = R < S(T(kTiny));
  const S D = S(1) / select(floored, S(T(kTiny)), R);
  const S R_bar = select(floored, S(0), -(D * D * D_bar));

  RowInput<S> bar;
  bar.weight = R_bar * (S(1) - d.value) / d.value;
  bar.vel = -(s.B * aref_bar);
  bar.r = -(s.K * d.value * aref_bar);
  const S value_bar = -(R_bar * in.weight / (d.value * d.value)) - s.K * in.r * aref_bar;
  const S K_bar = friction ? S(0) : -(d.value * in.r * aref_bar), B_bar = damping_bar - in.vel * aref_bar;

  S dmax_bar = -((S(2) * s.K * K_bar + s.B * B_bar) / d.dmax);
  const S T_bar = select(s.direct, S(0), -((S(2) * s.K * K_bar + s.B * B_bar) / s.T));
  dt_bar += select(s.held, S(2) * T_bar, S(0));
  if (solref_bar) {
    const S ratio = select(s.direct, S(1), solref[1]);
    solref_bar[0] += select(s.direct, -(K_bar / (d.dmax * d.dmax)), select(s.held, S(0), T_bar));
    solref_bar[1] += select(s.direct, -(B_bar / d.dmax), -(S(2) * s.K * K_bar / ratio));
  }

  // The curve.
  dmax_bar += select(d.saturated, value_bar, d.y * value_bar);
  const S free_bar = select(d.saturated, S(0), value_bar);
  const S y_bar = select(d.flat, S(0), free_bar * (d.dmax - d.dmin));
  const mask_t<S> at_zero = d.base <= S(0);
  const S safe = select(at_zero, S(1), d.base);
  const S slope = select(at_zero, select(d.power > S(1), S(0), S(1)), d.power * d.pw / safe);  // dy/dx
  const S x_bar = slope * y_bar;
  bar.e = x_bar / d.width;
  if (solimp_bar) {
    // A bound itself still follows its parameter, as it does in the primal: the curve of power 1 is in use.
    const auto inside = [&](const S& x) {
      return (x >= S(T(kLowestImpedance))) & (x <= S(T(kHighestImpedance)));
    };
    solimp_bar[0] += select(inside(solimp[0]), free_bar * (S(1) - d.y), S(0));
    solimp_bar[1] += select(inside(solimp[1]), dmax_bar, S(0));
    solimp_bar[2] -= select(solimp[2] >= S(T(kTiny)), d.x * x_bar / d.width, S(0));
    solimp_bar[3] += select(inside(solimp[3]), (S(1) - d.power) * d.pw * y_bar, S(0));
    const S logarithm = select(at_zero, S(0), log(safe));
    const S by_power = d.pw * logarithm * y_bar;
    solimp_bar[4] +=
        select(solimp[4] >= S(1), select(d.lower, d.mid * by_power, -((S(1) - d.mid) * by_power)), S(0));
  }
  return bar;
}

}  // namespace costate::rigid
