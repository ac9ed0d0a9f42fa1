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
// The numbers stand in core/runge_kutta.h, with their sources; those of DOP853 in tableau_dop853.cpp.
// Tests: tests/ode/methods/explicit_rk_test.cpp (orders of methods and interpolants).
#pragma once

#include <vector>

#include "costate/core/runge_kutta_rows.h"

namespace costate::ode {

struct Tableau : runge_kutta::Rows {
  using Term = runge_kutta::Term;
  using Row = runge_kutta::Row;

  const char* name = "";
  int order = 0, error_order = 0, dense_order = 0;  // error_order 0: no estimate
  int stages = 0, error_stages = 0, dense_stages = 0;
  int last = -1;  // the stage that is f(t + h, y), or -1

  Row error = {};
  Row error_auxiliary = {};  // DOP853's third-order estimate, which damps the fifth-order one; else empty
  std::vector<Row> columns = {};  // of a, for transposes: column j, last row first

  // w_i(theta) with first and second derivatives.
  void (*weights)(double theta, double* w, double* dw, double* ddw) = nullptr;
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
