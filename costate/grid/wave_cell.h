// What the wave equation does in one cell (equations in wave.h), for any scalar: packs and duals on the CPU, float and double on
// the GPU. A cell sees its own value and those of its four neighbours.
#pragma once

#include "costate/core/pack.h"

namespace costate::grid {

template <class S>
struct Stencil {
  S centre, west, east, south, north;
  COSTATE_HD COSTATE_INLINE S laplacian() const { return ((west + east) + (south + north)) - S(4) * centre; }
};

// Constants of a step.
template <class S>
struct WaveScale {
  S dt;      // time step
  S keep;    // 1 - dt gamma
  S dt_dx2;  // dt / dx^2
};

template <class S>
struct WavePoint {
  S u, v;
};

template <class S>
COSTATE_HD COSTATE_INLINE WavePoint<S> wave_cell(const WaveScale<S>& k, const Stencil<S>& u, const S& v,
                                                 const S& speed) {
  const S v_next = k.keep * v + (k.dt_dx2 * (speed * speed)) * u.laplacian();
  return {u.centre + k.dt * v_next, v_next};
}

// The inverse of wave_cell up to the sources: v from v+, and the state before from that after.
template <class S>
COSTATE_HD COSTATE_INLINE S wave_cell_back(const WaveScale<S>& k, const Stencil<S>& u, const S& v_next,
                                           const S& speed) {
  return (v_next - (k.dt_dx2 * (speed * speed)) * u.laplacian()) / k.keep;
}

template <class S>
struct WaveCotangent {
  S u, v, speed;
};

// flux is the stencil of c^2 w.
template <class S>
COSTATE_HD COSTATE_INLINE WaveCotangent<S> wave_cell_vjp(const WaveScale<S>& k, const S& u_next_bar,
                                                         const S& w, const Stencil<S>& flux,
                                                         const Stencil<S>& u, const S& speed) {
  return {u_next_bar + k.dt_dx2 * flux.laplacian(), k.keep * w,
          (S(2) * k.dt_dx2) * speed * u.laplacian() * w};
}

}  // namespace costate::grid
