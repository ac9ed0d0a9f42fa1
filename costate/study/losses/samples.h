// Costs of equations: formulas of the state at given times, objectives of a study as costs of the ode layer,
// and sums of costs.
//
//   ProgramSampleCost     weight sum_k c(t_k, x(t_k), p, data_k)
//   ObjectiveSamples      sum_k objective at step k of (x(t_k), u(t_k), p)    any kind of loss, in equations
//   ObjectiveFunction     the same at the end
//
// Tests: tests/io/scene/equations_test.cpp.
#pragma once

#include "costate/ode/fields/program_field.h"
#include "costate/ode/loss.h"
#include "costate/system/objective.h"

namespace costate::study {

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

// An objective of states and parameters of the signature, whose steps are the numbers of the times.
class ObjectiveSamples final : public ode::SampleCost {
 public:
  ObjectiveSamples(ObjectivePtr<double> objective, std::vector<double> times)
      : objective_(std::move(objective)), times_(std::move(times)) {}
  const std::vector<double>& times() const override { return times_; }
  double value(std::size_t k, const double* x, const double* p) const override;
  void gradient(std::size_t k, const double* x, const double* p, double* x_bar, double* p_bar) const override;
  // Error: such an objective has no second derivatives.
  void gradient_jvp(std::size_t k, const double* x, const double* p, const double* x_dot, const double* p_dot,
                    double* x_bar_dot, double* p_bar_dot) const override;

 private:
  ObjectivePtr<double> objective_;
  std::vector<double> times_;
};

class ObjectiveFunction final : public ode::Function {
 public:
  ObjectiveFunction(ObjectivePtr<double> objective, int states, int parameters)
      : cost_(std::move(objective), {0.0}), states_(states), parameters_(parameters) {}
  int states() const override { return states_; }
  int parameters() const override { return parameters_; }
  int outputs() const override { return 1; }
  void value(double t, const double* x, const double* p, double* y, double* scratch) const override;
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* y_dot, double* scratch) const override;
  void vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar, double* x_bar,
           double* p_bar, double* scratch) const override;

 private:
  ObjectiveSamples cost_;
  int states_, parameters_;
};

// Null of none, the one of one.
std::shared_ptr<const ode::Function> sum_of(std::vector<std::shared_ptr<const ode::Function>> functions);
// `forward`: whether time increases.
std::shared_ptr<const ode::SampleCost> sum_of(std::vector<std::shared_ptr<const ode::SampleCost>> costs,
                                              bool forward);

}  // namespace costate::study
