// Step size control of adaptive methods.
//
//   h_new = h / clamp( err^(1/k - 3/4 beta) / err_old^beta / safety )        k = error_order + 1
//
// a proportional-integral controller (Gustafsson, ACM TOMS 17 (1991); Hairer, Norsett, Wanner I, II.4 and
// IV.2 of part II, code dopri5: beta = 0.04 for k = 5, 0 for order 8). err is the error norm relative to the
// tolerances: a step with err <= 1 is accepted. A step aims at err = safety^k; with 0.9 at order 8 that is so
// near 1 that a fifth of the steps fails, so safety is 0.8 there.
#pragma once

#include <algorithm>
#include <cmath>

namespace costate::ode {

class StepControl {
 public:
  explicit StepControl(int error_order)
      : beta_(error_order + 1 >= 8 ? 0.0 : 0.2 / (error_order + 1)),
        exponent_(1.0 / (error_order + 1) - 0.75 * beta_),
        safety_(error_order + 1 >= 8 ? 0.8 : 0.9) {}

  // Factor for the next step after an accepted one. No growth right after a rejection.
  double accept(double err) {
    const double integral = beta_ > 0 ? std::pow(old_, beta_) : 1.0;
    const double gain = std::pow(std::max(err, 1e-10), exponent_) / integral / safety_;
    const double factor = 1 / std::clamp(gain, 1 / kGrow, 1 / kShrink);
    old_ = std::max(err, 1e-4);
    const double limited = rejected_ ? std::min(factor, 1.0) : factor;
    rejected_ = false;
    return limited;
  }
  double reject(double err) {
    rejected_ = true;
    return 1 / std::clamp(std::pow(err, exponent_) / safety_, 1.0, 1 / kShrink);
  }
  // The step failed: stages did not converge, or a value was not finite.
  double fail() {
    rejected_ = true;
    return 0.25;
  }

 private:
  static constexpr double kShrink = 0.2, kGrow = 10;
  double beta_, exponent_, safety_, old_ = 1e-4;
  bool rejected_ = false;
};

}  // namespace costate::ode
