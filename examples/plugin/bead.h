// A physics with a hand-written transpose: a charged bead on a ring, kicked by a control, with friction.
//
//   q'' = -k sin q - c q' + u            k strength of the field, c friction
//
// step() and step_vjp() are templates on the scalar: packs of worlds, duals of packs, or plain numbers on a
// GPU run the same lines. own_kernel.cpp uses it from C++, plugin/bead.cpp makes it a library for Python.
#pragma once

// [kernel]
#include <costate/system/lane_system.h>

struct Bead {
  static constexpr int states = 2, controls = 1, parameters = 3;  // (q, v), (u), (k, c, dt)

  // Symplectic Euler:  w = v + dt (u - k sin q - c v),  y = (q + dt w, w)
  template <class S>
  static auto step(const costate::StepContext&, const costate::Vec<S, 2>& x, const costate::Vec<S, 1>& u,
                   const costate::Vec<S, 3>& p) {
    using costate::sin;
    const S w = x[1] + p[2] * (u[0] - p[0] * sin(x[0]) - p[1] * x[1]);
    return costate::Vec<S, 2>{{x[0] + p[2] * w, w}};
  }

  // Its transpose, last line first: returns x_bar, adds to u_bar and p_bar.
  template <class S>
  static auto step_vjp(const costate::StepContext&, const costate::Vec<S, 2>& x, const costate::Vec<S, 1>& u,
                       const costate::Vec<S, 3>& p, const costate::Vec<S, 2>& y_bar,
                       costate::Vec<S, 1>& u_bar, costate::Vec<S, 3>& p_bar) {
    using costate::cos, costate::sin;
    const S force = u[0] - p[0] * sin(x[0]) - p[1] * x[1], w = x[1] + p[2] * force;
    const S w_bar = y_bar[1] + p[2] * y_bar[0], force_bar = p[2] * w_bar;
    u_bar[0] += force_bar;
    p_bar[0] -= sin(x[0]) * force_bar;
    p_bar[1] -= x[1] * force_bar;
    p_bar[2] += w * y_bar[0] + force * w_bar;
    return costate::Vec<S, 2>{{y_bar[0] - p[0] * cos(x[0]) * force_bar, w_bar - p[1] * force_bar}};
  }
};

inline costate::Signature bead_fields() {
  costate::Signature fields;
  fields.state("q", 1, "rad").state("v", 1, "rad/s").control("kick", 1, "rad/s^2");
  fields.parameter("strength", 4.0, "1/s^2").parameter("friction", 0.2, "1/s").parameter("dt", 0.01, "s");
  return fields;
}
// [/kernel]
