// The force of one contact point in contact_penalty.h, and its transpose.
#pragma once

#include "costate/core/functions.h"
#include "costate/rigid/contact/contact_law.h"

namespace costate::rigid {

template <class S>
struct PenaltyLaw {
  S stiffness, damping, slip_speed;
  const S* mu;  // of each row; [0] unused
};

// Which rows share one speed: the tangents do, spin and rolling are alone.
constexpr int friction_group_end(int i, int rows) { return i == 1 && rows > 2 ? 3 : i + 1; }

template <class S>
COSTATE_INLINE S smoothed_speed(int begin, int end, const S& slip_speed, const S* w) {
  S square = slip_speed * slip_speed;
  for (int i = begin; i < end; ++i) square += w[i] * w[i];
  return sqrt(select(square > S(0), square, S(1)));
}

template <class S>
void penalty_force(int rows, const PenaltyLaw<S>& law, const S& r, const S* w, S* f) {
  const S bounce = S(1) - law.damping * w[0];
  f[0] = select(bounce > S(0), -(law.stiffness * r * bounce), S(0));
  for (int i = 1; i < rows;) {
    const int end = friction_group_end(i, rows);
    const S scale = -f[0] / smoothed_speed(i, end, law.slip_speed, w);
    for (; i < end; ++i) f[i] = law.mu[i] * scale * w[i];
  }
}

// Cotangents of <m, f>; w[i] of the velocities, mu[i] of the coefficients.
template <class S>
struct PenaltyBar {
  S r, w[kMostRows], stiffness, damping, slip_speed, mu[kMostRows];
};
template <class S>
void penalty_force_vjp(int rows, const PenaltyLaw<S>& law, const S& r, const S* w, const S* f, const S* m,
                       PenaltyBar<S>& out) {
  S normal_bar = m[0];
  out.slip_speed = S(0);
  for (int i = 1; i < rows;) {
    const int begin = i, end = friction_group_end(i, rows);
    const S inverse = S(1) / smoothed_speed(begin, end, law.slip_speed, w);
    S pull(0);  // sum of m_i mu_i w_i / speed
    for (; i < end; ++i) {
      const S direction = w[i] * inverse;
      pull += m[i] * law.mu[i] * direction;
      out.mu[i] = -(f[0] * direction * m[i]);
    }
    normal_bar -= pull;
    for (i = begin; i < end; ++i) out.w[i] = f[0] * inverse * (pull * w[i] * inverse - law.mu[i] * m[i]);
    out.slip_speed += f[0] * pull * law.slip_speed * inverse * inverse;
  }
  const S bounce = S(1) - law.damping * w[0];
  const S on = select(bounce > S(0), normal_bar, S(0));
  out.mu[0] = S(0);
  out.r = -(law.stiffness * bounce * on);
  out.stiffness = -(r * bounce * on);
  out.damping = law.stiffness * r * w[0] * on;
  out.w[0] = law.stiffness * r * law.damping * on;
}

}  // namespace costate::rigid
