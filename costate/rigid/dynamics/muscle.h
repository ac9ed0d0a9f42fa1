// Muscles: gain, bias and activation of an actuator that pulls like one [1, "muscles"].
//
//   length     L = r0 + (l - l0) / Lo,  Lo = (l1 - l0) / (r1 - r0)      l0, l1: the actuator's length range
//   velocity   V = l' / (Lo vmax)                                       r0, r1: the same in units of Lo
//   gain       -F0 FL(L) FV(V),      bias  -F0 fpmax FP(L)              F0: peak force, N
//
//   FL   a bump of four parabolas from lmin over 1, its top, to lmax; 0 outside
//   FV   0 for V < -1, (V + 1)^2 for V < 0, fvmax - (y - V)^2 / y for V < y = fvmax - 1, then fvmax
//   FP   0 for L < 1, half a parabola up to b = (1 + lmax)/2, then its tangent
//
//   act' = (u - act) / tau,   u within [0, 1],   with g = 1/2 + 3/2 act, act within [0, 1]:
//   tau = t0 g where u > act, t1 / g where u < act; with a smoothing width w > 0 a quintic leads from one to
//   the other over |u - act| < w/2
//
// Gain and bias have parameters of their own: "actuator/<name>/gain" (r0 r1 F0 lmin lmax vmax fvmax) and
// "bias" (r0 r1 F0 lmax fpmax), "length_range", "time_constants" (t0 t1 w). Each function returns its slopes
// beside its value: the transposes are sums of products.
//
// [1] MuJoCo documentation, Modeling; Millard et al., J. Biomech. Eng. 135 (2013) for the curves' shapes.
// Transpose: actuation_adjoint.h. Tests: tests/rigid/dynamics/muscle_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/core/pack.h"

namespace costate::rigid {

inline constexpr int kMuscleGains = 7, kMuscleBiases = 5;
// Places among the numbers of a gain, and of a bias.
namespace muscle_gain_at {
enum { low, high, force, lmin, lmax, vmax, fvmax };
}
namespace muscle_bias_at {
enum { low, high, force, lmax, fpmax };
}

// FL, its slopes with respect to L, lmin and lmax.
template <class S>
struct ForceLength {
  S value, L, lmin, lmax;
};
template <class S>
ForceLength<S> force_length(const S& L, const S& lmin, const S& lmax) {
  using T = value_t<S>;
  const S half(T(0.5)), one(1), zero(0);
  const mask_t<S> left = L <= one, inside = (L >= lmin) & (L <= lmax);
  const S width = half * select(left, one - lmin, lmax - one);  // of each of a side's two parabolas
  const S end = select(left, lmin, lmax), sign = select(left, one, -one);
  const S x_foot = sign * (L - end) / width, x_top = sign * (one - L) / width;
  const mask_t<S> foot = x_foot <= one;
  const S x = select(foot, x_foot, x_top);
  const S value = select(foot, half * x * x, one - half * x * x);
  const S slope = select(foot, x, -x);  // d value / dx
  // d width / d end = -sign / 2
  const S by_L = select(foot, sign, -sign) / width;
  const S by_end = select(foot, -sign + half * sign * x, half * sign * x) / width;
  const S end_slope = select(inside, slope * by_end, zero);
  return {select(inside, value, zero), select(inside, slope * by_L, zero), select(left, end_slope, zero),
          select(left, zero, end_slope)};
}

// FV, its slopes with respect to V and fvmax.
template <class S>
struct ForceVelocity {
  S value, V, fvmax;
};
template <class S>
ForceVelocity<S> force_velocity(const S& V, const S& fvmax) {
  const S one(1), two(2), zero(0), y = fvmax - one;
  const mask_t<S> still = V <= -one, shortens = V <= zero, lengthens = V <= y;
  const S safe = select(y > zero, y, one), rest = (y - V) / safe;
  return {select(still, zero,
                 select(shortens, (V + one) * (V + one), select(lengthens, fvmax - rest * (y - V), fvmax))),
          select(still, zero, select(shortens, two * (V + one), select(lengthens, two * rest, zero))),
          select(shortens, zero, select(lengthens, one - two * rest + rest * rest, one))};
}

// FP, its slopes with respect to L and lmax.
template <class S>
struct ForcePassive {
  S value, L, lmax;
};
template <class S>
ForcePassive<S> force_passive(const S& L, const S& lmax) {
  using T = value_t<S>;
  const S half(T(0.5)), one(1), zero(0), width = half * (lmax - one), x = (L - one) / width;
  const mask_t<S> slack = x <= zero, bends = x <= one;
  // Along the tangent: 1/2 + (x - 1).
  const S slope = select(slack, zero, select(bends, x, one));
  return {select(slack, zero, select(bends, half * x * x, x - half)), slope / width,
          -(slope * half * x / width)};
}

// Lo, L, and their slopes with respect to l, the range (r0, r1) and the length range (l0, l1).
template <class S>
struct MuscleLength {
  S unit, L;  // Lo, L
  S per_unit, to_low;

  MuscleLength(const S* range, const S* length_range, const S& length)
      : unit((length_range[1] - length_range[0]) / (range[1] - range[0])),
        L(range[0] + (length - length_range[0]) / unit),
        per_unit(S(1) / (range[1] - range[0])),
        to_low((length - length_range[0]) / unit) {}

