// Sums over the terms of a row or column of a tableau, with the number of states known to the compiler or not
// (N = 0).
#pragma once

#include "costate/core/platform.h"
#include "costate/ode/methods/tableaus.h"

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

// out = sum over terms of value * k[stage], where k of stage `last`, if it has a part in it, is in `latest`.
// Rows end with their last stage.
template <int N>
COSTATE_INLINE void combine_terms(const Tableau::Row& row, int last, const double* latest, const double* k,
                                  double* out) {
  double sum[N] = {};
  const Tableau::Term *term = row.data(), *end = term + row.size();
  const bool ends_in_latest = term != end && end[-1].stage == last;
  if (ends_in_latest) --end;
  for (; term != end; ++term) {
    const double* stage = k + term->stage * N;
    for (int i = 0; i < N; ++i) sum[i] += term->value * stage[i];
  }
  const double value = ends_in_latest ? end->value : 0.0;
  for (int i = 0; i < N; ++i) out[i] = sum[i] + value * latest[i];
}

// out += sum over the terms of a column, those in rows before `count`, of value * X_bar[row], where X_bar of
// row `first` is in `latest`. Columns end with their first row.
template <int N>
COSTATE_INLINE void combine_column(const Tableau::Row& column, int count, int first, const double* latest,
                                   const double* X_bar, double* out) {
  const Tableau::Term *term = column.data(), *end = term + column.size();
  while (term != end && term->stage >= count) ++term;
  const bool ends_in_latest = term != end && end[-1].stage == first;
  if (ends_in_latest) --end;
  double sum[N];
  for (int i = 0; i < N; ++i) sum[i] = out[i];
  for (; term != end; ++term) {
    const double* row = X_bar + term->stage * N;
    for (int i = 0; i < N; ++i) sum[i] += term->value * row[i];
  }
  const double value = ends_in_latest ? end->value : 0.0;
  for (int i = 0; i < N; ++i) out[i] = sum[i] + value * latest[i];
}

}  // namespace costate::ode
