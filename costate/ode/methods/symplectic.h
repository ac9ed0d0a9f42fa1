// Splitting methods for second-order systems: x = (q, v) with q' = v and v' = a(t, q, p), q the first half of
// the states.
//
//   kick   v += kick_i  h a(t + tau_i h, q, p)          tau_i = sum of the drifts before it
//   drift  q += drift_i h v
//
//   symplectic Euler: kick 1, drift 1                    order 1
//   velocity Verlet:  kick 1/2, drift 1, kick 1/2        order 2 [1, I.1.4]
//   Yoshida:          three Verlet-like drift-kick pairs  order 4 [2]
//
// They are symplectic (and Verlet and Yoshida reversible) for accelerations that do not depend on v. One that
// does (friction) is accepted, evaluated at the current v, and lowers the order to 1. A field whose first
// half is not v is an Error. The transpose runs kicks and drifts backwards from the stored states before each
// kick. Dense output: the cubic through q and v at both ends, and its derivative for v.
//
// [1] Hairer, Lubich, Wanner: Geometric Numerical Integration, 2nd ed.  [2] Yoshida, Phys. Lett. A 150
// (1990).
// Tests: tests/ode/methods/symplectic_test.cpp.
#pragma once

#include <vector>

#include "costate/ode/methods/stepper.h"

namespace costate::ode {

struct Splitting {
  const char* name;
  int order, dense_order;
  struct Stage {
    double kick, drift;  // kick first
  };
  std::vector<Stage> stages;
};

const Splitting& symplectic_euler_splitting();
const Splitting& velocity_verlet_splitting();
const Splitting& yoshida4_splitting();

class SymplecticStepper final : public Stepper {
 public:
  SymplecticStepper(const Splitting& splitting, const VectorField& field);

  const char* name() const override { return splitting_.name; }
  int order() const override { return splitting_.order; }
  int error_order() const override { return 0; }
  int dense_order() const override { return splitting_.dense_order; }

  bool step(const StepInput& in, double* y, double* error) override;
  void interpolate(double theta, double* y) const override;
  void step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) override;
  void step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) override;
  void interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta, double theta_dot,
                       double* y_dot) override;
  void interpolate_vjp(const StepInput& in, double theta, const double* y_bar, const StepCotangent& in_bar,
                       double* theta_bar) override;

 private:
  void run_stages(const StepInput& in);
  void check_second_order(const double* x, const double* dx) const;

  const Splitting& splitting_;
  const VectorField& field_;
  const int n_, half_;
  double h_ = 0;
  std::vector<double> x_, y_;       // ends of the step taken last
  std::vector<double> before_, f_;  // [stage][state]: state before the kick, and f there
  std::vector<double> after_;       // [stage][half]: velocity after the kick
  std::vector<double> scratch_, seed_, dot_, bar_, f_dot_;
};

}  // namespace costate::ode
