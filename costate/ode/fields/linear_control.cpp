#include "costate/ode/fields/linear_control.h"

#include <algorithm>
#include <string>

#include "costate/core/error.h"

namespace costate::ode {

double LinearControl::position(double t, const double* row) const {
  const double a = row[np + 2 * nu], b = row[np + 2 * nu + 1];
  return (t - a) / (b - a);
}

double LinearControl::motion(double t, const double* row, double t_dot, const double* row_dot) const {
  const double s = position(t, row), length = row[np + 2 * nu + 1] - row[np + 2 * nu];
  const double a_dot = row_dot ? row_dot[np + 2 * nu] : 0.0, b_dot = row_dot ? row_dot[np + 2 * nu + 1] : 0.0;
  return (t_dot - (1 - s) * a_dot - s * b_dot) / length;
}

void LinearControl::value(double t, const double* row, double* pu) const {
  const double s = position(t, row);
  const double *u0 = row + np, *u1 = u0 + nu;
  std::copy_n(row, np, pu);
  for (int i = 0; i < nu; ++i) pu[np + i] = (1 - s) * u0[i] + s * u1[i];
}

void LinearControl::jvp(double t, const double* row, double t_dot, const double* row_dot,
                        double* pu_dot) const {
  const double s = position(t, row), s_dot = motion(t, row, t_dot, row_dot);
  const double *u0 = row + np, *u1 = u0 + nu;
  for (int i = 0; i < np; ++i) pu_dot[i] = row_dot ? row_dot[i] : 0.0;
  for (int i = 0; i < nu; ++i) {
    pu_dot[np + i] = s_dot * (u1[i] - u0[i]);
    if (row_dot) pu_dot[np + i] += (1 - s) * row_dot[np + i] + s * row_dot[np + nu + i];
  }
}

void LinearControl::vjp(double t, const double* row, const double* pu_bar, double* t_bar,
                        double* row_bar) const {
  const double s = position(t, row), length = row[np + 2 * nu + 1] - row[np + 2 * nu];
  const double *u0 = row + np, *u1 = u0 + nu, *u_bar = pu_bar + np;
  double q = 0;
  for (int i = 0; i < nu; ++i) q += u_bar[i] * (u1[i] - u0[i]);
  q /= length;
  *t_bar += q;
  if (!row_bar) return;
  for (int i = 0; i < np; ++i) row_bar[i] += pu_bar[i];
  for (int i = 0; i < nu; ++i) {
    row_bar[np + i] += (1 - s) * u_bar[i];
    row_bar[np + nu + i] += s * u_bar[i];
  }
  row_bar[np + 2 * nu] -= (1 - s) * q;
  row_bar[np + 2 * nu + 1] -= s * q;
}

void LinearControl::vjp_jvp(double t, const double* row, const double* pu_bar, double t_dot,
                            const double* row_dot, const double* pu_bar_dot, double* t_bar_dot,
                            double* row_bar_dot) const {
  const double s = position(t, row), s_dot = motion(t, row, t_dot, row_dot);
  const double length = row[np + 2 * nu + 1] - row[np + 2 * nu];
  const double length_dot = row_dot ? row_dot[np + 2 * nu + 1] - row_dot[np + 2 * nu] : 0.0;
  const double *u0 = row + np, *u1 = u0 + nu, *u_bar = pu_bar + np, *u_bar_dot = pu_bar_dot + np;
  double sum = 0, sum_dot = 0;
  for (int i = 0; i < nu; ++i) {
    const double rise_dot = row_dot ? row_dot[np + nu + i] - row_dot[np + i] : 0.0;
    sum += u_bar[i] * (u1[i] - u0[i]);
    sum_dot += u_bar_dot[i] * (u1[i] - u0[i]) + u_bar[i] * rise_dot;
  }
  const double q = sum / length, q_dot = (sum_dot - q * length_dot) / length;
  *t_bar_dot += q_dot;
  if (!row_bar_dot) return;
  for (int i = 0; i < np; ++i) row_bar_dot[i] += pu_bar_dot[i];
  for (int i = 0; i < nu; ++i) {
    row_bar_dot[np + i] += (1 - s) * u_bar_dot[i] - s_dot * u_bar[i];
    row_bar_dot[np + nu + i] += s * u_bar_dot[i] + s_dot * u_bar[i];
  }
  row_bar_dot[np + 2 * nu] -= (1 - s) * q_dot - s_dot * q;
  row_bar_dot[np + 2 * nu + 1] -= s * q_dot + s_dot * q;
}

namespace {

// value, jvp, vjp and vjp_jvp of F(t, x, (p, u(t))), where F is a VectorField or a Function. The scratch of F
// comes first, then four vectors of its parameters (values, tangents, cotangents and their rates) and one of
// its states.
template <class F>
struct Composed {
  const F& f;
  LinearControl control;

