// A trajectory with its derivatives with respect to its first state and to some parameters, a step at a time:
//
//   X_{k+1} = A X_k + [0 F],   z_by = H X + [0 h_p]      X: states x (states + parameters),  F = d step / d p
//
// Each column of A and F is a tangent of the step, columns as lanes.
#pragma once

#include "costate/control/dense.h"
#include "costate/control/filter/moments.h"

namespace costate::control {

class Sensitivity {
 public:
  // numbers: places of the parameters among all of the system's.
  Sensitivity(const std::shared_ptr<const System<double>>& system, const Parameters<double>& parameters,
              const std::vector<ObjectivePtr<double>>& measured, std::vector<std::int64_t> numbers);

  void start(const std::vector<double>& x, bool derivatives);
  void step(std::int64_t k, const std::vector<double>& u);
  void measure();

  double x(int i) const { return x_(i, 0); }
  double z(int j) const { return z_[j]; }
  Vector state() const { return x_.col(0); }
  const Matrix& state_by() const { return X_; }  // with respect to the first state, then to the parameters
  const double* x_by(int i) const { return X_.row(i).data(); }
  const double* z_by(int j) const { return Z_.row(j).data(); }
  Lanes& lanes() { return lanes_; }

 private:
  Lanes lanes_;
  std::vector<std::int64_t> numbers_;
  Matrix x_, X_, Z_;
  Vector z_;
  bool derivatives_ = false;
};

}  // namespace costate::control
