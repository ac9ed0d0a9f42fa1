// What the estimators share: which numbers are differentiated, means with standard errors, and worlds that
// are walked block by block.
#pragma once

#include <algorithm>
#include <cmath>

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/parallel.h"
#include "costate/estimate/gradient.h"

namespace costate::estimate {

inline constexpr std::int64_t kMostSamples = 100'000'000;

[[noreturn]] inline void refuse(std::string what, std::string advice = {}) {
  throw Error({std::move(what), "estimate::gradient", std::move(advice)});
}

// The numbers that a gradient is taken with respect to.
struct Wanted {
  std::vector<std::size_t> fields;    // of the signature's parameters
  std::vector<std::int64_t> numbers;  // offsets among the parameters
  std::vector<std::string> names;

  Wanted(const Signature& signature, const std::vector<std::string>& globs) {
    const auto chosen = signature.match(Role::parameter, globs);
    const auto& all = signature.fields(Role::parameter);
    for (std::size_t f = 0; f < all.size(); ++f) {
      if (!chosen[f]) continue;
      fields.push_back(f);
      for (std::int64_t i = 0; i < all[f].size; ++i) {
        numbers.push_back(all[f].offset + i);
        names.push_back(all[f].size == 1 ? all[f].name : all[f].name + "[" + std::to_string(i) + "]");
      }
    }
    if (numbers.empty()) refuse("nothing is differentiated", "name parameters");
  }
  std::size_t size() const { return numbers.size(); }
};

// Mean and standard error of independent samples, column i of rows of `width` numbers. One sample does not
// say how exact it is: its error is infinite.
struct Mean {
  double value = 0, error = 0;
};
inline Mean mean_of(const std::vector<double>& samples, std::size_t width = 1, std::size_t i = 0) {
  const std::size_t n = samples.size() / width;
  double sum = 0, square = 0;
  for (std::size_t s = 0; s < n; ++s) sum += samples[s * width + i];
  const double mean = sum / double(n);
  for (std::size_t s = 0; s < n; ++s) {
    const double d = samples[s * width + i] - mean;
    square += d * d;
  }
  return {mean, n > 1 ? std::sqrt(square / double(n - 1) / double(n)) : HUGE_VAL};
}

// Standard error of the mean of a correlated series: pairs are averaged until the error no longer grows
// [Flyvbjerg, Petersen, J. Chem. Phys. 91 (1989)]. Also the integrated correlation time, in samples. Infinite
// for fewer than four samples.
struct Blocked {
  double error = 0, correlation_time = 0;
};
Blocked blocked_error(std::vector<double> series);

// Standard error of sum_s z_s / n: by worlds, or blocked where there are few of them.
inline Blocked error_of(const std::vector<double>& z, std::size_t per_world) {
  const std::size_t worlds = z.size() / per_world;
  if (worlds < 8) return blocked_error(z);
  std::vector<double> means(worlds, 0.0);
  for (std::size_t s = 0; s < z.size(); ++s) means[s / per_world] += z[s] / double(per_world);
  return {mean_of(means).error, 0};
}

// Value and gradient of independent samples: one value and one row of derivatives each.
inline void fill(Sampled& out, const Wanted& wanted, const std::vector<double>& values,
                 const std::vector<double>& rows) {
  const Mean value = mean_of(values);
  out.value = value.value, out.value_error = value.error;
  out.names = wanted.names;
  out.samples = std::int64_t(values.size());
  out.effective_samples = double(values.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Mean g = mean_of(rows, wanted.size(), i);
    out.gradient.push_back(g.value);
    out.standard_error.push_back(g.error);
  }
}

// A block of samples on its way: lane l is sample first + l.
template <class Real>
class BlockWalk {
 public:
  BlockWalk(const System<Real>& system, const RolloutOptions& options, const Arguments<Real>& at,
            std::int64_t samples)
      : system_(system),
        options_(options),
        at_(at),
        samples_(samples),
        lanes_(system.lanes()),
        work_(system.make_workspace()),
        x_(system.state_size()),
        y_(system.state_size()),
        p_(system.parameter_size()) {
    const Signature& s = system.signature();
    if (s.controls() > 0) {
      const std::int64_t knots = (options.steps + options.hold - 1) / options.hold;
      if (std::int64_t(at.controls.size()) != knots * s.controls())
        refuse("the controls are not those of one world", "give knots x controls numbers");
      u_ = AlignedBuffer<Real>(knots * system.control_size());
      for (std::size_t i = 0; i < at.controls.size(); ++i)
        std::fill_n(u_.data() + i * lanes_, lanes_, at.controls[i]);
    }
    const auto& fields = s.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (at.parameters.per_world(f)) refuse(fields[f].name + " differs between worlds", "give one value");
      const auto values = at.parameters.values(f);
      for (std::int64_t i = 0; i < fields[f].size; ++i)
        std::fill_n(p_.data() + (fields[f].offset + i) * lanes_, lanes_, values[std::size_t(i)]);
    }
    const std::size_t n = std::size_t(s.states());
    if (at.x0.size() != n && at.x0.size() != n * std::size_t(samples))
      refuse("there are " + std::to_string(at.x0.size()) + " numbers in x0",
             "give one start, or one per sample (" + std::to_string(n * std::size_t(samples)) + " numbers)");
  }

