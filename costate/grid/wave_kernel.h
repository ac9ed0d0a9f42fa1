// What the wave equation does in one cell, and its transpose (equations in wave.h), for any scalar: packs and
// duals on the CPU, float and double on the GPU. What a kernel is: stencil_kernel.h.
#pragma once

#include <cmath>

#include "costate/grid/stability.h"
#include "costate/grid/stencil_kernel.h"

namespace costate::grid {

struct WaveKernel {
  static constexpr int fields = 2, coefficients = 1, constants = 3, tapes = 1, tape_fields = 1, drives = 1,
                       halo = 1;
  enum { kU, kV };              // planes of state; the coefficient is the speed c
  enum { kDamping, kDx, kDt };  // constants

  template <class S>
  struct Scale {
    S dt;      // time step
    S keep;    // 1 - dt gamma
    S dt_dx2;  // dt / dx^2
    S damping, dx;
  };
  template <class S>
  COSTATE_HD COSTATE_INLINE Scale<S> scale(const Vec<S, constants>& c) const {
    return {c[kDt], S(1) - c[kDt] * c[kDamping], c[kDt] / (c[kDx] * c[kDx]), c[kDamping], c[kDx]};
  }

  // lap u: all that the transpose needs of the state.
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 1> tape(const Scale<S>&, const At& at) const {
    return {{laplacian<S>([&](int di, int dj) { return at.x(kU, di, dj); })}};
  }
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 2> step(const Scale<S>& k, const At& at, const Vec<S, 1>& lap_u) const {
    const S c = at.p(0), v = k.keep * at.x(kV) + (k.dt_dx2 * (c * c)) * lap_u[0];
    return {{at.x(kU) + k.dt * v, v}};
  }

  // c^2 w, whose Laplacian is the cotangent that neighbours pass on.
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 1> drive(const Scale<S>& k, const At& at) const {
    const S c = at.p(0), w = at.y_bar(kV) + k.dt * at.y_bar(kU);
    return {{(c * c) * w}};
  }
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE CellCotangent<S, WaveKernel> step_vjp(const Scale<S>& k, const At& at,
                                                                  const Vec<S, 1>& lap_u) const {
    const S u_bar = at.y_bar(kU), w = at.y_bar(kV) + k.dt * u_bar, c = at.p(0);
    const S lap_drive = laplacian<S>([&](int di, int dj) { return at.drive(0, di, dj); });
    const S pull = c * c * lap_u[0] / (k.dx * k.dx), v = at.x(kV), rate = pull - k.damping * v;
    return {{{u_bar + k.dt_dx2 * lap_drive, k.keep * w}},
            {{(S(2) * k.dt_dx2) * c * lap_u[0] * w}},
            {{-(k.dt * v * w), -(S(2) * k.dt / k.dx * pull * w), u_bar * (v + k.dt * rate) + w * rate}}};
  }

  // A source s adds dt s to v+, and so dt^2 s to u+.
  template <class S>
  COSTATE_HD COSTATE_INLINE void source(const Scale<S>& k, const S& s, Vec<S, 2>& y) const {
    const S kick = k.dt * s;
    y[kV] += kick;
    y[kU] += k.dt * kick;
  }
  template <class S>
  COSTATE_HD COSTATE_INLINE S source_vjp(const Scale<S>& k, const S& s, const Vec<S, 2>& y_bar,
                                         Vec<S, constants>& bar) const {
    const S w = y_bar[kV] + k.dt * y_bar[kU];
    bar[kDt] += y_bar[kU] * k.dt * s + w * s;
    return k.dt * w;
  }

  // u = u+ - dt v+, then v by the velocity's own equation; at.x is the state after the step.
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 2> step_back(const Scale<S>& k, const At& at) const {
    const auto u = [&](int di, int dj) { return at.x(kU, di, dj) - k.dt * at.x(kV, di, dj); };
    const S c = at.p(0);
    return {{u(0, 0), (at.x(kV) - (k.dt_dx2 * (c * c)) * laplacian<S>(u)) / k.keep}};
  }
  template <class S>
  COSTATE_HD COSTATE_INLINE void source_back(const Scale<S>& k, const S& s, Vec<S, 2>& x) const {
    x[kV] -= k.dt * s / k.keep;
  }

  // The fastest mode has w^2 = 8 c^2 / dx^2. One of its steps has determinant 1 - gamma dt and trace 2 -
  // gamma dt - (w dt)^2; its eigenvalues lie in the unit circle for gamma dt <= 2 and (w dt)^2 <= 4 - 2
  // gamma dt (Jury's criterion).
  template <class Real>
  void check(const Real* p, std::int64_t cells) const {
    const double damping = std::max(0.0, double(p[cells + kDamping])), dx = double(p[cells + kDx]),
                 dt = double(p[cells + kDt]);
    if (damping * dt > 2 * (1 + 1e-6)) {
      refuse_step("the damping is " + number(damping), "damping dt = " + number(damping * dt) + " exceeds 2",
                  dt, 2 / damping);
    }
    const double most = std::sqrt(std::max(0.0, 0.5 - 0.25 * damping * dt));  // of c dt / dx
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const double courant = std::abs(double(p[cell])) * dt / dx;
      if (courant <= most * (1 + 1e-6)) continue;
      const double rate = double(p[cell]) / dx, w2 = 8 * rate * rate;
      refuse_step("the speed of cell " + std::to_string(cell) + " is " + number(double(p[cell])),
                  "the Courant number speed dt / dx = " + number(courant) + " exceeds " + number(most, 3), dt,
                  (std::sqrt(damping * damping + 4 * w2) - damping) / w2);
    }
  }
};

}  // namespace costate::grid
