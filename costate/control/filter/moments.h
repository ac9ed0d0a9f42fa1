// The mean and covariance of what a step and a measurement make of a normal distribution, by linearisation
// (extended.cpp) or by points (unscented.cpp), each with its transpose. estimation.h says what for.
#pragma once

#include <memory>

#include "costate/control/dense.h"
#include "costate/control/filter/estimation.h"

namespace costate::control {

struct Normal {
  Vector x;  // states
  Matrix P;  // tangents x tangents
};
// Of a function of x ~ Normal: mean, covariance, and covariance with x (tangents x outputs).
struct Moments {
  Vector mean;
  Matrix covariance, cross;
};

class Transform {
 public:
  virtual ~Transform() = default;
  virtual Moments predict(std::int64_t k, const Normal& in, const double* u) = 0;
  virtual Moments measure(const Normal& in) = 0;
  // Add to the cotangents of `in` and of the parameters. predict's cross has none: only smoothers read it.
  virtual void predict_vjp(std::int64_t k, const Normal& in, const double* u, const Moments& bar,
                           Normal& in_bar, double* p_bar) = 0;
  virtual void measure_vjp(const Normal& in, const Moments& bar, Normal& in_bar, double* p_bar) = 0;
};

std::unique_ptr<Transform> extended(const Estimation& problem);
std::unique_ptr<Transform> unscented(const Estimation& problem);

// The lanes of a system as points and directions, with cotangents of the parameters.
class Lanes {
 public:
  explicit Lanes(const Estimation& problem);

  const Plant& plant() const { return plant_; }
  int lanes() const { return plant_.copies(); }
  // Column l of `columns` to lane l; lanes beyond the last repeat column 0.
  void load(const Matrix& columns, int first, AlignedBuffer<double>& to) const;
  // Lane l of a block to column first + l of `to`.
  void read(const AlignedBuffer<double>& from, int first, Matrix& to) const;
  void add_parameters(const AlignedBuffer<double>& from, int count, double* p_bar) const;

  // Columns through the step, and its transpose.
  Matrix step(std::int64_t k, const Matrix& x, const double* u);
  Matrix step_vjp(std::int64_t k, const Matrix& x, const double* u, const Matrix& y_bar, double* p_bar);
  // Columns: of the step, with respect to each state and then to the parameters at these places.
  Matrix step_jacobian(std::int64_t k, const Vector& x, const double* u,
                       const std::vector<std::int64_t>& parameters);
  // d/dx of <y_bar, step> with its rate along x_dot, summed over columns, at one x.
  void step_hvp(std::int64_t k, const Vector& x, const double* u, const Matrix& x_dot, const Matrix& y_bar,
                Vector& x_bar_dot, double* p_bar_dot);
  // d/d(x, p) of <y_bar, step>, with its rate along each column of `directions`: rows are the states, and
  // then the parameters at these places.
  Matrix step_hessian(std::int64_t k, const Vector& x, const double* u, const Matrix& directions,
                      const std::vector<std::int64_t>& parameters, const Vector& y_bar);
  // Measurement i of each column.
  void measure(std::size_t i, const Matrix& x, Vector& z);
  void measure_vjp(std::size_t i, const Matrix& x, const Vector& z_bar, Matrix& x_bar, double* p_bar);
  void measure_hvp(std::size_t i, const Vector& x, const Vector& x_dot, Vector& x_bar_dot, double* p_bar_dot);
  Matrix measure_hessian(std::size_t i, const Vector& x, const Matrix& directions,
                         const std::vector<std::int64_t>& parameters);

 private:
  // Columns first, first + 1, ... of directions, and of their rates.
  void load_directions(const Matrix& directions, int first, const std::vector<std::int64_t>& parameters);
  void read_rates(int first, const std::vector<std::int64_t>& parameters, Matrix& rates) const;
  Objective<double>::At at() const;
  Plant plant_;
  Plant::Block block_;
  std::vector<ObjectivePtr<double>> measured_;
  AlignedBuffer<double> p_bar_, p_bar_dot_, p_dot_;
  std::unique_ptr<Workspace> work_;  // outside of runs: parameters are wanted
  Activity all_;
};

}  // namespace costate::control
