// What a gradient is the gradient of.
//
//   L = final(t1, x(t1), p) + weight * int_t0^t1 l(t, x, p) dt + sum_k sample_k(x(t_k), p)
//
// The running cost l is given to solve() (Options::running), since its integral is part of the solution.
// With controls the costs see (p, u) at their time; a sample at a knot belongs to the interval that ends
// there. Samples are taken from the dense output, and differentiated through it. Whoever has a loss of their
// own passes the cotangents of the outputs instead.
// Tests: tests/ode/adjoints/discrete_adjoint_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "costate/ode/fields/function.h"
#include "costate/ode/solution.h"

namespace costate::ode {

// Derivatives of a loss by the outputs of a solution.
struct OutputCotangents {
  std::vector<double> final = {};  // by x(t1); empty: zero
  double integral = 0;             // by the integral of the running cost
  double end_time = 0;             // by t1 itself or, after a terminal event, by the time of that event
  std::vector<double> sample_times = {};  // sorted in the direction of the solution
  std::vector<double> samples = {};       // row-major: by x(sample_times[k])
  std::vector<double> event_times = {};   // by Solution::events[i].t; empty: zero
};

// A cost of the states at given times.
class SampleCost {
 public:
  virtual ~SampleCost() = default;
  virtual const std::vector<double>& times() const = 0;
  virtual double value(std::size_t k, const double* x, const double* p) const = 0;
  virtual void gradient(std::size_t k, const double* x, const double* p, double* x_bar,
                        double* p_bar) const = 0;  // adds
  // Adds the rate of gradient along (x_dot, p_dot). Null: zero.
  virtual void gradient_jvp(std::size_t k, const double* x, const double* p, const double* x_dot,
                            const double* p_dot, double* x_bar_dot, double* p_bar_dot) const = 0;
};

// sum_k 1/2 |W (x(t_k) - data_k)|^2 with one weight per state.
class LeastSquares final : public SampleCost {
 public:
  LeastSquares(std::vector<double> times, std::vector<double> data, std::vector<double> weights);
  const std::vector<double>& times() const override { return times_; }
  double value(std::size_t k, const double* x, const double* p) const override;
  void gradient(std::size_t k, const double* x, const double* p, double* x_bar, double* p_bar) const override;
  void gradient_jvp(std::size_t k, const double* x, const double* p, const double* x_dot, const double* p_dot,
                    double* x_bar_dot, double* p_bar_dot) const override;

 private:
  std::vector<double> times_, data_, weights_;
};

struct Loss {
  std::shared_ptr<const Function> final = nullptr;      // one output, at (t1, x(t1), p); null: none
  double integral_weight = 1;                           // of the integral of Options::running
  std::shared_ptr<const SampleCost> samples = nullptr;  // null: none
};

struct LossDerivatives {
  double value = 0;
  OutputCotangents cotangents;
  std::vector<double> rows_bar;       // by Trajectory::parameters directly
  std::vector<double> sample_states;  // row-major
};
LossDerivatives evaluate(const Solution& solution, const Loss& loss);

// The loss with its functions as those of a row of parameters, where controls are linear in time.
// (LossDerivatives has its derivatives by the rows.)
Loss with_controls(const Loss& loss, const Trajectory& trajectory);

// Where in a trajectory a sample falls.
struct SamplePlace {
  long step;
  double theta;
};
std::vector<SamplePlace> place_samples(const Replay& replay, const Trajectory& trajectory,
                                       const std::vector<double>& times);

}  // namespace costate::ode
