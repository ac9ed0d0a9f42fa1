// ProgramSampleCost: a formula of the state at given times, summed over them.
//
//   sum_k c(t_k, x(t_k), p, data_k)
//
// Tests: tests/io/problem_test.cpp.
#pragma once

#include "costate/ode/fields/program_field.h"
#include "costate/ode/loss.h"

namespace costate::io {

class ProgramSampleCost final : public ode::SampleCost {
 public:
  // The cost's parameters are p and then, where there is data, the number measured at that time.
  ProgramSampleCost(const ad::Program& cost, std::vector<double> times, std::vector<double> data);

  const std::vector<double>& times() const override { return times_; }
  double value(std::size_t k, const double* x, const double* p) const override;
  void gradient(std::size_t k, const double* x, const double* p, double* x_bar, double* p_bar) const override;
  void gradient_jvp(std::size_t k, const double* x, const double* p, const double* x_dot, const double* p_dot,
                    double* x_bar_dot, double* p_bar_dot) const override;

 private:
  int parameters() const { return cost_.parameters() - (data_.empty() ? 0 : 1); }
  std::vector<double> with_data(std::size_t k, const double* p) const;

  ode::ProgramDerivatives cost_;
  std::vector<double> times_, data_;
};

}  // namespace costate::io
