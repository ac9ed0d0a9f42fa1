// The loop that the gradient methods share: evaluate, test for the end, advance, report. A method supplies
// `advance`.
#pragma once

#include "costate/core/text.h"
#include "costate/optim/minimize.h"

namespace costate::optim {

// What a change of each variable is measured by, and one of the value.
struct Scale {
  std::vector<double> x;
  double value;
};
// Of a problem about which nothing else is known: the numbers themselves, where they are large.
Scale scale_of(const DescentState& state);
using ScaleFunction = std::function<Scale(const DescentState& state)>;

// Evaluations of the objective that are counted and tested for finiteness.
class Evaluator {
 public:
  Evaluator(const Objective& objective, const Bounds& bounds, int n);
  // False: the value or the gradient is not finite.
  bool operator()(DescentState& state, const std::vector<double>& x, double& value,
                  std::vector<double>& gradient) const;
  void project(std::vector<double>& x) const;
  double lower(int i) const { return bounds_.lower.empty() ? -kInfinity : bounds_.lower[i]; }
  double upper(int i) const { return bounds_.upper.empty() ? kInfinity : bounds_.upper[i]; }
  double gradient_norm(const std::vector<double>& x, const std::vector<double>& gradient) const;
  double gradient_norm(const DescentState& state) const { return gradient_norm(state.x, state.gradient); }
  // The same of value / scale.value as a function of x / scale.x.
  double gradient_norm(const DescentState& state, const Scale& scale) const;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Objective& objective_;
  const Bounds& bounds_;
};

// Moves state.x, value and gradient one iteration on. No failure: done; otherwise why no step was found.
struct Advance {
  Stop stop = Stop::iterations;
  std::string failure;
};
using AdvanceFunction = std::function<Advance(DescentState& state, const Evaluator& evaluate)>;

// Done where gradient_norm is small, and small in units of `scale`, too: that of variables of size 1e12 is
// small everywhere.
Result descend(const Objective& objective, const std::vector<double>& x0, const Bounds& bounds,
               const Stopping& stopping, const Callback& callback, DescentState& state,
               const AdvanceFunction& advance, const ScaleFunction& scale = scale_of);

// How exact the values of an objective are, seen in a search that found no step. Over short steps a value
// that is exact does what the slope says. One that is known to some digits keeps surprising by their size,
// however short the step. A trial that promises P and misses it by S, because the function is curved, leaves
// P^2 / (4 S) to gain at best: the least of -P t + S t^2.
class Accuracy {
 public:
  // A trial: the decrease that the slope promised, and by how much the value missed it.
  void note(double promised, double surprise);
  // Why no step was found. `otherwise`: what is wrong if the accuracy does not explain it.
  Advance explain(double gradient_norm, const std::string& otherwise) const;

 private:
  struct Trial {
    double promised, surprise;
  };
  std::vector<Trial> trials_;
};

// Two values whose difference says nothing: close to a minimum the gradient still has digits when the value
// has none left.
bool equal_to_round_off(double a, double b);

}  // namespace costate::optim
