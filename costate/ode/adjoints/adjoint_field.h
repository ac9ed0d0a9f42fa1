// The right-hand sides of continuous_adjoint.h as vector fields: states (lambda, mu) or (x, lambda, mu). mu
// belongs to the row of parameters of the segment that was entered last.
#pragma once

#include <vector>

#include "costate/ode/adjoints/trajectory.h"
#include "costate/ode/fields/vector_field.h"

namespace costate::ode {

// (lambda, mu) along the dense output of a trajectory's segment. Holds a replay: for one thread.
class InterpolatingField final : public VectorField {
 public:
  explicit InterpolatingField(const Trajectory& trajectory);
  void enter(const Segment& segment) { segment_ = segment; }

  int states() const override { return n_ + np_; }
  int parameters() const override { return 0; }
  std::size_t scratch_size() const override { return trajectory_.field->scratch_size() + n_ + np_; }
  void value(double t, const double* z, const double* p, double* dz, double* scratch) const override;
  // Linear in (lambda, mu). Motion of t needs second derivatives of the field.
  void jvp(double t, const double* z, const double* p, double t_dot, const double* z_dot, const double* p_dot,
           double* dz_dot, double* scratch) const override;
  void vjp(double t, const double* z, const double* p, const double* dz_bar, double* t_bar, double* z_bar,
           double* p_bar, double* scratch) const override;

  const double* state_at(double t) const;

 private:
  const Trajectory& trajectory_;
  int n_, np_;
  Segment segment_{};
  mutable Replay replay_;
  mutable long current_ = -1;
  mutable std::vector<double> x_;
};

// (x, lambda, mu) without memory of the forward pass.
class BacksolveField final : public VectorField {
 public:
  explicit BacksolveField(const Trajectory& trajectory)
      : trajectory_(trajectory), n_(trajectory.states()), np_(int(trajectory.parameters.width())) {}
  void enter(const Segment& segment) { row_ = segment.row; }

  int states() const override { return 2 * n_ + np_; }
  int parameters() const override { return 0; }
  std::size_t scratch_size() const override { return trajectory_.field->scratch_size(); }
  void value(double t, const double* z, const double* p, double* dz, double* scratch) const override;
  void jvp(double t, const double* z, const double* p, double t_dot, const double* z_dot, const double* p_dot,
           double* dz_dot, double* scratch) const override;
  void vjp(double t, const double* z, const double* p, const double* dz_bar, double* t_bar, double* z_bar,
           double* p_bar, double* scratch) const override;

 private:
  const Trajectory& trajectory_;
  int n_, np_, row_ = 0;
};

}  // namespace costate::ode
