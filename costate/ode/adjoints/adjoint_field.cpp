#include "costate/ode/adjoints/adjoint_field.h"

#include <algorithm>

#include "costate/core/error.h"

namespace costate::ode {
namespace {

[[noreturn]] void not_available(const char* what) {
  throw Error(
      {std::string("the continuous adjoint has no ") + what, "", "use the discrete adjoint (ode::gradient)"});
}

// dz = -(f_x' lambda, f_p' lambda)
void adjoint_rates(const Trajectory& tr, int row, double t, const double* x, const double* lambda, double* dz,
                   double* scratch) {
  const int n = tr.states(), size = n + int(tr.parameters.width());
  double t_bar = 0;
  std::fill(dz, dz + size, 0.0);
  tr.field->vjp(t, x, tr.parameters.row(row), lambda, &t_bar, dz, dz + n, scratch);
  for (int i = 0; i < size; ++i) dz[i] = -dz[i];
}

}  // namespace

InterpolatingField::InterpolatingField(const Trajectory& trajectory)
    : trajectory_(trajectory),
      n_(trajectory.states()),
      np_(int(trajectory.parameters.width())),
      replay_(trajectory),
      x_(trajectory.states()) {}

const double* InterpolatingField::state_at(double t) const {
  const long k = std::clamp(replay_.step_at(t), segment_.first, segment_.last);
  const StepInput in = replay_.input(k);
  if (in.h != 0 && k == current_) {
    replay_.stepper().interpolate((t - in.t) / in.h, x_.data());
    return x_.data();
  }
  current_ = in.h != 0 ? k : -1;
  replay_.interpolate(in, in.h != 0 ? (t - in.t) / in.h : 0, x_.data());
  return x_.data();
}

void InterpolatingField::value(double t, const double* z, const double*, double* dz, double* scratch) const {
  adjoint_rates(trajectory_, segment_.row, t, state_at(t), z, dz, scratch);
}

void InterpolatingField::jvp(double t, const double*, const double*, double t_dot, const double* z_dot,
                             const double*, double* dz_dot, double* scratch) const {
  if (t_dot != 0) not_available("derivative by time: implicit methods that need one cannot integrate it");
  std::fill(dz_dot, dz_dot + n_ + np_, 0.0);
  if (z_dot) adjoint_rates(trajectory_, segment_.row, t, state_at(t), z_dot, dz_dot, scratch);
}

void InterpolatingField::vjp(double, const double*, const double*, const double*, double*, double*, double*,
                             double*) const {
  not_available("transpose");
}

void BacksolveField::value(double t, const double* z, const double*, double* dz, double* scratch) const {
  trajectory_.field->value(t, z, trajectory_.parameters.row(row_), dz, scratch);
  adjoint_rates(trajectory_, row_, t, z, z + n_, dz + n_, scratch);
}

void BacksolveField::jvp(double, const double*, const double*, double, const double*, const double*, double*,
                         double*) const {
  not_available("tangent: integrate it with an explicit method");
}

void BacksolveField::vjp(double, const double*, const double*, const double*, double*, double*, double*,
                         double*) const {
  not_available("transpose");
}

}  // namespace costate::ode
