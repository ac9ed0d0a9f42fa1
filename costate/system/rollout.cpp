#include "costate/system/rollout.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "costate/core/error.h"
#include "costate/system/check/checks.h"
#include "costate/system/check/spot_check.h"
#include "costate/system/devices.h"
#include "costate/system/run/report_collector.h"
#include "costate/system/run/rollout_impl.h"

namespace costate {

template <class Real>
Rollout<Real>::Impl::Impl(std::shared_ptr<const System<Real>> s, RolloutOptions o,
                          std::shared_ptr<const Backend<Real>> b)
    : system(std::move(s)),
      options(std::move(o)),
      backend(b ? std::move(b) : backend_of<Real>(options.device)),
      pool([this] { return backend->make_block(*system, options, activity); }) {
  check_options();
  activity.parameters = system->signature().match(Role::parameter, options.active);
  lanes = backend->lanes(*system, options);
  blocks = (options.worlds + lanes - 1) / lanes;
  knots = (options.steps + options.hold - 1) / options.hold;
}

namespace {

template <class Real>
void refuse_not_finite(std::span<const Real> values, const std::string& name) {
  if (std::ranges::all_of(values, [](Real value) { return finite_bits(value); })) return;
  throw Error(
      {name + " is not finite although the states are",
       {},
       "the slope of a root or a logarithm at zero is not: begin a little beside it, or select a safe "
       "argument first"},
      Error::Kind::numerics);
}
// Of the state's cotangent the blocks say so themselves, with the step.
template <class Real>
void refuse_not_finite(const Gradient<Real>& gradient, const Signature& signature, const std::string& name) {
  refuse_not_finite<Real>(gradient.controls, name + " with respect to the controls");
  for (std::size_t f = 0; f < signature.fields(Role::parameter).size(); ++f)
    refuse_not_finite<Real>(gradient.parameters.values(f),
                            name + " with respect to '" + signature.fields(Role::parameter)[f].name + "'");
}

}  // namespace

template <class Real>
template <class F>
void Rollout<Real>::Impl::collect(Collector<Real>& collector, Collector<Real>* second, const F& produce) {
  ReportCollector<Real> report(collector.out.report);
  const std::int64_t wave = collector.wave();
  Progress progress(blocks * options.steps * (1 + Progress::kBack));
  for (Collector<Real>* c : {&collector, second}) {
    if (c) c->partial.assign(wave * c->row, 0.0);
  }
  for (std::int64_t first = 0; first < blocks; first += wave) {
    const std::int64_t count = std::min(wave, blocks - first);
    parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      const Progress::Helper helper(&progress);
      for (std::int64_t slot = begin; slot < end; ++slot) {
        std::unique_ptr<Block<Real>> block = produce(first + slot);
        collector.take(block->results(), slot);
        if (second) second->take(block->results(), slot);
        report.take(block->results());
        pool.give_back(std::move(block));
      }
    });
    collector.add_wave(count);
    if (second) second->add_wave(count);
  }
  collector.finish();
  if (second) second->finish();
  refuse_not_finite(collector.out, system->signature(), "the gradient");
  report.finish(shape(), lanes, collector.total.data() + collector.norms, collector.out);
}

template <class Real>
std::vector<double> Rollout<Real>::Impl::values(const Arguments<Real>& arguments,
                                                const Objective<Real>& objective,
                                                const StateObserver<Real>& observer,
                                                std::vector<char>& masked) {
  check_values(arguments);
  objective.check(options.steps, options.worlds);
  Keeper<Real> keeper(*system, options, lanes, nullptr, observer);
  std::vector<double> result(options.worlds, std::numeric_limits<double>::quiet_NaN());
  masked.assign(options.worlds, 0);
  for_each_block(arguments, [&](Block<Real>& block, std::int64_t) {
    block.simulate(&objective, &keeper);
    const BlockResults<Real>& found = block.results();
    for (int l = 0; l < found.live_lanes; ++l) {
      masked[found.first_world + l] = found.diverged[l];
      if (!found.diverged[l]) result[found.first_world + l] = found.loss[l];
    }
  });
  return result;
}

template <class Real>
Rollout<Real>::Rollout(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                       std::shared_ptr<const Backend<Real>> backend)
    : impl_(std::make_unique<Impl>(std::move(system), std::move(options), std::move(backend))) {}