  int states() const { return f.states(); }
  int parameters() const { return control.width(); }
  std::size_t scratch_size() const { return f.scratch_size() + 4 * control.inner() + states(); }
  bool has_second_order() const { return f.has_second_order(); }
  double* vector(double* scratch, int i) const { return scratch + f.scratch_size() + i * control.inner(); }

  void value(double t, const double* x, const double* row, double* y, double* scratch) const {
    double* pu = vector(scratch, 0);
    control.value(t, row, pu);
    f.value(t, x, pu, y, scratch);
  }
  void jvp(double t, const double* x, const double* row, double t_dot, const double* x_dot,
           const double* row_dot, double* y_dot, double* scratch) const {
    double *pu = vector(scratch, 0), *pu_dot = vector(scratch, 1);
    control.value(t, row, pu);
    control.jvp(t, row, t_dot, row_dot, pu_dot);
    f.jvp(t, x, pu, t_dot, x_dot, pu_dot, y_dot, scratch);
  }
  void vjp(double t, const double* x, const double* row, const double* y_bar, double* t_bar, double* x_bar,
           double* row_bar, double* scratch) const {
    double *pu = vector(scratch, 0), *pu_bar = vector(scratch, 2);
    control.value(t, row, pu);
    std::fill_n(pu_bar, control.inner(), 0.0);
    f.vjp(t, x, pu, y_bar, t_bar, x_bar, pu_bar, scratch);
    control.vjp(t, row, pu_bar, t_bar, row_bar);
  }
  void vjp_jvp(double t, const double* x, const double* row, const double* y_bar, double t_dot,
               const double* x_dot, const double* row_dot, const double* y_bar_dot, double* t_bar_dot,
               double* x_bar_dot, double* row_bar_dot, double* scratch) const {
    double *pu = vector(scratch, 0), *pu_dot = vector(scratch, 1), *pu_bar = vector(scratch, 2),
           *pu_bar_dot = vector(scratch, 3), *x_ignored = vector(scratch, 4);
    control.value(t, row, pu);
    control.jvp(t, row, t_dot, row_dot, pu_dot);
    std::fill_n(pu_bar, 2 * control.inner(), 0.0);
    double ignored = 0;
    f.vjp(t, x, pu, y_bar, &ignored, x_ignored, pu_bar, scratch);
    f.vjp_jvp(t, x, pu, y_bar, t_dot, x_dot, pu_dot, y_bar_dot, t_bar_dot, x_bar_dot, pu_bar_dot, scratch);
    control.vjp_jvp(t, row, pu_bar, t_dot, row_dot, pu_bar_dot, t_bar_dot, row_bar_dot);
  }
};

template <class Base>
class Controlled : public FunctionOf<Base, Composed<Base>> {
 public:
  Controlled(const Base& f, LinearControl control) : FunctionOf<Base, Composed<Base>>({f, control}) {
    if (f.parameters() == control.inner()) return;
    throw Error({"a field or function takes " + std::to_string(f.parameters()) +
                     " parameters, where p and u are " + std::to_string(control.inner()),
                 "", "the field, guards, jumps and costs all take the parameters and then the controls"});
  }
};

class ControlledField final : public Controlled<VectorField> {
 public:
  using Controlled<VectorField>::Controlled;
  void jacobian(double t, const double* x, const double* p, double* f_x, double* scratch) const override {
    double* pu = f_.vector(scratch, 0);
    f_.control.value(t, p, pu);
    f_.f.jacobian(t, x, pu, f_x, scratch);
  }
  const std::vector<double>& mass() const override { return f_.f.mass(); }
};

class ControlledFunction final : public Controlled<Function> {
 public:
  ControlledFunction(std::shared_ptr<const Function> f, LinearControl control)
      : Controlled<Function>(*f, control), owned_(std::move(f)) {}
  int outputs() const override { return owned_->outputs(); }

