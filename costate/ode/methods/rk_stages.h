// The stages of an explicit Runge-Kutta step and their transpose, as loops over a right-hand side: equations
// in explicit_rk.h. A field whose code the compiler sees instantiates them for itself (lambda_field.h), which
// saves a call and a way through memory per stage; the others share the instances in vector_field.cpp.
#pragma once

#include <algorithm>

#include "costate/ode/methods/rk_rows.h"

namespace costate::ode {

// Where a step keeps its stages: arrays [stage][state].
struct RkStages {
  const Tableau& tableau;
  double t, h;
  const double* x;
  const double* p;
  double *k, *X, *S;
  double* scratch;  // of the field
};

// What a transpose adds to, and the cotangents of the stages' arguments on the way.
struct RkCotangents {
  double *t, *h, *x, *p;  // p null: not wanted
  double* X_bar;          // [stage][state]
  double* K;              // [state]
};

// Stages first .. last-1; k of those before `loaded` is known, X and S are not. value(t, X, k) evaluates f.
//
// With N known, what one stage hands to the next stays in registers: through memory it would wait for the
// store, since numbers stored one by one cannot be forwarded to a load of several.
template <int N, class Value>
COSTATE_INLINE void rk_stages(const RkStages& s, int first, int last, int loaded, int n, const Value& value) {
  if constexpr (N == 0) {
    for (int i = first; i < last; ++i) {
      double *X = s.X + i * n, *S = s.S + i * n;
      combine_row<0>(s.tableau.a[i], s.k, S, n);
      for (int j = 0; j < n; ++j) X[j] = s.x[j] + s.h * S[j];
      int known = loaded;  // see below
      asm volatile("" : "+r"(known));
      if (i >= known) value(s.t + s.tableau.c[i] * s.h, X, s.k + i * n);
    }
  } else {
    double x[N], latest[N] = {};
    for (int j = 0; j < N; ++j) x[j] = s.x[j];
    if (first > 0) std::copy_n(s.k + (first - 1) * N, N, latest);
    for (int i = first; i < last; ++i) {
      double S[N], X[N];
      combine_terms<N>(s.tableau.a[i], i - 1, latest, s.k, S);
      for (int j = 0; j < N; ++j) X[j] = x[j] + s.h * S[j];
      std::copy_n(S, N, s.S + i * N);
      std::copy_n(X, N, s.X + i * N);
      // Hides from the compiler that this does not change: it would make two loops of one, and they might
      // round differently.
      int known = loaded;
      asm volatile("" : "+r"(known));
      if (i >= known) {
        value(s.t + s.tableau.c[i] * s.h, X, latest);
        std::copy_n(latest, N, s.k + i * N);
      } else {
        std::copy_n(s.k + i * N, N, latest);
      }
    }
  }
}

// The transpose of y = x + h sum_i w_i k_i over the first `count` stages, but for w' k y_bar, which belongs
// to h. vjp(t, X, K, t_bar, X_bar) is that of f; it sees to p_bar.
template <int N, class Vjp>
COSTATE_INLINE void rk_stages_vjp(const RkStages& s, int count, const double* w, const double* y_bar,
                                  const RkCotangents& bar, int n, const Vjp& vjp) {
  double t_sum = 0, h_sum = 0;
  for (int j = 0; j < n; ++j) bar.x[j] += y_bar[j];
  if constexpr (N == 0) {
    double* K = bar.K;
    for (int i = count - 1; i >= 0; --i) {
      double* X_bar = bar.X_bar + i * n;
      for (int j = 0; j < n; ++j) K[j] = w[i] * y_bar[j], X_bar[j] = 0;
      for (const Tableau::Term& term : s.tableau.columns[i]) {
        if (term.stage >= count) continue;
        const double* row = bar.X_bar + term.stage * n;
        for (int j = 0; j < n; ++j) K[j] += term.value * row[j];
      }
      bool reached = false;
      for (int j = 0; j < n; ++j) K[j] *= s.h, reached |= K[j] != 0;
      if (!reached) continue;
      const double c = s.tableau.c[i];
      const double* S = s.S + i * n;
      double t_bar = 0;
      vjp(s.t + c * s.h, s.X + i * n, K, &t_bar, X_bar);
      t_sum += t_bar;
      h_sum += c * t_bar;
      for (int j = 0; j < n; ++j) h_sum += S[j] * X_bar[j], bar.x[j] += X_bar[j];
    }
  } else {
    double x_sum[N] = {}, latest[N] = {};
    for (int i = count - 1; i >= 0; --i) {
      double K[N];
      for (int j = 0; j < N; ++j) K[j] = w[i] * y_bar[j];
      combine_column<N>(s.tableau.columns[i], count, i + 1, latest, bar.X_bar, K);
      bool reached = false;
      for (int j = 0; j < N; ++j) K[j] *= s.h, reached |= K[j] != 0, latest[j] = 0;
      if (reached) {
        const double c = s.tableau.c[i];
        const double* S = s.S + i * N;
        double t_bar = 0;
        vjp(s.t + c * s.h, s.X + i * N, K, &t_bar, latest);
        t_sum += t_bar;
        h_sum += c * t_bar;
        for (int j = 0; j < N; ++j) h_sum += S[j] * latest[j], x_sum[j] += latest[j];
      }
      std::copy_n(latest, N, bar.X_bar + i * N);
    }
    for (int j = 0; j < N; ++j) bar.x[j] += x_sum[j];
  }
  *bar.t += t_sum;
  *bar.h += h_sum;
}

}  // namespace costate::ode
