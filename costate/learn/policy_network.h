// A small neural network that moves muscles: from the time and the state to the controls.
//
//   o = (sin(omega t + 2 pi j/waves), j < waves;  C x)        what it sees: a rhythm, and chosen combinations
//                                                             of the state
//   h = tanh(W1 o + b1)                                       hidden layer
//   u = tanh(W2 h + b2)                                       controls, between -1 and 1
//
// Transpose, with t = k dt:
//
//   a2_ = (1 - u^2) u_;  b2_ += a2_;  W2_ += a2_ h';  a1_ = (1 - h^2) W2' a2_;  b1_ += a1_;  W1_ += a1_ o';
//   o_ = W1' a1_
//   x_ += C' o_;  omega_ += t cos(..) o_;  t_ += omega cos(..) o_
//
// The network of [1], mass_spring. closed_loop.h joins it to a System.
// [1] Hu et al.: DiffTaichi: Differentiable Programming for Physical Simulation, ICLR 2020.
// Tests: tests/learn/closed_loop_test.cpp.
#pragma once

#include <cstdint>
#include <numbers>
#include <vector>

#include "costate/core/functions.h"

namespace costate::learn {

// One thing the network sees: a weighted sum of numbers of the state.
struct Observation {
  struct Term {
    std::int64_t state = 0;
    double weight = 1;
  };
  std::vector<Term> terms;
};

struct PolicyNetwork {
  int waves = 0;
  double omega = 2 * std::numbers::pi;  // rad/s
  std::vector<Observation> observations = {};
  int hidden = 16;
  std::uint64_t seed = 0;  // of the first weights: normal, of variance 1/(number of inputs)
};

// Sizes, and where the network's numbers lie among the parameters. dt and omega are read where there are
// waves.
struct PolicyLayout {
  int waves = 0, inputs = 0, hidden = 0, outputs = 0;
  std::int64_t dt = 0, omega = 0, w1 = 0, b1 = 0, w2 = 0, b2 = 0;
  std::vector<Observation> observations;
};

// Arrays of one lane group: numbers i at from[i * stride].
template <class S>
struct Strided {
  value_t<S>* base;
  std::int64_t stride;
  COSTATE_INLINE S operator[](std::int64_t i) const { return load<S>(base + i * stride); }
  COSTATE_INLINE void add(std::int64_t i, const S& s) const {
    store<S>(base + i * stride, load<S>(base + i * stride) + s);
  }
  COSTATE_INLINE void set(std::int64_t i, const S& s) const { store<S>(base + i * stride, s); }
};

// The network's own numbers on the way: o, h, u, and the cotangents of the first two.
template <class S>
struct PolicyActivations {
  explicit PolicyActivations(const PolicyLayout& n)
      : o(n.inputs), slope(n.waves), o_bar(o.size()), h(n.hidden), u(n.outputs) {}
  std::vector<S> o, slope, o_bar, h, u;  // slope: cos(omega t + phase)
};

// term(0) + ... + term(n - 1) as four partial sums: additions that do not wait for one another.
template <class S, class Term>
COSTATE_INLINE S sum_of(std::size_t n, const Term& term) {
  S part[4] = {S(0), S(0), S(0), S(0)};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::size_t j = 0; j < 4; ++j) part[j] += term(i + j);
  }
  for (; i < n; ++i) part[0] += term(i);
  return (part[0] + part[1]) + (part[2] + part[3]);
}

// X, P: arrays of S with operator[]. Leaves the controls in a.u.
template <class S, class X, class P>
void policy(const PolicyLayout& n, std::int64_t k, const X& x, const P& p, PolicyActivations<S>& a) {
  using costate::cos, costate::sin, costate::tanh;
  using Real = value_t<S>;
  for (int j = 0; j < n.waves; ++j) {
    const S angle = p[n.omega] * p[n.dt] * S(Real(k)) + S(Real(2 * std::numbers::pi * j / n.waves));
    a.o[j] = sin(angle);
    a.slope[j] = cos(angle);
  }
  for (std::size_t i = 0; i < n.observations.size(); ++i) {
    const auto& terms = n.observations[i].terms;
    a.o[n.waves + i] =
        sum_of<S>(terms.size(), [&](std::size_t j) { return S(Real(terms[j].weight)) * x[terms[j].state]; });
  }
  const auto layer = [&p](const std::vector<S>& in, std::int64_t w, std::int64_t b, std::vector<S>& out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::int64_t row = w + std::int64_t(i * in.size());
      const S sum = sum_of<S>(in.size(), [&](std::size_t j) { return p[row + std::int64_t(j)] * in[j]; });
      out[i] = tanh(p[b + std::int64_t(i)] + sum);
    }
  };
  layer(a.o, n.w1, n.b1, a.h);
  layer(a.h, n.w2, n.b2, a.u);
}

// After policy() at the same point. Adds to x_bar and p_bar (arrays with add()).
template <class S, class P, class U, class XBar, class PBar>
void policy_vjp(const PolicyLayout& n, std::int64_t k, const P& p, const U& u_bar, const XBar& x_bar,
                const PBar& p_bar, PolicyActivations<S>& a) {
  using Real = value_t<S>;
  // Outputs. Afterwards u holds the cotangent of what goes into its tanh.
  for (int i = 0; i < n.outputs; ++i) {
    S& u = a.u[i];
    u = (S(1) - u * u) * u_bar[i];
    p_bar.add(n.b2 + i, u);
  }
  for (auto& o_bar : a.o_bar) o_bar = S(0);
  for (int i = 0; i < n.hidden; ++i) {
    const S h = a.h[i];
    S h_bar(0);
    for (int j = 0; j < n.outputs; ++j) {
      const std::int64_t w = n.w2 + std::int64_t(j) * n.hidden + i;
      h_bar += p[w] * a.u[j];
      p_bar.add(w, a.u[j] * h);
    }
    const S sum_bar = (S(1) - h * h) * h_bar;
    p_bar.add(n.b1 + i, sum_bar);
    for (int j = 0; j < n.inputs; ++j) {
      const std::int64_t w = n.w1 + std::int64_t(i) * n.inputs + j;
      a.o_bar[j] += p[w] * sum_bar;
      p_bar.add(w, a.o[j] * sum_bar);
    }
  }
  for (std::size_t i = 0; i < n.observations.size(); ++i) {
    for (const auto& term : n.observations[i].terms)
      x_bar.add(term.state, S(Real(term.weight)) * a.o_bar[n.waves + i]);
  }
  S phase_bar(0);  // of omega t
  for (int j = 0; j < n.waves; ++j) phase_bar += a.slope[j] * a.o_bar[j];
  if (n.waves > 0) {
    p_bar.add(n.omega, S(Real(k)) * p[n.dt] * phase_bar);
    p_bar.add(n.dt, S(Real(k)) * p[n.omega] * phase_bar);
  }
}

}  // namespace costate::learn
