#include "costate/system/estimators.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/core/text.h"

namespace costate::estimate {
namespace {

// One array of inputs that is perturbed: the centre, and the standard deviation of each number.
struct Perturbed {
  enum class Where { x0, controls, parameter } where;
  std::size_t field = 0;  // of a parameter
  std::string name;
  std::vector<double> centre, sigma;
};

template <class Real>
std::vector<Perturbed> perturbed_inputs(const Signature& signature, const Arguments<Real>& at,
                                        const Smoothing& smoothing) {
  std::vector<Perturbed> list;
  const auto add = [&](Perturbed::Where where, std::size_t field, const std::string& name,
                       std::span<const Real> values, bool relative) {
    if (values.empty()) return;
    Perturbed p{where, field, name, {values.begin(), values.end()}, {}};
    for (double value : p.centre)
      p.sigma.push_back(relative && value != 0 ? smoothing.sigma * std::abs(value) : smoothing.sigma);
    list.push_back(std::move(p));
  };
  if (smoothing.x0) add(Perturbed::Where::x0, 0, {}, at.x0, false);
  if (smoothing.controls) add(Perturbed::Where::controls, 0, {}, at.controls, false);
  const auto chosen = signature.match(Role::parameter, smoothing.parameters);
  for (std::size_t f = 0; f < chosen.size(); ++f) {
    if (chosen[f])
      add(Perturbed::Where::parameter, f, signature.fields(Role::parameter)[f].name, at.parameters.values(f),
          true);
  }
  return list;
}

// Sample 2 j is at +e_j, sample 2 j + 1 at -e_j.
double noise(const Smoothing& smoothing, std::size_t sample, std::size_t input) {
  constexpr std::uint32_t kStream =
      0xe571;  // apart from the noise that a physics may draw with the same seed
  const double e = normal<double>(smoothing.seed, std::uint32_t(sample / 2), std::uint64_t(input), kStream);
  return sample % 2 == 0 ? e : -e;
}

template <class Real>
Arguments<Real> sample_arguments(const Arguments<Real>& at, const std::vector<Perturbed>& inputs,
                                 const Smoothing& smoothing) {
  Arguments<Real> out = at;
  const std::size_t samples = smoothing.samples;
  std::size_t first = 0;
  for (const Perturbed& p : inputs) {
    std::vector<Real> values;
    values.reserve(samples * p.centre.size());
    for (std::size_t s = 0; s < samples; ++s) {
      for (std::size_t i = 0; i < p.centre.size(); ++i)
        values.push_back(Real(p.centre[i] + p.sigma[i] * noise(smoothing, s, first + i)));
    }
    first += p.centre.size();
    switch (p.where) {
      case Perturbed::Where::x0:
        out.x0 = std::move(values);
        break;
      case Perturbed::Where::controls:
        out.controls = std::move(values);
        break;
      case Perturbed::Where::parameter:
        out.parameters.set(p.name, std::move(values));
        break;
    }
  }
  return out;
}

// Mean and variance of the mean, of pairs of samples, for every input; all times s.
struct Moments {
  std::vector<double> mean, variance;
  double total_variance = 0;
  template <class F>
  Moments(std::size_t inputs, std::size_t pairs, const F& value) : mean(inputs), variance(inputs) {
    for (std::size_t i = 0; i < inputs; ++i) {
      double sum = 0, square = 0;
      for (std::size_t j = 0; j < pairs; ++j) sum += value(j, i);
      mean[i] = sum / double(pairs);
      for (std::size_t j = 0; j < pairs; ++j) {
        const double d = value(j, i) - mean[i];
        square += d * d;
      }
      variance[i] = pairs > 1 ? square / double(pairs - 1) / double(pairs) : 0;
      total_variance += variance[i];
    }
  }
};

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::sqrt(sum);
}

void require(bool good, const char* what, const char* advice) {
  if (!good) throw Error({what, "estimate::smoothed_gradient", advice});
}

// Every world's derivative with respect to every perturbed input, times s: [sample][input].
template <class Real>
std::vector<double> first_order_samples(const Gradient<Real>& g, const std::vector<Perturbed>& inputs,
                                        std::size_t total, std::size_t samples) {
  std::vector<double> out(samples * total);
  std::size_t first = 0;
  for (const Perturbed& p : inputs) {
    const std::size_t n = p.centre.size();
    const std::span<const Real> from = p.where == Perturbed::Where::x0 ? std::span<const Real>(g.x0)
                                       : p.where == Perturbed::Where::controls
                                           ? std::span<const Real>(g.controls)
                                           : g.parameters.values(p.field);
    for (std::size_t s = 0; s < samples; ++s) {
      for (std::size_t i = 0; i < n; ++i) out[s * total + first + i] = double(from[s * n + i]) * p.sigma[i];
    }
    first += n;
  }
  return out;
}

// The mean of every perturbed input, which is times s, as the gradient of one world.
template <class Real>
Gradient<Real> gathered(const Gradient<Real>& samples, const std::vector<Perturbed>& inputs,
                        const std::vector<double>& mean, const Arguments<Real>& at) {
  Gradient<Real> result;
  for (double value : samples.values) result.value += value / double(samples.values.size());
  result.values = {result.value};
  result.parameters = at.parameters.zeros();
  std::size_t place = 0;
  for (const Perturbed& p : inputs) {
    const std::size_t n = p.centre.size();
    std::vector<Real> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = Real(mean[place + i] / p.sigma[i]);
    place += n;
    if (p.where == Perturbed::Where::x0)
      result.x0 = std::move(values);
    else if (p.where == Perturbed::Where::controls)
      result.controls = std::move(values);
    else
      std::copy(values.begin(), values.end(), result.parameters.values(p.field).begin());
  }
  result.report = samples.report;
  result.report.worlds = 1;
  return result;
}

// What the estimate is worth, in words.
template <class Real>
void describe(const Smoothing& smoothing, Order order, Estimate<Real>& out) {
  GradientReport& report = out.gradient.report;
  report.estimator = order == Order::first ? "first order, smoothed"
                     : order == Order::zeroth
                         ? "zeroth order, smoothed"
                         : "mixed order, smoothed (" + number(out.first_order_share, 3) + " first)";
  report.label = "estimate of the smoothed loss, sigma " + number(smoothing.sigma, 3) + ", " +
                 std::to_string(smoothing.samples) + " samples, standard error " +
                 number(out.standard_error, 3);
  if (order == Order::first && out.disagreement > 3) {
    report.advice.push_back(
        "the zeroth order disagrees by " + number(out.disagreement, 3) +
        " standard errors: the loss jumps, which the first order does not see; use the mixed one");
  }
  if (out.standard_error > 0.5) {
    report.advice.push_back("the standard error is " + number(out.standard_error, 3) +
                            " of the gradient: take more samples, or a larger sigma");
  }
}

}  // namespace

