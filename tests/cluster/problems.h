// Jobs whose bits every executor must agree about: rigid bodies with contact, worlds that diverge and are
// masked, an ensemble of equations, and an identification. Their worlds are not divisible by their blocks.
#pragma once

#include <cmath>

#include "costate/cluster/rollout_job.h"
#include "costate/io/model/load_model.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/rigid/rigid_system.h"
#include "tests/cluster/toy_job.h"

namespace costate::cluster::test {

struct Problem {
  std::string name;
  std::shared_ptr<const Job> job;
  std::vector<double> theta;
  bool fit = false;  // least squares
};

// One start per world, 13 worlds in blocks of 3.
inline Problem of_rollouts(const std::string& name, std::shared_ptr<const System<double>> system,
                           std::int64_t steps, const std::vector<double>& start, const std::string& field,
                           const std::string& variables, std::vector<std::int64_t> diverge = {}) {
  RolloutOptions options{.steps = steps, .worlds = 13};
  if (!diverge.empty()) options.on_divergence = OnDivergence::mask_world;
  Arguments<double> arguments = Rollout<double>(system, options).arguments();
  arguments.x0.clear();
  for (std::int64_t w = 0; w < options.worlds; ++w) {
    arguments.x0.insert(arguments.x0.end(), start.begin(), start.end());
    arguments.x0[arguments.x0.size() - start.size() + 1] += 0.01 * double(w);
  }
  for (const std::int64_t w : diverge) arguments.x0[std::size_t(w) * start.size()] = 1e200;
  const auto loss = loss::final<double>(system->signature(), field, {});
  return {name, rollout_job(system, options, arguments, loss, {.block = 3, .variables = {variables}}),
          start_of(arguments, {variables})};
}

// Eleven recordings of a driven Van der Pol oscillator, seen at the end of each, in blocks of 4.
class Recordings final : public Job {
 public:
  Partition partition() const override { return {11, 4}; }
  std::string identity() const override { return "recordings"; }
  Part part(const std::vector<double>& theta, const Block& block, Want) const override {
    const auto system = ode::van_der_pol<double>(ode::Integrator::rk4, 0.02);
    std::vector<double> r, J;
    for (std::int64_t w = block.first; w < block.first + block.count; ++w) {
      Rollout<double> rollout(system, {.steps = 40 + 5 * w});
      const auto y = loss::final_value<double>(system->signature(), "y");
      const auto seen = rollout.value(at(rollout, {0.8, 0.5, 1.3}), *y);
      const auto g = rollout.value_and_gradient(at(rollout, theta), *y);
      r.push_back(g.value - seen - 1e-3 * normal(5, std::uint32_t(w), 0));
      for (const char* name : kNames) J.push_back(g.parameters[name][0]);
    }
    Part part;
    add_residuals(part, 3, int(r.size()), r.data(), J.data());
    return part;
  }

 private:
  static constexpr const char* kNames[] = {"mu", "amplitude", "frequency"};
  static Arguments<double> at(const Rollout<double>& rollout, const std::vector<double>& theta) {
    Arguments<double> arguments = rollout.arguments();
    arguments.x0 = {1.0, 0.2};
    for (std::size_t i = 0; i < theta.size(); ++i) arguments.parameters.set(kNames[i], theta[i]);
    return arguments;
  }
};

inline std::vector<Problem> problems(const std::string& hopper_file) {
  const rigid::Model hopper = rigid::load(hopper_file);
  // Who does not touch the floor does not feel its friction.
  return {of_rollouts("contact", rigid::make_system<double>(hopper), 150, rigid::initial_state(hopper), "v",
                      "geom/*/friction"),
          of_rollouts("pendulums", ode::pendulum<double>(ode::Integrator::rk4, 0.01), 100, {0.3, 0.0}, "q",
                      "gravity"),
          of_rollouts("masks", ode::van_der_pol<double>(ode::Integrator::rk4, 0.02), 50, {0.3, 0.0}, "y",
                      "mu", {4, 9, 10, 11}),
          {"identification", std::make_shared<Recordings>(), {1.0, 0.4, 1.2}, true}};
}

// Everything that a pool says about a problem, to the last bit: value and gradient, a generation of CMA-ES
// and the masked worlds; of a fit the best point and its covariance.
inline std::string all_bits(Pool& pool, const Problem& p) {
  if (p.fit) {
    const LeastSquares fit = pool.least_squares(*p.job, p.theta);
    return fingerprint(Writer().numbers(fit.result.x).numbers(fit.covariance).bytes());
  }
  const optim::Result best =
      optim::minimize(pool.values(*p.job, p.theta.size()), p.theta,
                      optim::CmaEsOptions{.sigma = 0.01, .population = 4, .stopping = {.max_iterations = 2}});
  return bits(pool.value_and_grad(*p.job, p.theta)) + fingerprint(Writer().numbers(best.x).bytes());
}

}  // namespace costate::cluster::test
