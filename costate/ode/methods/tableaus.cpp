#include "costate/ode/methods/tableaus.h"

#include <cstddef>

#include "costate/core/runge_kutta.h"

namespace costate::ode {
namespace {

// w_i(theta) = sum_m P[i][m] theta^(m+1)
template <std::size_t Stages, std::size_t Degree>
void monomial_weights(const double (&P)[Stages][Degree], double theta, double* w, double* dw, double* ddw) {
  for (std::size_t i = 0; i < Stages; ++i) {
    double value = 0, slope = 0, curvature = 0;
    for (std::size_t m = Degree; m-- > 0;) {
      const double inner = value + P[i][m];
      curvature = curvature * theta + 2 * slope;
      slope = slope * theta + inner;
      value = inner * theta;
    }
    w[i] = value;
    dw[i] = slope;
    ddw[i] = curvature;
  }
}

template <class Method>
const Tableau& tableau_of() {
  static const Tableau tableau = [] {
    constexpr int all = std::size(Method::c);
    Tableau t{runge_kutta::rows_of<Method>()};
    t.name = Method::name;
    t.order = Method::order;
    t.dense_order = Method::dense_order;
    t.stages = Method::stages;
    t.error_stages = t.dense_stages = all;
    if constexpr (requires { Method::e; }) {
      t.error_order = Method::error_order;
      t.error = runge_kutta::row_of(Method::e);
      t.last = Method::stages;
    }
    t.weights = [](double theta, double* w, double* dw, double* ddw) {
      monomial_weights(Method::dense, theta, w, dw, ddw);
    };
    return with_columns(std::move(t));
  }();
  return tableau;
}

}  // namespace

Tableau with_columns(Tableau tableau) {
  tableau.columns.resize(tableau.a.size());
  for (std::size_t i = tableau.a.size(); i-- > 0;) {
    for (const Tableau::Term& term : tableau.a[i])
      tableau.columns[term.stage].push_back({static_cast<int>(i), term.value});
  }
  return tableau;
}

const Tableau& euler_tableau() { return tableau_of<runge_kutta::Euler>(); }
const Tableau& midpoint_tableau() { return tableau_of<runge_kutta::Midpoint>(); }
const Tableau& heun_tableau() { return tableau_of<runge_kutta::Heun>(); }
const Tableau& rk4_tableau() { return tableau_of<runge_kutta::Rk4>(); }
const Tableau& bogacki_shampine_tableau() { return tableau_of<runge_kutta::BogackiShampine>(); }
const Tableau& dormand_prince_tableau() { return tableau_of<runge_kutta::DormandPrince>(); }
const Tableau& tsitouras_tableau() { return tableau_of<runge_kutta::Tsitouras>(); }

}  // namespace costate::ode
