// Sums over the terms of a row or column of a tableau, with the number of states known to the compiler or not (N = 0).
#pragma once

#include "costate/core/platform.h"
#include "costate/ode/tableaus.h"

namespace costate::ode {

// Calls body.template operator()<N>() with N = n for small systems, whose sums then stay in registers, and N
// = 0 for others.
template <class Body>
COSTATE_INLINE void with_states(int n, const Body& body) {
  switch (n) {
    case 1:
      return body.template operator()<1>();
    case 2:
      return body.template operator()<2>();
    case 3:
      return body.template operator()<3>();
    case 4:
      return body.template operator()<4>();
    case 5:
      return body.template operator()<5>();
    case 6:
      return body.template operator()<6>();
    default:
      return body.template operator()<0>();
  }
}

// out = sum over terms of value * k[stage]
template <int N>
COSTATE_INLINE void combine_row(const Tableau::Row& row, const double* k, double* out, int states) {
  if constexpr (N > 0) {
    double sum[N] = {};
    for (const Tableau::Term& term : row) {
      const double* stage = k + term.stage * N;
      for (int i = 0; i < N; ++i) sum[i] += term.value * stage[i];
    }
    for (int i = 0; i < N; ++i) out[i] = sum[i];
  } else {
    for (int i = 0; i < states; ++i) out[i] = 0;
    for (const Tableau::Term& term : row) {
      const double* stage = k + term.stage * states;
      for (int i = 0; i < states; ++i) out[i] += term.value * stage[i];
    }
  }
}

// out = weight * y_bar + sum over the terms of a column, up to row `count`, of value * X_bar[row]
template <int N>
COSTATE_INLINE void combine_column(const Tableau::Row& column, int count, double weight, const double* y_bar,
                                   const double* X_bar, double* out, int states) {
  if constexpr (N > 0) {
    double sum[N];
    for (int i = 0; i < N; ++i) sum[i] = weight * y_bar[i];
    for (const Tableau::Term& term : column) {
      if (term.stage >= count) continue;
      const double* row = X_bar + term.stage * N;
      for (int i = 0; i < N; ++i) sum[i] += term.value * row[i];
    }
    for (int i = 0; i < N; ++i) out[i] = sum[i];
  } else {
    for (int i = 0; i < states; ++i) out[i] = weight * y_bar[i];
    for (const Tableau::Term& term : column) {
      if (term.stage >= count) continue;
      const double* row = X_bar + term.stage * states;
      for (int i = 0; i < states; ++i) out[i] += term.value * row[i];
    }
  }
}

}  // namespace costate::ode
