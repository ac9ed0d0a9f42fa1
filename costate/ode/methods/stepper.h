// Stepper: one step of a method, as a map and its transpose.
//
//   y = step(t, h, x, p)                                    an error estimate and an interpolant come with it
//   y_dot = step_jvp(...; t_dot, h_dot, x_dot, p_dot)
//   t_bar, h_bar, x_bar, p_bar += step_vjp(...; y_bar)
//
// The derivatives are those of the step as it was taken (stages recomputed from its inputs), with h an
// ordinary input: the discrete adjoint of a solution replays its accepted steps, and saltation terms at
// events need d step / d h. Implicit stages are differentiated by the implicit function theorem at the
// converged stage, never by unrolling Newton.
//
// A multistep method is a one-step method of its memory: what it carries from step to step follows the
// state, in x and in y, and has derivatives like the state. Zeros are no memory: at the start, and after a
// jump.
//
// The interpolant at theta in [0, 1] is the method's dense output of the step (t, h, x, p); theta is an input
// as well.
#pragma once

#include <memory>

#include "costate/ode/fields/vector_field.h"

namespace costate::ode {

// A step's inputs.
struct StepInput {
  double t, h;
  const double* x;  // the state, and the memory
  const double* p;
};
struct StepTangent {
  double t, h;
  const double* x;  // null: zero
  const double* p;  // null: zero
};
struct StepCotangent {  // added to
  double* t;
  double* h;
  double* x;
  double* p;  // null: not wanted
};

class Stepper {
 public:
  virtual ~Stepper() = default;

  virtual const char* name() const = 0;
  virtual int order() const = 0;        // of the solution that is propagated
  virtual int error_order() const = 0;  // local error estimate is O(h^(error_order + 1)); 0: fixed step only
  virtual int dense_order() const = 0;  // of the interpolant
  virtual bool implicit() const { return false; }
  virtual int memory() const { return 0; }  // numbers that follow the state

  // y and, if the method has an estimate, error = y - y_embedded. False: the implicit stages did not converge
  // (the caller takes a shorter step). Keeps what the interpolant needs until the next call.
  virtual bool step(const StepInput& in, double* y, double* error) = 0;
  // After that step was accepted, with an error norm of err (relative to scale): the factor of the next
  // step's length. May change the memory in y (its order). `factor` is what step_control.h proposes.
  virtual double settle(double* /*y*/, const double* /*scale*/, int /*components*/, double /*err*/,
                        double factor) {
    return factor;
  }
  // f(t, x) is known, where a step may start: spares an evaluation.
  virtual void know_rate(double /*t*/, const double* /*x*/, const double* /*f*/) {}
  // After it was rejected, with an error norm of err.
  virtual double shrink(double /*err*/, double factor) { return factor; }
  // Whether interpolate() and the derivatives know this step without computing it again.
  virtual bool holds(const StepInput& /*in*/) const { return false; }
  // Whether the stages of every step are kept: the way to them began at the step before, and cannot be gone
  // again.
  virtual bool needs_stages() const { return memory() > 0; }
  // Interpolant of the step taken last.
  virtual void interpolate(double theta, double* y) const = 0;

  virtual void step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) = 0;
  virtual void step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) = 0;

  // The stages of the step taken last, as numbers that load_stages takes back. They spare the derivatives of
  // that step what they would compute again, and change no bit of them. 0: the method keeps none.
  virtual std::size_t stage_size() const { return 0; }
  virtual void save_stages(double* /*stages*/) const {}
  virtual void load_stages(const StepInput& /*in*/, const double* /*stages*/) {}

  // The interpolant as a map of (in, theta).
  virtual void interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta, double theta_dot,
                               double* y_dot) = 0;
  virtual void interpolate_vjp(const StepInput& in, double theta, const double* y_bar,
                               const StepCotangent& in_bar, double* theta_bar) = 0;

  // Size of the last step's error over the first `components` states, relative to scale: the root mean square
  // of error / scale, unless the method combines several estimates. (Trailing states may be left out of error
  // control.)
  virtual double error_norm(const double* error, const double* scale, int components) const;

  // Forward tangents of step_vjp and interpolate_vjp, for Hessian-vector products: with their inputs moving
  // along the *_dot, adds the rates of the cotangents. Where has_second_order() is false they throw an Error
  // that says so.
  virtual bool has_second_order() const { return false; }
  virtual void step_vjp_jvp(const StepInput& in, const StepTangent& in_dot, const double* y_bar,
                            const double* y_bar_dot, const StepCotangent& in_bar_dot);
  virtual void interpolate_vjp_jvp(const StepInput& in, const StepTangent& in_dot, double theta,
                                   double theta_dot, const double* y_bar, const double* y_bar_dot,
                                   const StepCotangent& in_bar_dot, double* theta_bar_dot);

  // Evaluations of f, of its Jacobian, and factorisations since construction.
  struct Counts {
    long rhs = 0, jacobians = 0, factorisations = 0, newton_iterations = 0;
  };
  const Counts& counts() const { return counts_; }

 protected:
  Counts counts_;
};

}  // namespace costate::ode
