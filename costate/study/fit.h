// fit: what a fit minimises, and where it begins.
//
//   1/2 sum_k rho(r_k^2) + 1/2 sum_i ((v_i - mean_i) / deviation_i)^2      r_k = (y(t_k) - y_k) / sigma
//
// rho is the file's robust loss (control/robust.h); v are the variables, those with a prior.
//
// From far away one long rollout has many local minima. With a segment the search begins with short pieces
// of the recording, whose first states are unknowns too (control/identify.h), and goes on with the whole.
// Tests: tests/study/fit_test.cpp.
#pragma once

#include "costate/study/study.h"

namespace costate::study {

class FitResiduals {
 public:
  // data: Study::residuals(), computed by others; empty: here.
  using Data = std::function<void(const std::vector<double>& z, double* residual, double* jacobian)>;
  explicit FitResiduals(Study& study, Data data = {});

  // Those of the measurements first, then one per prior.
  int count() const { return count_; }
  // jacobian: count x variables, or null.
  void evaluate(const std::vector<double>& z, double* residual, double* jacobian);
  // What the Hessian of the loss has beside J'J, variables x variables:
  //   sum_k (rho'(r) r)_k d2 r_k + (rho'' part) dr_k dr_k'
  std::vector<double> correction(const std::vector<double>& z);

 private:
  Study& study_;
  Data data_;
  int count_;
};

// z of the file's variables after a fit of pieces. Error for a study that is not a simulation of steps in
// double precision, and for variables that are neither parameters nor the start.
std::vector<double> start_from_pieces(Study& study);

}  // namespace costate::study