template <class Real>
Rollout<Real>::~Rollout() = default;
template <class Real>
Rollout<Real>::Rollout(Rollout&&) noexcept = default;
template <class Real>
Rollout<Real>& Rollout<Real>::operator=(Rollout&&) noexcept = default;
template <class Real>
const System<Real>& Rollout<Real>::system() const {
  return *impl_->system;
}
template <class Real>
const RolloutOptions& Rollout<Real>::options() const {
  return impl_->options;
}
template <class Real>
std::int64_t Rollout<Real>::knots() const {
  return impl_->knots;
}

template <class Real>
Arguments<Real> Rollout<Real>::arguments() const {
  const Signature& s = impl_->system->signature();
  return {std::vector<Real>(s.states()), std::vector<Real>(impl_->knots * s.controls()), Parameters<Real>(s)};
}

namespace {

template <class Real>
void list_diverged(const BlockResults<Real>& block, std::mutex& mutex, std::vector<std::int64_t>& list) {
  for (int l = 0; l < block.live_lanes; ++l) {
    if (!block.diverged[l]) continue;
    const std::lock_guard lock(mutex);
    list.push_back(block.first_world + l);
  }
}

}  // namespace

template <class Real>
Trajectory<Real> Rollout<Real>::simulate(const Arguments<Real>& arguments,
                                         const StateObserver<Real>& observer) {
  impl_->check_values(arguments);
  Trajectory<Real> out;
  Keeper<Real> keeper(*impl_->system, impl_->options, impl_->lanes, &out, observer);
  std::mutex mutex;
  impl_->for_each_block(arguments, [&](Block<Real>& block, std::int64_t) {
    block.simulate(nullptr, &keeper);
    list_diverged(block.results(), mutex, out.diverged);
  });
  std::sort(out.diverged.begin(), out.diverged.end());
  return out;
}

template <class Real>
double Rollout<Real>::value(const Arguments<Real>& arguments, const Objective<Real>& objective,
                            const StateObserver<Real>& observer) {
  std::vector<char> masked;
  const std::vector<double> values = impl_->values(arguments, objective, observer, masked);
  return sum_of_live(values, masked);
}

template <class Real>
std::vector<double> Rollout<Real>::values(const Arguments<Real>& arguments,
                                          const Objective<Real>& objective) {
  std::vector<char> masked;
  return impl_->values(arguments, objective, {}, masked);
}

template <class Real>
Trajectory<Real> Rollout<Real>::forward(const Arguments<Real>& arguments,
                                        const StateObserver<Real>& observer) {
  impl_->check_values(arguments);
  Trajectory<Real> out;
  Keeper<Real> keeper(*impl_->system, impl_->options, impl_->lanes, &out, observer);
  std::mutex mutex;
  for (auto& block : impl_->waiting) {
    if (block) impl_->pool.give_back(std::move(block));
  }
  impl_->waiting.clear();
  impl_->waiting_arguments = arguments;
  std::vector<std::unique_ptr<Block<Real>>> waiting(impl_->blocks);
  Progress progress(impl_->blocks * impl_->options.steps);
  parallel_for(impl_->blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    const Progress::Helper helper(&progress);
    for (std::int64_t b = begin; b < end; ++b) {
      auto block = impl_->loaded(impl_->waiting_arguments, b);
      block->forward(nullptr, &keeper);
      list_diverged(block->results(), mutex, out.diverged);
      waiting[b] = std::move(block);
    }
  });
  impl_->waiting = std::move(waiting);
  std::sort(out.diverged.begin(), out.diverged.end());
  return out;
}

template <class Real>
Gradient<Real> Rollout<Real>::backward(const Objective<Real>& objective) {
  if (impl_->waiting.empty())
    throw Error({"backward() without a forward() before it", {}, "each forward() serves one backward()"});
  objective.check(impl_->options.steps, impl_->options.worlds);
  Gradient<Real> out;
  Collector<Real> collector(impl_->shape(), impl_->waiting_arguments, out, false);
  // Used up even if this throws: some blocks have then run backwards, others not.
  auto waiting = std::exchange(impl_->waiting, {});
  impl_->collect(collector, nullptr, [&](std::int64_t b) {
    auto block = std::move(waiting[b]);
    Progress::advance(impl_->options.steps);  // forward() has taken them
    block->backward(objective);
    return block;
  });
  std::fill(out.values.begin(), out.values.end(),
            std::numeric_limits<double>::quiet_NaN());  // known only to value_and_gradient
  out.value = std::numeric_limits<double>::quiet_NaN();
  out.report.conclude(std::numeric_limits<Real>::epsilon());
  return out;
}

