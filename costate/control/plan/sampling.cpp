#include "costate/control/plan/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "costate/control/plan/constrained.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/core/text.h"
#include "costate/system/block_memory.h"

namespace costate::control {
namespace {

void check(const SamplingOptions& o, std::size_t controls) {
  if (o.samples < 2) throw Error("sampling needs at least two samples");
  if (o.iterations < 1 || o.hold < 1)
    throw Error("sampling needs at least one iteration, and hold = 1 or more");
  if (o.sigma.size() != 1 && o.sigma.size() != controls)
    throw Error("sigma has " + std::to_string(o.sigma.size()) + " numbers instead of 1 or " +
                std::to_string(controls));
  for (const double sigma : o.sigma)
    if (!(sigma > 0)) throw Error("sigma must be positive: it is how far samples spread");
  if (o.method == Sampling::mppi && !(o.temperature > 0)) throw Error("the temperature must be positive");
  if (o.method == Sampling::cem && !(o.elites > 0 && o.elites <= 1))
    throw Error("elites is a share of the samples, between 0 and 1");
}

}  // namespace

Sampler::Sampler(Problem problem, SamplingOptions options)
    : problem_(std::move(problem)), options_(std::move(options)) {
  control::check(problem_);
  const auto m = std::size_t(problem_.system->signature().controls());
  check(options_, m);
  if (!problem_.constraints.empty())
    throw Error({"sampling meets bounds of the controls, but no other constraints",
                 {},
                 "add a price for their violation to the objective, or plan by iLQR"});
  RolloutOptions rollout{.steps = problem_.steps,
                         .worlds = options_.samples,
                         .hold = options_.hold,
                         .keep = 1,
                         .active = {},
                         .seed = problem_.seed,
                         .on_divergence = OnDivergence::mask_world};
  many_ = std::make_unique<Rollout<double>>(problem_.system, rollout);
  rollout.worlds = 1;
  one_ = std::make_unique<Rollout<double>>(problem_.system, rollout);
  mean_.resize(std::size_t(many_->knots()) * m), sigma_.resize(mean_.size());
  at_.parameters = problem_.parameters;
}
Sampler::~Sampler() = default;

// Sample 0 is the mean itself.
void Sampler::draw(int iteration) {
  const auto m = std::size_t(problem_.system->signature().controls()), size = mean_.size();
  at_.controls.resize(size * std::size_t(options_.samples));
  parallel_for(options_.samples, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double* to = &at_.controls[std::size_t(i) * size];
      for (std::size_t j = 0; j < size; ++j) {
        const double noise =
            i == 0 ? 0 : normal(options_.seed, std::uint64_t(i), std::uint64_t(iteration), std::uint32_t(j));
        to[j] = mean_[j] + sigma_[j] * noise;
        if (!problem_.lower.empty()) to[j] = std::max(to[j], problem_.lower[j % m]);
        if (!problem_.upper.empty()) to[j] = std::min(to[j], problem_.upper[j % m]);
      }
    }
  });
}

void Sampler::weigh(const std::vector<double>& values) {
  const auto size = mean_.size();
  double least = HUGE_VAL;
  for (const double value : values)
    if (finite_bits(value)) least = std::min(least, value);
  double sum = 0, squares = 0;
  std::vector<double> next(size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!finite_bits(values[i])) continue;
    const double w = std::exp(-(values[i] - least) / options_.temperature);
    sum += w, squares += w * w;
    for (std::size_t j = 0; j < size; ++j) next[j] += w * at_.controls[i * size + j];
  }
  for (std::size_t j = 0; j < size; ++j) mean_[j] = next[j] / sum;
  effective_ = sum * sum / squares;
}

// The mean of the best samples, and for cem their spread. predictive: the best one.
void Sampler::keep_elites(const std::vector<double>& values) {
  const auto size = mean_.size();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (finite_bits(values[i])) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const bool best_alone = options_.method == Sampling::predictive;
  const auto wanted = best_alone ? 1 : std::size_t(std::ceil(options_.elites * double(values.size())));
  order.resize(std::min(order.size(), std::max<std::size_t>(best_alone ? 1 : 2, wanted)));
  const double count = double(order.size());
  for (std::size_t j = 0; j < size; ++j) {
    double mean = 0, square = 0;
    for (const std::size_t i : order) mean += at_.controls[i * size + j] / count;
    for (const std::size_t i : order) square += std::pow(at_.controls[i * size + j] - mean, 2) / count;
    mean_[j] = mean;
    if (!best_alone) sigma_[j] = std::sqrt(square);
  }
  effective_ = count;
}

Plan Sampler::plan(const std::vector<double>& x0, const std::vector<double>& controls) {
  const auto m = std::size_t(problem_.system->signature().controls()), N = std::size_t(problem_.steps);
  if (controls.size() != m && controls.size() != N * m)
    throw Error("the controls to start from have " + std::to_string(controls.size()) +
                " numbers instead of " + std::to_string(m) + " or " + std::to_string(N * m));
  for (std::size_t j = 0; j < mean_.size(); ++j) {
    const std::size_t step = std::min(j / m * std::size_t(options_.hold), N - 1);
    mean_[j] = controls[controls.size() == m ? j % m : step * m + j % m];
    sigma_[j] = options_.sigma[options_.sigma.size() == 1 ? 0 : j % m];
  }
  at_.x0 = x0;
  const auto late = options_.budget_s > 0 ? deadline(options_.budget_s) : std::function<bool()>();
  Plan result;
  for (int i = 0; i < options_.iterations; ++i) {
    if (late && late()) {
      result.outcome = Outcome::budget;
      break;
    }
    draw(int(drawn_++));
    const std::vector<double> values = many_->values(at_, *problem_.objective);
    if (std::none_of(values.begin(), values.end(), finite_bits<double>))
      throw Error({"every sample diverged", "control::Sampler", "reduce sigma, or start from other controls"},
                  Error::Kind::numerics);
    if (options_.method == Sampling::mppi)
      weigh(values);
    else
      keep_elites(values);
    ++result.iterations;
  }
  Arguments<double> best{x0, mean_, problem_.parameters};
  result.value = one_->value(best, *problem_.objective);
  result.x = one_->simulate(best).states;
  for (std::size_t k = 0; k < N; ++k)
    for (std::size_t i = 0; i < m; ++i) result.u.push_back(mean_[k / std::size_t(options_.hold) * m + i]);
  result.reason =
      std::to_string(result.iterations) + " iterations, effective samples " + number(effective_, 3);
  return result;
}

Plan plan(const Problem& problem, const std::vector<double>& controls, const SamplingOptions& options) {
  return Sampler(problem, options).plan(problem.x0, controls);
}

}  // namespace costate::control