 private:
  std::shared_ptr<const Function> owned_;
};

// Samples stand at fixed times, and u there moves with the knots alone.
class ControlledSamples final : public SampleCost {
 public:
  ControlledSamples(std::shared_ptr<const SampleCost> cost, int states, LinearControl control)
      : cost_(std::move(cost)), states_(states), control_(control) {}

  const std::vector<double>& times() const override { return cost_->times(); }
  double value(std::size_t k, const double* x, const double* row) const override {
    return cost_->value(k, x, at(k, row).data());
  }
  void gradient(std::size_t k, const double* x, const double* row, double* x_bar,
                double* row_bar) const override {
    std::vector<double> pu_bar(control_.inner(), 0.0);
    double ignored = 0;
    cost_->gradient(k, x, at(k, row).data(), x_bar, pu_bar.data());
    control_.vjp(times()[k], row, pu_bar.data(), &ignored, row_bar);
  }
  void gradient_jvp(std::size_t k, const double* x, const double* row, const double* x_dot,
                    const double* row_dot, double* x_bar_dot, double* row_bar_dot) const override {
    const std::vector<double> pu = at(k, row);
    std::vector<double> pu_dot(pu.size()), pu_bar(pu.size(), 0.0), pu_bar_dot(pu.size(), 0.0);
    std::vector<double> x_ignored(states_, 0.0);
    double ignored = 0;
    control_.jvp(times()[k], row, 0, row_dot, pu_dot.data());
    cost_->gradient(k, x, pu.data(), x_ignored.data(), pu_bar.data());
    cost_->gradient_jvp(k, x, pu.data(), x_dot, pu_dot.data(), x_bar_dot, pu_bar_dot.data());
    control_.vjp_jvp(times()[k], row, pu_bar.data(), 0, row_dot, pu_bar_dot.data(), &ignored, row_bar_dot);
  }

 private:
  std::vector<double> at(std::size_t k, const double* row) const {
    std::vector<double> pu(control_.inner());
    control_.value(times()[k], row, pu.data());
    return pu;
  }

  std::shared_ptr<const SampleCost> cost_;
  int states_;
  LinearControl control_;
};

}  // namespace

std::shared_ptr<const VectorField> with_linear_control(const VectorField& field, LinearControl control) {
  return std::make_shared<ControlledField>(field, control);
}

std::shared_ptr<const Function> with_linear_control(std::shared_ptr<const Function> function,
                                                    LinearControl control) {
  if (!function) return nullptr;
  return std::make_shared<ControlledFunction>(std::move(function), control);
}

Event with_linear_control(const Event& event, LinearControl control) {
  Event out = event;
  out.guard = with_linear_control(event.guard, control);
  out.jump = with_linear_control(event.jump, control);
  return out;
}

std::shared_ptr<const SampleCost> with_linear_control(std::shared_ptr<const SampleCost> cost, int states,
                                                      LinearControl control) {
  if (!cost) return nullptr;
  return std::make_shared<ControlledSamples>(std::move(cost), states, control);
}

}  // namespace costate::ode