  // Adds to the cotangents; null where none is wanted.
  void vjp(const S& L_bar, S unit_bar, S& length_bar, S* range_bar, S* length_range_bar) const {
    unit_bar -= L_bar * to_low / unit;
    const S along = L_bar / unit;
    length_bar += along;
    if (range_bar) {
      range_bar[0] += L_bar + unit_bar * unit * per_unit;
      range_bar[1] -= unit_bar * unit * per_unit;
    }
    if (length_range_bar) {
      length_range_bar[0] -= along + unit_bar * per_unit;
      length_range_bar[1] += unit_bar * per_unit;
    }
  }
};

template <class S>
S muscle_gain(const S* p, const S* length_range, const S& length, const S& velocity) {
  namespace at = muscle_gain_at;
  const MuscleLength<S> m(p, length_range, length);
  return -(p[at::force] * force_length(m.L, p[at::lmin], p[at::lmax]).value *
           force_velocity(velocity / (m.unit * p[at::vmax]), p[at::fvmax]).value);
}
template <class S>
void muscle_gain_vjp(const S* p, const S* length_range, const S& length, const S& velocity, const S& bar,
                     S& length_bar, S& velocity_bar, S* p_bar, S* length_range_bar) {
  namespace at = muscle_gain_at;
  const MuscleLength<S> m(p, length_range, length);
  const S scale = m.unit * p[at::vmax], V = velocity / scale;
  const ForceLength<S> FL = force_length(m.L, p[at::lmin], p[at::lmax]);
  const ForceVelocity<S> FV = force_velocity(V, p[at::fvmax]);
  const S FL_bar = -(bar * p[at::force] * FV.value), FV_bar = -(bar * p[at::force] * FL.value);
  const S V_bar = FV_bar * FV.V, scale_bar = -(V_bar * V / scale);
  velocity_bar += V_bar / scale;
  if (p_bar) {
    p_bar[at::force] -= bar * FL.value * FV.value;
    p_bar[at::lmin] += FL_bar * FL.lmin;
    p_bar[at::lmax] += FL_bar * FL.lmax;
    p_bar[at::vmax] += scale_bar * m.unit;
    p_bar[at::fvmax] += FV_bar * FV.fvmax;
  }
  m.vjp(FL_bar * FL.L, scale_bar * p[at::vmax], length_bar, p_bar, length_range_bar);
}

template <class S>
S muscle_bias(const S* p, const S* length_range, const S& length) {
  namespace at = muscle_bias_at;
  const MuscleLength<S> m(p, length_range, length);
  return -(p[at::force] * p[at::fpmax] * force_passive(m.L, p[at::lmax]).value);
}
template <class S>
void muscle_bias_vjp(const S* p, const S* length_range, const S& length, const S& bar, S& length_bar,
                     S* p_bar, S* length_range_bar) {
  namespace at = muscle_bias_at;
  const MuscleLength<S> m(p, length_range, length);
  const ForcePassive<S> FP = force_passive(m.L, p[at::lmax]);
  const S FP_bar = -(bar * p[at::force] * p[at::fpmax]);
  if (p_bar) {
    p_bar[at::force] -= bar * p[at::fpmax] * FP.value;
    p_bar[at::fpmax] -= bar * p[at::force] * FP.value;
    p_bar[at::lmax] += FP_bar * FP.lmax;
  }
  m.vjp(FP_bar * FP.L, S(0), length_bar, p_bar, length_range_bar);
}

// act', its slopes with respect to the control, act and the time constants.
template <class S>
struct MuscleRate {
  S value, control, act, time[3];
};
template <class S>
MuscleRate<S> muscle_rate(const S* time, const S& control, const S& act) {
  using T = value_t<S>;
  const S zero(0), one(1), three_halves(T(1.5));
  const auto within = [&](const S& x) { return select(x < zero, zero, select(x > one, one, x)); };
  const auto is_within = [&](const S& x) { return select((x < zero) | (x > one), zero, one); };
  const S g = S(T(0.5)) + three_halves * within(act), g_act = three_halves * is_within(act);
  const S rise = time[0] * g, fall = time[1] / g, gap = within(control) - act;
  // share: how much of the rise's time constant counts
  const mask_t<S> smooth = time[2] > S(T(1e-15)), rises = gap > zero;
  const S width = select(smooth, time[2], one), x = within(gap / width + S(T(0.5)));
  const S quintic = x * x * x * (x * (S(6) * x - S(15)) + S(10));
  const S steep = S(30) * x * x * (one - x) * (one - x) / width;
  const S share = select(smooth, quintic, select(rises, one, zero)), share_gap = select(smooth, steep, zero);
  const S tau = fall + (rise - fall) * share, inverse = one / tau;
  MuscleRate<S> out;
  out.value = gap * inverse;
  const S by_tau = -(out.value * inverse);  // d value / d tau
  const S by_gap = inverse + by_tau * (rise - fall) * share_gap;
  out.control = by_gap * is_within(control);
  out.act = by_tau * (time[0] * share - (one - share) * fall / g) * g_act - by_gap;
  out.time[0] = by_tau * g * share;
  out.time[1] = by_tau * (one - share) / g;
  out.time[2] = -(by_tau * (rise - fall) * share_gap * gap / width);
  return out;
}

}  // namespace costate::rigid
