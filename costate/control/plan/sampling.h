// Planning without derivatives: many rollouts with random controls, in the same interface as ddp.h.
//
//   U_i = U + e_i,  e_i ~ N(0, sigma^2),  S_i = J(U_i)    samples are worlds of one Rollout; bounds clip them
//
//   mppi         U <- sum w_i U_i,  w_i ~ exp(-(S_i - min S) / temperature)    [1]
//   predictive   U <- the best of the samples and U itself    [2]
//   cem          U <- mean of the best `elites`; sigma <- their spread, per step and control    [3]
//
// For a quadratic J = 1/2 U'HU + g'U the mean of mppi over infinitely many samples is
// (sigma^-2 + H/temperature)^-1 (sigma^-2 U - g/temperature); the error falls with the root of the number of
// samples. The effective sample size 1/sum w^2 says how many samples count: near 1, the temperature is too
// low or sigma too wide.
//
// Noise comes from (seed, iteration, sample, number) by Philox: the same bits for any number of threads. A
// sample that diverges counts for nothing.
//
// [1] Williams, Aldrich, Theodorou: Model predictive path integral control, J. Guid. Control Dyn. 40 (2017).
// [2] Howell et al.: Predictive sampling: real-time behaviour synthesis with MuJoCo (2022).
// [3] de Boer, Kroese, Mannor, Rubinstein: A tutorial on the cross-entropy method (2005).
// Tests: tests/control/sampling_test.cpp.
#pragma once

#include "costate/control/problem.h"
#include "costate/system/rollout.h"

namespace costate::control {

enum class Sampling { mppi, predictive, cem };

struct SamplingOptions {
  Sampling method = Sampling::mppi;
  std::int64_t samples = 256;
  int iterations = 10;
  std::vector<double> sigma = {1};  // one for all controls, or one per control
  double temperature = 1;           // mppi, in units of the objective
  double elites = 0.1;              // cem: share of the samples
  std::int64_t hold = 1;            // steps that share a control
  std::uint64_t seed = 0;
  double budget_s = 0;  // 0: none
};

class Sampler {
 public:
  // Error for constraints: bounds are met, other constraints belong into the objective.
  Sampler(Problem problem, SamplingOptions options);
  ~Sampler();

  // From controls to start with: steps x controls, or `controls` numbers for all steps. The plan has no
  // gains.
  Plan plan(const std::vector<double>& x0, const std::vector<double>& controls);
  // Of the last iteration.
  double effective_samples() const { return effective_; }

 private:
  void draw(int iteration);
  void weigh(const std::vector<double>& values);
  void keep_elites(const std::vector<double>& values);

  Problem problem_;
  SamplingOptions options_;
  std::unique_ptr<Rollout<double>> many_, one_;
  Arguments<double> at_;
  std::vector<double> mean_, sigma_;  // knots x controls
  double effective_ = 0;
  std::int64_t drawn_ = 0;  // iterations of all plans: each has noise of its own
};

Plan plan(const Problem& problem, const std::vector<double>& controls, const SamplingOptions& options);

}  // namespace costate::control
