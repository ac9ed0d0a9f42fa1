// A physics in C++ for Python: a bead on a ring, with its transpose by hand. docs/recipes.md builds and
// uses it.
// [plugin]
#include <costate/system/lane_system.h>
#include <costate/system/plugin.h>

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

costate::Plugin make() {
  costate::Signature fields;
  fields.state("q", 1, "rad").state("v", 1, "rad/s").control("kick", 1, "rad/s^2");
  fields.parameter("strength", 4.0, "1/s^2").parameter("friction", 0.2, "1/s").parameter("dt", 0.01, "s");
  return {.name = "bead",
          .in_double = std::make_shared<costate::LaneSystem<Bead, double>>(fields),
          .in_single = std::make_shared<costate::LaneSystem<Bead, float>>(fields),
          .initial = {1.0, 0.0}};
}
COSTATE_PLUGIN(make)
// [/plugin]
