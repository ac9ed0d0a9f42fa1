// The gradient of an average: d E[L] / dp for a System with noise, by one of several estimators.
//
//   method        estimates                     needs                          bias      variance
//   pathwise      finite horizon                a loss without jumps           none      grows with chaos
//   forward       the same, in forward mode     the same                       none      the same
//   girsanov      finite horizon                a score of the step            none      grows with time
//   reinforce     equilibrium                   Boltzmann, a loss of one time  burn-in   that of L dU/dp
//   reweighting   equilibrium, from samples     the same, and overlap          O(1/n)    1 / effective n
//                 at other parameters
//   implicit      a fixed point                 no noise, a contraction        none      none
//   differences   finite horizon                nothing                        O(h^2)    O(1/h) where L jumps
//   continuous    finite horizon                a loss without jumps           O(dt)     grows with chaos
//   first_order   finite horizon, of the loss   a loss without jumps           O(s^2)    that of the slopes
//   zeroth_order  smoothed by a normal density  nothing                        O(s^2)    1/s^2; 1/s at jumps
//   mixed_order   of the parameters, width s    nothing                        O(s^2)    the smaller one
//
// All return value, gradient and the standard errors of both, from samples that are worlds of their own
// noise. `automatic` tries pathwise and girsanov on a few samples and says why it chose; where there is no
// path score and pathwise has no signal (adjoints have outgrown it, or the loss jumps), it takes mixed_order.
//
// Score function: d E[L] = E[dL/dp + (L - b) d log p / dp]. A running loss sum_k l_k pairs every l_k with the
// score of the steps before k alone; b is the mean of l_k, or the one that makes the variance least, both
// from an independent pilot run, so that the estimate stays unbiased.
//
// Methods: pathwise.cpp, girsanov.cpp, equilibrium.cpp, fixed_point.cpp, differences.cpp, continuous.cpp,
// smoothed.cpp.
// Tests: tests/estimate/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "costate/system/rollout.h"

namespace costate::estimate {

enum class Method {
  automatic,
  pathwise,
  forward,
  girsanov,
  reinforce,
  reweighting,
  implicit,
  differences,
  continuous,
  first_order,
  zeroth_order,
  mixed_order
};
const std::vector<std::string>& method_names();
const std::string& to_string(Method method);
Method method_by_name(const std::string& name);  // throws Error

enum class Baseline { none, mean, optimal };

struct Sampling {
  Method method = Method::automatic;
  std::int64_t samples = 4096;                   // worlds
  std::vector<std::string> parameters = {"**"};  // with respect to which, as globs
  // girsanov. (Equilibrium's scores have their own mean taken off: there every baseline gives the same.)
  Baseline baseline = Baseline::mean;
  // girsanov: d log p0(x0) / dp of every sample, samples x numbers, where the start was drawn from a density
  // that depends on the parameters; empty: it does not.
  std::vector<double> initial_score = {};
  std::int64_t every = 0;    // reinforce, reweighting: also samples every so many steps after half of them
  double difference = 1e-3;  // relative step of differences
  double sigma =
      0.01;  // first_order, zeroth_order, mixed_order: width of the smoothing, relative to the numbers
  // reweighting: the parameters that the samples are drawn at; and the least share of effective samples.
  std::vector<std::pair<std::string, std::vector<double>>> reference = {};
  double least_effective_share = 0.05;
};

struct Sampled {
  Method method = Method::pathwise;
  std::string label = {};   // what is estimated, and with which bias
  std::string reason = {};  // of `automatic`
  double value = 0, value_error = 0;
  std::vector<std::string> names = {};  // "double_well/a", "mass[1]"
  std::vector<double> gradient = {}, standard_error = {};
  std::int64_t samples = 0;
  double effective_samples = 0;
  double correlation_time = 0;    // of one long series, in samples; 0: the samples are independent
  double growth_rate = 0;         // of adjoints per step, where it is known
  std::int64_t memory_bytes = 0;  // that grow with the steps: states and tapes of a block
  std::vector<std::string> advice = {};

  std::string to_text() const;
};

// E[L] of one world: options.worlds must be 1; options.seed is that of the noise. `at` holds one start for
// all samples, or one per sample.
template <class Real>
Sampled gradient(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                 const Arguments<Real>& at, const Objective<Real>& objective, const Sampling& sampling);

// The parameters with respect to which a method has an answer, for who asks for all of them; all where it has
// none, so that gradient() says why.
template <class Real>
std::vector<std::string> answered_parameters(const System<Real>& system, Method method);

// The mean time until a number of the state first reaches a level, and its gradient by the path score. With
// `before` instead the committor: the chance to reach the level before the other one, which lies on the other
// side.
struct FirstPassage {
  std::string field = "x";
  std::int64_t index = 0;
  double level = 0;
  bool upwards = true;
  std::optional<double> before = {};
};
template <class Real>
Sampled first_passage(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                      const Arguments<Real>& at, const FirstPassage& event, double dt,
                      const Sampling& sampling);

extern template Sampled gradient(std::shared_ptr<const System<float>>, RolloutOptions,
                                 const Arguments<float>&, const Objective<float>&, const Sampling&);
extern template Sampled gradient(std::shared_ptr<const System<double>>, RolloutOptions,
                                 const Arguments<double>&, const Objective<double>&, const Sampling&);

}  // namespace costate::estimate
