// A model that tunes itself: state and parameters of a system from a stream of measurements, with error bars.
//
//   z = (x, theta)    x+ = step(x, u, theta) (+) w     theta+ = theta + d     y = h(x, theta) + e
//   w ~ N(0, W),  d ~ N(0, drift^2),  e ~ N(0, V)
//
// After each measurement the last `window` steps are estimated again: Gauss-Newton on
//
//   |z_0 (-) prior|^2 + sum |w|^2 + |d|^2 + |e|^2         each in its own covariance
//
// which is moving-horizon estimation [1]. An iteration is one pass of a Kalman filter and smoother that is
// linearised about the iteration before it [2]. The prior is what the filter predicted where the window
// begins. window = 0 is the extended Kalman filter.
//
// drift says how fast a parameter may change: with 0 it is a constant, known better and better; with more the
// twin forgets, and follows a change.
//
// [1] Rao, Rawlings, Mayne: Constrained state estimation for nonlinear discrete-time systems, IEEE Trans.
//     Automatic Control 48 (2003).
// [2] Bell: The iterated Kalman smoother as a Gauss-Newton method, SIAM J. Optimization 4 (1994).
// Tests: tests/control/twin_test.cpp.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "costate/control/plant.h"

namespace costate::control {

struct Tuned {
  std::string name;      // of a parameter; its first value is that of TwinProblem::parameters
  double deviation = 0;  // how far off the first value may be
  double drift = 0;      // standard deviation of its change per step
  double lower = -1e300, upper = 1e300;
  std::int64_t index = 0;  // of a field of several numbers: which
};

struct TwinProblem {
  std::shared_ptr<const System<double>> system;
  Parameters<double> parameters;  // of one world
  // Each number of a measurement, as a term of the final state: loss::expression(signature, "angle").
  std::vector<ObjectivePtr<double>> measured;
  std::vector<double> process_noise;      // W, tangents x tangents, per step
  std::vector<double> measurement_noise;  // V, the variance of each measured number
  std::vector<double> x0, P0;             // before the first measurement: states, tangents x tangents
  std::vector<Tuned> tuned;
  std::int64_t window = 0;
  int iterations = 1;  // of Gauss-Newton per measurement
  StateSpace space = StateSpace();
};

class Twin {
 public:
  // Error where sizes do not fit, and for a parameter that is not there.
  explicit Twin(TwinProblem problem);
  ~Twin();
  Twin(Twin&&) = delete;  // its model refers to it

  // What was measured before the first step. NaN: that number was not.
  void measure(const std::vector<double>& y);
  // A step with the control u, and what was measured after it; y empty: nothing was. Error for a measurement
  // that is infinite, and where the model diverges.
  void step(const std::vector<double>& u, const std::vector<double>& y);

  std::int64_t steps() const { return steps_; }
  const std::vector<double>& x() const;
  const std::vector<double>& values() const;  // of `tuned`, in its order
  std::vector<double> deviations() const;     // of these
  std::vector<double> covariance() const;     // of (tangents of x, tuned), square
  Parameters<double> parameters() const;      // with the latest values: to plan with
  // r'S^-1 r of the latest measurement per number measured: about 1 where the model and its noise are right.
  double surprise() const { return surprise_; }

 private:
  struct Knot;
  class Model;
  void estimate();

  TwinProblem problem_;
  std::unique_ptr<Model> model_;
  std::deque<Knot> window_;
  std::int64_t steps_ = 0;
  double surprise_ = 0;
};

}  // namespace costate::control