template <class Real>
Gradient<Real> Rollout<Real>::value_and_gradient(const Arguments<Real>& arguments,
                                                 const Objective<Real>& objective) {
  impl_->check_values(arguments);
  objective.check(impl_->options.steps, impl_->options.worlds);
  Gradient<Real> out;
  Collector<Real> collector(impl_->shape(), arguments, out, false);
  impl_->collect(collector, nullptr, [&](std::int64_t b) {
    auto block = impl_->loaded(arguments, b);
    block->forward(&objective, nullptr);
    block->backward(objective);
    return block;
  });
  if (impl_->options.spot_check) out.report.spot_check = spot_check(*this, arguments, objective, out);
  if (impl_->options.time_step_check) {
    const auto change = check::time_step_change<Real>(impl_->system, impl_->options, arguments, objective);
    out.report.gradient_by_time_step = change.gradient;
    out.report.loss_by_time_step = change.loss;
  }
  out.report.conclude(std::numeric_limits<Real>::epsilon());
  return out;
}

template <class Real>
Tangent<Real> Rollout<Real>::jvp(const Arguments<Real>& arguments, const Arguments<Real>& direction,
                                 const Objective<Real>* objective) {
  impl_->check_values(arguments);
  impl_->check_shapes(direction, "direction: ");
  if (objective) objective->check(impl_->options.steps, impl_->options.worlds);
  const std::int64_t n = impl_->system->signature().states();
  Tangent<Real> out;
  out.final_state.resize(impl_->options.worlds * n);
  out.final_state_dot.resize(out.final_state.size());
  std::vector<double> values(impl_->options.worlds), rates(values);
  std::vector<char> masked(values.size());
  const Real unknown = std::numeric_limits<Real>::quiet_NaN();
  impl_->for_each_block(arguments, [&](Block<Real>& block, std::int64_t) {
    block.simulate_tangent(direction, objective);
    const BlockResults<Real>& found = block.results();
    scatter(found, found.final_state, n, out.final_state.data(), unknown);
    scatter(found, found.final_state_dot, n, out.final_state_dot.data(), unknown);
    for (int l = 0; l < found.live_lanes; ++l) {
      masked[found.first_world + l] = found.diverged[l];
      values[found.first_world + l] = found.loss[l];
      rates[found.first_world + l] = found.loss_dot[l];
    }
  });
  out.value = sum_of_live(values, masked);
  out.value_dot = sum_of_live(rates, masked);
  return out;
}

// A second derivative knows one side of a jump, and nothing of how large it is.
static void say_where_the_gradient_jumps(GradientReport& report) {
  if (report.mode_switches.empty()) return;
  report.label += report.label == "exact" ? " between switches of mode" : "; between switches of mode";
  report.advice.push_back(
      "the gradient itself jumps where a mode switches (mode_switches), and its rate of change is that of "
      "one "
      "side; before a Newton step crosses them, compare it with a difference of two gradients");
}

template <class Real>
typename Rollout<Real>::HessianVector Rollout<Real>::hessian_vector(const Arguments<Real>& arguments,
                                                                    const Arguments<Real>& direction,
                                                                    const Objective<Real>& objective) {
  if (!impl_->system->capabilities().second_order) {
    throw Error({"this physics has no second derivatives", {}, "take differences of gradients"});
  }
  impl_->check_values(arguments);
  impl_->check_shapes(direction, "direction: ");
  objective.check(impl_->options.steps, impl_->options.worlds);
  HessianVector out;
  Collector<Real> gradient(impl_->shape(), arguments, out.gradient, false),
      product(impl_->shape(), arguments, out.product, true);
  impl_->collect(gradient, &product, [&](std::int64_t b) {
    auto block = impl_->loaded(arguments, b);
    block->hessian_vector(direction, objective);
    return block;
  });
  const std::string rate = "the rate of change of the gradient";
  refuse_not_finite<Real>(out.product.x0, rate + " with respect to x0");
  refuse_not_finite(out.product, impl_->system->signature(), rate);
  out.gradient.report.conclude(std::numeric_limits<Real>::epsilon());
  say_where_the_gradient_jumps(out.gradient.report);
  out.product.report = out.gradient.report;
  return out;
}

template class Rollout<float>;
template class Rollout<double>;

}  // namespace costate
