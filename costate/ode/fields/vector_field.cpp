#include "costate/ode/fields/vector_field.h"

#include <algorithm>

#include "costate/core/error.h"
#include "costate/ode/methods/rk_stages.h"

namespace costate::ode {

void VectorField::jacobian(double t, const double* x, const double* p, double* f_x, double* scratch) const {
  const int n = states();
  std::vector<double> direction(n, 0.0), column(n);
  for (int j = 0; j < n; ++j) {
    direction[j] = 1;
    jvp(t, x, p, 0.0, direction.data(), nullptr, column.data(), scratch);
    direction[j] = 0;
    for (int i = 0; i < n; ++i) f_x[i * n + j] = column[i];
  }
}

const std::vector<double>& VectorField::mass() const {
  static const std::vector<double> identity;
  return identity;
}

void VectorField::rk_stages(const RkStages& s, int first, int last, int loaded) const {
  const int n = states();
  const auto f = [&](double t, const double* X, double* k) { value(t, X, s.p, k, s.scratch); };
  with_states(n, [&]<int N>() { ode::rk_stages<N>(s, first, last, loaded, N > 0 ? N : n, f); });
}

void VectorField::rk_stages_vjp(const RkStages& s, int count, const double* weights, const double* y_bar,
                                const RkCotangents& bar) const {
  const int n = states();
  const auto f_vjp = [&](double t, const double* X, const double* K, double* t_bar, double* X_bar) {
    vjp(t, X, s.p, K, t_bar, X_bar, bar.p, s.scratch);
  };
  with_states(n,
              [&]<int N>() { ode::rk_stages_vjp<N>(s, count, weights, y_bar, bar, N > 0 ? N : n, f_vjp); });
}

}  // namespace costate::ode