  void begin(std::int64_t first) {
    first_ = first, k_ = 0;
    const std::int64_t n = system_.signature().states();
    const bool own = std::int64_t(at_.x0.size()) != n;
    for (int l = 0; l < lanes_; ++l) {
      const std::int64_t sample = std::min(first + l, samples_ - 1);
      for (std::int64_t i = 0; i < n; ++i)
        x_.data()[i * lanes_ + l] = at_.x0[std::size_t((own ? sample * n : 0) + i)];
    }
  }
  void step() {
    system_.step(context(), in(), y_.data(), nullptr, *work_);
    std::swap(x_, y_);
    ++k_;
  }
  // To step k, whose state is x.
  void back_to(std::int64_t k, const Real* x) {
    std::copy_n(x, system_.state_size(), x_.data());
    k_ = k;
  }
  std::int64_t k() const { return k_; }
  int lanes() const { return lanes_; }
  int live() const { return int(std::min<std::int64_t>(lanes_, samples_ - first_)); }
  std::int64_t first() const { return first_; }
  StepContext context() const { return {k_, first_, options_.seed}; }
  Inputs<Real> in() const {
    const bool controls = u_.data() && k_ < options_.steps && system_.signature().controls() > 0;
    return {x_.data(), controls ? u_.data() + k_ / options_.hold * system_.control_size() : nullptr,
            p_.data()};
  }
  typename Objective<Real>::At at() const { return {k_, options_.steps, first_, samples_, lanes_, in()}; }
  Workspace& work() { return *work_; }
  void require_finite() const {
    for (std::int64_t i = 0; i < system_.state_size(); ++i)
      if (!std::isfinite(double(x_.data()[i])))
        throw Error({"a sample is not finite", "step " + std::to_string(k_), "reduce dt"},
                    Error::Kind::numerics);
  }

 private:
  const System<Real>& system_;
  const RolloutOptions& options_;
  const Arguments<Real>& at_;
  std::int64_t samples_, first_ = 0, k_ = 0;
  int lanes_;
  std::unique_ptr<Workspace> work_;
  AlignedBuffer<Real> x_, y_, p_, u_;
};

// body(walk) for every block of samples, in parallel; each writes the results of its own samples.
template <class Real, class Body>
void each_block(const System<Real>& system, const RolloutOptions& options, const Arguments<Real>& at,
                std::int64_t samples, const Body& body) {
  const std::int64_t lanes = system.lanes(), blocks = (samples + lanes - 1) / lanes;
  parallel_for(blocks, std::max<std::int64_t>(1, std::min<std::int64_t>(16, blocks / 64)),
               [&](std::int64_t begin, std::int64_t end) {
                 BlockWalk<Real> walk(system, options, at, samples);
                 for (std::int64_t b = begin; b < end; ++b) {
                   walk.begin(b * lanes);
                   body(walk);
                   stop_if_interrupted();
                 }
               });
}

// --- the methods -------------------------------------------------------------------------------------------

template <class Real>
struct Question {
  std::shared_ptr<const System<Real>> system;
  RolloutOptions options;
  const Arguments<Real>& at;
  const Objective<Real>& objective;
  const Sampling& sampling;
  Wanted wanted;
};

template <class Real>
Sampled pathwise(const Question<Real>& question);
template <class Real>
Sampled forward_sensitivity(const Question<Real>& question);
template <class Real>
Sampled girsanov(const Question<Real>& question);
template <class Real>
Sampled equilibrium(const Question<Real>& question);
template <class Real>
Sampled fixed_point(const Question<Real>& question);
template <class Real>
Sampled differences(const Question<Real>& question);
template <class Real>
Sampled continuous(const Question<Real>& question);
template <class Real>
Sampled smoothed(const Question<Real>& question, Method method);

}  // namespace costate::estimate
