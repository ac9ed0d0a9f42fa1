// Pathwise estimators: the derivative of every sample's own trajectory, with its noise held.
//
//   pathwise   reverse mode: one backward pass per sample gives all parameters
//   forward    tangents: one pass per parameter, with memory that does not grow with the steps
//
// Both see E[dL/dp], which is d E[L]/dp where L has no jumps. Where trajectories part exponentially the
// variance grows at twice their rate.
#include "costate/core/text.h"
#include "costate/estimate/samples.h"

namespace costate::estimate {
namespace {

constexpr std::int64_t kBatch = 8192;  // samples that are held at once

// Samples [first, first + count), each with its own copy of the parameters that are wanted.
template <class Real>
Arguments<Real> batch_arguments(const Question<Real>& q, std::int64_t first, std::int64_t count,
                                bool copies) {
  Arguments<Real> at = q.at;
  const auto n = std::size_t(q.system->signature().states());
  if (at.x0.size() != n)
    at.x0.assign(q.at.x0.begin() + std::ptrdiff_t(std::size_t(first) * n),
                 q.at.x0.begin() + std::ptrdiff_t(std::size_t(first + count) * n));
  for (const std::size_t f : q.wanted.fields) {
    if (!copies) break;
    const auto one = q.at.parameters.values(f);
    std::vector<Real> all;
    for (std::int64_t w = 0; w < count; ++w) all.insert(all.end(), one.begin(), one.end());
    at.parameters.set(f, std::move(all));
  }
  return at;
}

template <class Real>
RolloutOptions batch_options(const Question<Real>& q, std::int64_t batch, std::int64_t count) {
  RolloutOptions options = q.options;
  options.worlds = count;
  options.seed = q.options.seed + std::uint64_t(batch) * 0x9E3779B97F4A7C15u;
  options.active = q.sampling.parameters;
  options.spot_check = options.time_step_check = false;
  return options;
}

}  // namespace

template <class Real>
Sampled pathwise(const Question<Real>& q) {
  Sampled out{.method = Method::pathwise};
  std::vector<double> values, rows;
  for (std::int64_t first = 0, batch = 0; first < q.sampling.samples; first += kBatch, ++batch) {
    const std::int64_t count = std::min(kBatch, q.sampling.samples - first);
    Rollout<Real> rollout(q.system, batch_options(q, batch, count));
    const Gradient<Real> g = rollout.value_and_gradient(batch_arguments(q, first, count, true), q.objective);
    values.insert(values.end(), g.values.begin(), g.values.end());
    for (std::int64_t w = 0; w < count; ++w) {
      for (const std::size_t f : q.wanted.fields) {
        const auto all = g.parameters.values(f);
        const std::size_t size = all.size() / std::size_t(count);
        for (std::size_t i = 0; i < size; ++i) rows.push_back(double(all[std::size_t(w) * size + i]));
      }
    }
    out.memory_bytes = std::max(out.memory_bytes, g.report.memory_bytes);
    out.growth_rate = std::max(out.growth_rate, g.report.growth_rate);
    if (batch == 0) out.advice = g.report.advice;
  }
  fill(out, q.wanted, values, rows);
  out.label = "finite horizon; unbiased where the loss has no jumps; the derivative of each path";
  return out;
}

// One pass per number. Tangents add up over worlds, so the standard error comes from batches.
template <class Real>
Sampled forward_sensitivity(const Question<Real>& q) {
  constexpr std::int64_t kBatches = 16;
  const std::int64_t count = std::max<std::int64_t>(1, q.sampling.samples / kBatches);
  if (std::int64_t(q.at.x0.size()) != q.system->signature().states())
    refuse("forward sensitivities take one start for all samples", "use pathwise");
  Sampled out{.method = Method::forward};
  std::vector<double> values, rows;
  for (std::int64_t batch = 0; batch < kBatches; ++batch) {
    Rollout<Real> rollout(q.system, batch_options(q, batch, count));
    double value = 0;
    for (const std::size_t f : q.wanted.fields) {
      const std::size_t size = q.at.parameters.values(f).size();
      for (std::size_t i = 0; i < size; ++i) {
        Arguments<Real> along{std::vector<Real>(q.at.x0.size(), Real(0)),
                              std::vector<Real>(q.at.controls.size(), Real(0)), q.at.parameters.zeros()};
        along.parameters.values(f)[i] = 1;
        const Tangent<Real> tangent = rollout.jvp(q.at, along, &q.objective);
        value = tangent.value / double(count);
        rows.push_back(tangent.value_dot / double(count));
      }
    }
    values.push_back(value);
  }
  fill(out, q.wanted, values, rows);
  out.samples = count * kBatches;
  out.effective_samples = double(out.samples);
  out.label = "finite horizon; unbiased where the loss has no jumps; tangents, standard error of 16 batches";
  return out;
}

template Sampled pathwise(const Question<float>&);
template Sampled pathwise(const Question<double>&);
template Sampled forward_sensitivity(const Question<float>&);
template Sampled forward_sensitivity(const Question<double>&);

}  // namespace costate::estimate
