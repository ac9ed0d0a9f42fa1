// Tableaus of explicit Runge-Kutta methods: what tells one method from another.
//
//   X_i = x + h sum_j a_ij k_j      k_i = f(t + c_i h, X_i, p)      i = 0 .. dense_stages-1
//   y   = x + h sum_i b_i k_i       over the first `stages`
//   err =     h sum_i e_i k_i       over the first `error_stages`
//   y(theta) = x + h sum_i w_i(theta) k_i   over all `dense_stages`
//
// Stages are ordered by who needs them: the solution, then its error estimate, then the interpolant, so that
// each caller computes a prefix. A method is FSAL (first same as last) if stage `last` is f(t + h, y): its
// row of a is b.
//
// Coefficients: [HNW] Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, 2nd ed. (Euler,
// midpoint, Heun, RK4: II.1; Dormand-Prince 5(4): table II.5.2, interpolant of Shampine, Math. Comp. 46
// (1986); DOP853: II.10 and the code DOP853); Bogacki, Shampine, Appl. Math. Lett. 2 (1989); Tsitouras,
// Comput. Math. Appl. 62 (2011).
// Tests: tests/ode/methods/explicit_rk_test.cpp (orders of methods and interpolants).
#pragma once

#include <string>
#include <vector>

namespace costate::ode {

struct Tableau {
  // The non-zero coefficients of one row: sum over them of value * k[stage].
  struct Term {
    int stage;
    double value;
  };
  using Row = std::vector<Term>;

  const char* name;
  int order, error_order, dense_order;
  int stages, error_stages, dense_stages;
  int last;  // the stage that is f(t + h, y), or -1

  std::vector<double> c;
  std::vector<Row> a;  // one row per stage
  Row b;
  Row error;            // empty: no estimate
  Row error_auxiliary;  // DOP853's third-order estimate, which damps the fifth-order one; else empty
  std::vector<Row> columns = {};  // of a, for transposes: column j, last row first

  // w_i(theta) with first and second derivatives.
  void (*weights)(double theta, double* w, double* dw, double* ddw);
};

// The tableau with its columns filled in.
Tableau with_columns(Tableau tableau);

const Tableau& euler_tableau();
const Tableau& midpoint_tableau();
const Tableau& heun_tableau();
const Tableau& rk4_tableau();
const Tableau& bogacki_shampine_tableau();
const Tableau& dormand_prince_tableau();
const Tableau& tsitouras_tableau();
const Tableau& dop853_tableau();

// Most stages of any tableau above: the size of a weight array.
inline constexpr int kMaxStages = 16;

}  // namespace costate::ode
