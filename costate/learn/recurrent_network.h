// A small policy with a memory, one world per lane: the layer of gru.h with weights of each world's own, and
// one layer from the memory to the controls.
//
//   x = C state                                       what it sees: chosen combinations of the state
//   r = s(W_r x + U_r h + b_r),  z = s(W_z x + U_z h + b_z),  q = U_c h + d,  c = tanh(W_c x + b_c + r q)
//   h+ = (1 - z) c + z h                              the memory afterwards
//   u = tanh(V h+ + e)                                controls, between -1 and 1
//
// Transpose, last line first; a_ is the cotangent of what W x is added to, g_ of U h:
//
//   o_ = (1 - u^2) u_;  e_ += o_;  V_ += o_ h+';  h+_ += V'o_
//   z_ = (h - c) h+_;  c_ = (1 - z) h+_;  h_ = z h+_;   a_c = (1 - c^2) c_;  r_ = q a_c;  g_c = r a_c
//   d_ += g_c
//   a_r = g_r = r (1 - r) r_,  a_z = g_z = z (1 - z) z_
//   W_ += a_ x';  U_ += g_ h';  b_ += a_;  x_ = W'a_;  h_ += U'g_;  state_ += C'x_
//
// recurrent_loop.h joins it to a System. Tests: tests/learn/recurrent_loop_test.cpp.
#pragma once

#include <vector>

#include "costate/learn/policy_network.h"

namespace costate::learn {

struct RecurrentNetwork {
  std::vector<Observation> observations = {};
  int memory = 8;
  std::uint64_t seed = 0;  // of the first weights: normal, of variance 1/(number of inputs)
};

// Sizes, and where the network's numbers lie among the parameters.
struct RecurrentLayout {
  int inputs = 0, memory = 0, outputs = 0;
  std::int64_t w = 0, u = 0, b = 0, d = 0, v = 0, e = 0;
  std::vector<Observation> observations;
};

// The numbers on the way, and cotangents of some of them.
template <class S>
struct RecurrentActivations {
  explicit RecurrentActivations(const RecurrentLayout& n)
      : x(n.inputs),
        x_bar(n.inputs),
        r(n.memory),
        z(r),
        c(r),
        q(r),
        after(r),
        after_bar(r),
        a(3 * r.size()),
        g(a),
        u(n.outputs) {}
  std::vector<S> x, x_bar, r, z, c, q, after, after_bar, a, g, u;
};

// State, H (the memory), P: arrays of S with operator[]. Leaves the memory in a.after and the controls in
// a.u.
template <class S, class State, class H, class P>
void recurrent(const RecurrentLayout& n, const State& state, const H& h, const P& p,
               RecurrentActivations<S>& t) {
  using costate::tanh;
  using Real = value_t<S>;
  const S half(Real(0.5));
  const auto row = [&](std::int64_t at, int columns, const auto& of) {
    return sum_of<S>(std::size_t(columns), [&](std::size_t j) { return p[at + std::int64_t(j)] * of[j]; });
  };
  for (std::size_t i = 0; i < n.observations.size(); ++i) {
    const auto& terms = n.observations[i].terms;
    t.x[i] = sum_of<S>(terms.size(),
                       [&](std::size_t j) { return S(Real(terms[j].weight)) * state[terms[j].state]; });
  }
  std::vector<S>& before = t.after_bar;  // h, read once
  for (int i = 0; i < n.memory; ++i) before[i] = h[i];
  for (int i = 0; i < n.memory; ++i) {
    const auto W = [&](int gate) {
      return row(n.w + std::int64_t(gate * n.memory + i) * n.inputs, n.inputs, t.x);
    };
    const auto U = [&](int gate) {
      return row(n.u + std::int64_t(gate * n.memory + i) * n.memory, n.memory, before);
    };
    t.r[i] = half + half * tanh(half * (W(0) + U(0) + p[n.b + i]));
    t.z[i] = half + half * tanh(half * (W(1) + U(1) + p[n.b + n.memory + i]));
    t.q[i] = U(2) + p[n.d + i];
    t.c[i] = tanh(W(2) + p[n.b + 2 * n.memory + i] + t.r[i] * t.q[i]);
    t.after[i] = (S(Real(1)) - t.z[i]) * t.c[i] + t.z[i] * before[i];
  }
  for (int i = 0; i < n.outputs; ++i)
    t.u[i] = tanh(row(n.v + std::int64_t(i) * n.memory, n.memory, t.after) + p[n.e + i]);
}

// After recurrent() at the same point. after_bar: cotangent of the memory afterwards; h_bar: of that before,
// which is written. Adds to state_bar and p_bar (arrays with add()).
template <class S, class H, class P, class UBar, class AfterBar, class StateBar, class HBar, class PBar>
void recurrent_vjp(const RecurrentLayout& n, const H& h, const P& p, const UBar& u_bar,
                   const AfterBar& after_bar, const StateBar& state_bar, const HBar& h_bar, const PBar& p_bar,
                   RecurrentActivations<S>& t) {
  using Real = value_t<S>;
  const S one(Real(1));
  const int m = n.memory;
  for (int i = 0; i < m; ++i) t.after_bar[i] = after_bar[i];
  for (int i = 0; i < n.outputs; ++i) {
    const S o = (one - t.u[i] * t.u[i]) * u_bar[i];
    p_bar.add(n.e + i, o);
    for (int j = 0; j < m; ++j) {
      const std::int64_t v = n.v + std::int64_t(i) * m + j;
      t.after_bar[j] += p[v] * o;
      p_bar.add(v, o * t.after[j]);
    }
  }
  for (int i = 0; i < m; ++i) {
    const S bar = t.after_bar[i], a_c = (one - t.c[i] * t.c[i]) * (one - t.z[i]) * bar;
    t.a[i] = t.g[i] = t.r[i] * (one - t.r[i]) * t.q[i] * a_c;
    t.a[m + i] = t.g[m + i] = t.z[i] * (one - t.z[i]) * (h[i] - t.c[i]) * bar;
    t.a[2 * m + i] = a_c, t.g[2 * m + i] = t.r[i] * a_c;
    p_bar.add(n.d + i, t.g[2 * m + i]);
    t.after_bar[i] = t.z[i] * bar;  // from here on of h
  }
  for (S& bar : t.x_bar) bar = S(Real(0));
  for (int i = 0; i < 3 * m; ++i) {
    p_bar.add(n.b + i, t.a[i]);
    for (int j = 0; j < n.inputs; ++j) {
      const std::int64_t w = n.w + std::int64_t(i) * n.inputs + j;
      t.x_bar[j] += p[w] * t.a[i];
      p_bar.add(w, t.a[i] * t.x[j]);
    }
    for (int j = 0; j < m; ++j) {
      const std::int64_t u = n.u + std::int64_t(i) * m + j;
      t.after_bar[j] += p[u] * t.g[i];
      p_bar.add(u, t.g[i] * h[j]);
    }
  }
  for (int i = 0; i < m; ++i) h_bar.set(i, t.after_bar[i]);
  for (std::size_t i = 0; i < n.observations.size(); ++i)
    for (const auto& term : n.observations[i].terms)
      state_bar.add(term.state, S(Real(term.weight)) * t.x_bar[i]);
}

}  // namespace costate::learn