template <class Real>
Estimate<Real> smoothed_gradient(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                                 const Arguments<Real>& at, const Objective<Real>& objective,
                                 const Smoothing& smoothing, Order order) {
  require(options.worlds == 1, "an estimate is that of one world",
          "set worlds = 1; its samples run side by side");
  require(smoothing.samples >= 4 && smoothing.samples % 2 == 0, "samples must be even and at least 4", "");
  require(smoothing.sigma > 0 && std::isfinite(smoothing.sigma), "sigma must be greater than 0", "");
  const Signature& signature = system->signature();
  const std::vector<Perturbed> inputs = perturbed_inputs(signature, at, smoothing);
  require(!inputs.empty(), "nothing is perturbed", "set x0 or controls, or name parameters");
  std::size_t total = 0;
  for (const Perturbed& p : inputs) total += p.centre.size();

  options.worlds = smoothing.samples;
  options.active = smoothing.parameters;
  options.spot_check = options.time_step_check = false;
  Rollout<Real> rollout(system, options);
  const Arguments<Real> around = sample_arguments(at, inputs, smoothing);
  const std::size_t samples = smoothing.samples, pairs = samples / 2;
  const Gradient<Real> g = rollout.value_and_gradient(around, objective);
  require(g.report.masked_worlds.empty(), "some samples diverged", "reduce sigma");

  const std::vector<double> slopes = first_order_samples(g, inputs, total, samples);
  const Moments first(total, pairs, [&](std::size_t j, std::size_t i) {
    return 0.5 * (slopes[2 * j * total + i] + slopes[(2 * j + 1) * total + i]);
  });
  const Moments zeroth(total, pairs, [&](std::size_t j, std::size_t i) {
    return 0.5 * (g.values[2 * j] - g.values[2 * j + 1]) * noise(smoothing, 2 * j, i);
  });

  Estimate<Real> out;
  std::vector<double> difference(total);
  for (std::size_t i = 0; i < total; ++i) difference[i] = first.mean[i] - zeroth.mean[i];
  const double apart = norm(difference), v0 = zeroth.total_variance, v1 = first.total_variance;
  out.disagreement = v0 + v1 > 0 ? apart / std::sqrt(v0 + v1) : 0;
  double share = v0 + v1 > 0 ? v0 / (v0 + v1) : 1;
  if (share * apart > 2 * std::sqrt(v0)) share = 2 * std::sqrt(v0) / apart;
  if (order == Order::first) share = 1;
  if (order == Order::zeroth) share = 0;
  out.first_order_share = share;

  std::vector<double> mean(total);
  for (std::size_t i = 0; i < total; ++i) mean[i] = share * first.mean[i] + (1 - share) * zeroth.mean[i];
  // Both orders see the same samples: their errors may add up.
  const double error = share * std::sqrt(v1) + (1 - share) * std::sqrt(v0);
  out.standard_error = norm(mean) > 0 ? error / norm(mean) : error;

  std::size_t place = 0;
  for (const Perturbed& p : inputs)
    for (const double sigma : p.sigma) {
      const double own =
          share * std::sqrt(first.variance[place]) + (1 - share) * std::sqrt(zeroth.variance[place]);
      out.errors.push_back(own / sigma);
      ++place;
    }
  const Moments value(
      1, pairs, [&](std::size_t j, std::size_t) { return 0.5 * (g.values[2 * j] + g.values[2 * j + 1]); });
  out.value_error = std::sqrt(value.total_variance);

  out.gradient = gathered(g, inputs, mean, at);
  describe(smoothing, order, out);
  return out;
}

template Estimate<float> smoothed_gradient(std::shared_ptr<const System<float>>, RolloutOptions,
                                           const Arguments<float>&, const Objective<float>&, const Smoothing&,
                                           Order);
template Estimate<double> smoothed_gradient(std::shared_ptr<const System<double>>, RolloutOptions,
                                            const Arguments<double>&, const Objective<double>&,
                                            const Smoothing&, Order);

}  // namespace costate::estimate
