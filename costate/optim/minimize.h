// What every optimiser shares: the objective, bounds, when to stop, what is reported, and the state from
// which a run resumes.
//
//   Result minimize(objective, x0, <Method>Options, <Method>State* = nullptr)
//
// is one overload per method (gradient_descent.h, adam.h, lbfgs.h; levenberg_marquardt.h takes residuals).
// All of them
//   - are deterministic: the same inputs give the same bits;
//   - keep the best point seen and return it;
//   - step back from points where the value or the gradient is not finite, and say so if that does not help;
//   - keep x inside the bounds at every evaluation (x0 is moved inside first).
// With a state, a run continues where the state left off (x0 is then ignored) and leaves its own state
// behind: stopping and resuming gives the same bits as one run. max_iterations counts all iterations of the
// state.
//
// Tests: tests/optim/.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace costate::optim {

// The value at x; writes the gradient.
using Objective = std::function<double(const double* x, double* gradient)>;

struct Bounds {  // an empty vector: unbounded on that side
  std::vector<double> lower = {}, upper = {};
};

struct Progress {
  int iteration;
  double value;
  double gradient_norm;  // largest component of x - projection(x - gradient): the gradient itself where no
                         // bound is near
  double step;           // largest change of a component of x in this iteration
  long evaluations;
};
// False stops the run.
using Callback = std::function<bool(const Progress&)>;

struct Stopping {
  int max_iterations = 1000;
  double gradient_tolerance = 1e-8;  // of gradient_norm, as it is and in units of the variables and the value
  double value_tolerance = 0;        // of the relative decrease in one iteration; 0: off
  double target = -std::numeric_limits<double>::infinity();  // a value that is good enough
};

enum class Stop { gradient, value, target, iterations, callback, no_descent, not_finite };

struct Result {
  std::vector<double> x;  // the best point seen
  double value = 0;
  double gradient_norm = 0;  // at the last point
  int iterations = 0;
  long evaluations = 0;
  Stop stop = Stop::iterations;
  std::string reason;  // in words: "gradient norm 3e-09 below 1e-08"
  bool converged() const { return stop == Stop::gradient || stop == Stop::value || stop == Stop::target; }
};

// Plain data, to be stored and given back.
struct DescentState {
  int iteration = 0;
  long evaluations = 0;
  double value = 0;
  std::vector<double> x, gradient;
  double best_value = 0;
  std::vector<double> best_x;
};

}  // namespace costate::optim
