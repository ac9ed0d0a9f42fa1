#include "costate/system/rollout.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/system/block.h"
#include "costate/system/checks.h"
#include "costate/system/collector.h"
#include "costate/system/findings.h"
#include "costate/system/keeper.h"

namespace costate {
template <class Real>
struct Rollout<Real>::Impl {
  std::shared_ptr<const System<Real>> system;
  RolloutOptions options;
  Activity activity;
  std::int64_t blocks, knots;

  // Blocks that no thread uses right now.
  std::vector<std::unique_ptr<Block<Real>>> idle;
  std::mutex idle_mutex;
  // Blocks that wait for backward().
  std::vector<std::unique_ptr<Block<Real>>> waiting;
  Arguments<Real> waiting_arguments;

  Impl(std::shared_ptr<const System<Real>> s, RolloutOptions o)
      : system(std::move(s)), options(std::move(o)) {
    if (!system) throw Error("a rollout needs a system");
    if (options.steps < 0)
      throw Error("steps = " + std::to_string(options.steps) + ": a rollout cannot have fewer than 0 steps");
    if (options.worlds < 1)
      throw Error("worlds = " + std::to_string(options.worlds) + ": a rollout has at least one world");
    if (options.hold < 1)
      throw Error("hold = " + std::to_string(options.hold) + ": a control is held for at least one step");
    if (options.keep < 0)
      throw Error("keep = " + std::to_string(options.keep) + ": every keep-th state is returned, 0 for none");
    const auto can = system->capabilities();
    if (options.checkpoints.kind == Checkpoints::Kind::reversible && !can.reversible) {
      throw Error({"checkpoints = reversible, but this physics cannot step backwards",
                   {},
                   "use binomial(slots) or segments() to bound the memory"});
    }
    Schedule(options.checkpoints,
             options.steps);  // complains about nonsense now, not in the middle of a gradient
    activity.parameters = system->signature().match(Role::parameter, options.active);
    blocks = (options.worlds + system->lanes() - 1) / system->lanes();
    knots = (options.steps + options.hold - 1) / options.hold;
  }

  void check(const Arguments<Real>& a, const char* what) const {
    const Signature& signature = system->signature();
    const auto expect = [&](const char* name, std::size_t have, std::int64_t row) {
      const auto size = static_cast<std::int64_t>(have);
      if (size == row || size == row * options.worlds) return;
      throw Error(std::string(what) + name + " has " + std::to_string(size) + " numbers instead of " +
                  std::to_string(row) + " (shared) or " + std::to_string(row * options.worlds) +
                  " (one row for each of " + std::to_string(options.worlds) + " worlds)");
    };
    expect("x0", a.x0.size(), signature.states());
    expect("controls", a.controls.size(), knots * signature.controls());
    if (!same_fields(a.parameters.signature(), signature, Role::parameter)) {
      throw Error(std::string(what) +
                  "parameters belong to another system: make them from system.signature()");
    }
    for (std::size_t f = 0; f < signature.fields(Role::parameter).size(); ++f) {
      if (!a.parameters.per_world(f)) continue;
      if (a.parameters.worlds() != options.worlds) {
        throw Error(std::string(what) + "parameter '" + signature.fields(Role::parameter)[f].name +
                    "' is given for " + std::to_string(a.parameters.worlds()) + " worlds, the rollout has " +
                    std::to_string(options.worlds));
      }
    }
  }

  RolloutShape<Real> shape() const { return {*system, options, activity, blocks, knots}; }

  std::unique_ptr<Block<Real>> take() {
    {
      const std::lock_guard lock(idle_mutex);
      if (!idle.empty()) {
        auto block = std::move(idle.back());
        idle.pop_back();
        return block;
      }
    }
    return std::make_unique<Block<Real>>(*system, options, activity);
  }
  void give_back(std::unique_ptr<Block<Real>> block) {
    const std::lock_guard lock(idle_mutex);
    idle.push_back(std::move(block));
  }

  // body(block, index) for all blocks; blocks are borrowed.
  template <class F>
  void for_each_block(const Arguments<Real>& arguments, const F& body) {
    parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        auto block = take();
        block->load(arguments, b * system->lanes());
        body(*block, b);
        give_back(std::move(block));
      }
    });
  }

  std::vector<double> values(const Arguments<Real>& arguments, const Objective<Real>& objective,
                             const StateObserver<Real>& observer, double of_masked) {
    check(arguments, "");
    objective.check(options.steps, options.worlds);
    Keeper<Real> keeper(*system, options, nullptr, observer);
    std::vector<double> result(static_cast<std::size_t>(options.worlds), of_masked);
    for_each_block(arguments, [&](Block<Real>& block, std::int64_t) {
      block.simulate(&objective, &keeper);
      for (int l = 0; l < block.live_lanes(); ++l) {
        if (!block.diverged()[static_cast<std::size_t>(l)])
          result[static_cast<std::size_t>(block.first_world() + l)] =
              block.loss()[static_cast<std::size_t>(l)];
      }
    });
    return result;
  }

  // Runs `produce(block, index)` for all blocks, wave by wave, and collects.
  template <class F>
  void collect(Collector<Real>& collector, Collector<Real>* second, const F& produce) {
    Gradient<Real>& out = collector.out;
    GradientReport& report = out.report;
    std::mutex merge;
    std::vector<std::int64_t> masked;
    Findings findings;
    const std::int64_t wave = collector.wave();
    for (Collector<Real>* c : {&collector, second}) {
      if (c) c->partial.assign(static_cast<std::size_t>(wave * c->row), 0.0);
    }
    for (std::int64_t first = 0; first < blocks; first += wave) {
      const std::int64_t count = std::min(wave, blocks - first);
      parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t slot = begin; slot < end; ++slot) {
          auto block = produce(first + slot);
          collector.take(*block, slot);
          if (second) second->take(*block, slot);
          {
            const std::lock_guard lock(merge);  // maxima and sorted lists: the order of arrival does not show
            report.advances = std::max(report.advances, block->advances());
            report.memory_bytes = std::max(report.memory_bytes, block->memory_bytes());
            report.adjoint_residual =
                std::max(report.adjoint_residual, block->diagnostics().adjoint_residual);
            if (block->energy_drift())
              report.energy_drift = std::max(report.energy_drift.value_or(0), *block->energy_drift());
            if (const Findings* found = block->findings())
              for (const Finding& f : found->all()) findings.add(f);
            const auto& switches = block->diagnostics().mode_switches;
            report.mode_switches.insert(report.mode_switches.end(), switches.begin(), switches.end());
            for (int l = 0; l < block->live_lanes(); ++l) {
              if (block->diverged()[static_cast<std::size_t>(l)]) masked.push_back(block->first_world() + l);
            }
          }
          give_back(std::move(block));
        }
      });
      collector.add_wave(count);
      if (second) second->add_wave(count);
    }
    collector.finish();
    if (second) second->finish();

    std::sort(masked.begin(), masked.end());
    for (std::int64_t world : masked)
      out.values[static_cast<std::size_t>(world)] = std::numeric_limits<double>::quiet_NaN();
    std::sort(report.mode_switches.begin(), report.mode_switches.end());
    report.mode_switches.erase(std::unique(report.mode_switches.begin(), report.mode_switches.end()),
                               report.mode_switches.end());
    for (const Finding& f : findings.all()) report.advice.push_back(f.text);
    std::sort(report.advice.begin(), report.advice.end());
    out.value = 0;
    std::size_t next_masked = 0;
    for (std::int64_t w = 0; w < options.worlds; ++w) {
      if (next_masked < masked.size() && masked[next_masked] == w)
        ++next_masked;
      else
        out.value += out.values[static_cast<std::size_t>(w)];
    }
    report.memory_bytes_per_world = report.memory_bytes / system->lanes();
    report.masked_worlds = std::move(masked);
    report.steps = options.steps;
    report.worlds = options.worlds;
    report.schedule = options.checkpoints.name();
    if (options.checkpoints.window > 0)
      report.label =
          "biased: the cotangent is dropped every " + std::to_string(options.checkpoints.window) + " steps";
    else if (!options.checkpoints.exact())
      report.label = "exact up to rounding of the reconstructed states";
    for (const Finding& f : findings.all())
      if (!f.label.empty()) report.label = f.label;
    const std::int64_t samples = Block<Real>::samples(options.steps),
                       spacing = Block<Real>::sample_spacing(options.steps);
    for (std::int64_t i = 0; i < samples; ++i) {
      report.sampled_steps.push_back(i == samples - 1 ? options.steps : i * spacing);
      report.adjoint_norm.push_back(
          std::sqrt(collector.total[static_cast<std::size_t>(collector.norms + i)]));
    }
  }

  // Whether the first world gives the same bits in every lane, moved along one generic direction. Noise is drawn for world + lane,
  // so a physics that uses it does not.
  bool lanes_agree(const Arguments<Real>& arguments) {
    const int lanes = system->lanes();
    if (lanes == 1) return true;
    Arguments<Real> direction = arguments;
    double golden = 0;  // multiples of the golden ratio, modulo 1
    const auto fill = [&golden](std::span<Real> values) {
      for (Real& v : values) {
        golden += 0.618033988749895;
        if (golden > 1) golden -= 1;
        v = static_cast<Real>(golden);
      }
    };
    fill(direction.x0);
    fill(direction.controls);
    for (std::size_t f = 0; f < activity.parameters.size(); ++f) fill(direction.parameters.values(f));
    auto block = take();
    block->load(arguments, 0, 0);
    block->load_tangent(direction);
    block->simulate_tangent(nullptr);
    bool agree = true;
    for (const Real* result : {block->final_state(), block->final_state_dot()}) {
      for (std::int64_t j = 0; j < system->state_size(); ++j) {
        agree = agree && std::memcmp(result + j, result + j / lanes * lanes, sizeof(Real)) == 0;
      }
    }
    give_back(std::move(block));
    return agree;
  }

  // One directional difference, along a fixed pseudo-random direction over everything that is active.
  void spot_check(Rollout& self, const Arguments<Real>& arguments, const Objective<Real>& objective,
                  Gradient<Real>& gradient) {
    std::uint64_t drawn = 0;
    const auto random = [&drawn] { return 2 * uniform(2026, 0, drawn++) - 1; };
    const double h = std::cbrt(double(std::numeric_limits<Real>::epsilon()));
    Arguments<Real> plus = arguments, minus = arguments;
    double expected = 0, scale = 0;
    const auto shift = [&](std::span<Real> p, std::span<Real> m, std::span<const Real> g) {
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double d = random() * std::max(1.0, std::abs(double(p[i])));
        p[i] = static_cast<Real>(p[i] + h * d);
        m[i] = static_cast<Real>(m[i] - h * d);
        const double moved = double(p[i]) - double(m[i]);
        expected += double(g[i]) * moved;
        scale += std::abs(double(g[i]) * moved);
      }
    };
    shift(plus.x0, minus.x0, gradient.x0);
    shift(plus.controls, minus.controls, gradient.controls);
    for (std::size_t f = 0; f < activity.parameters.size(); ++f) {
      if (activity.parameters[f])
        shift(plus.parameters.values(f), minus.parameters.values(f), gradient.parameters.values(f));
    }
    const double difference = self.value(plus, objective) - self.value(minus, objective);
    gradient.report.spot_check = scale > 0 ? std::abs(difference - expected) / scale : std::abs(difference);
  }
};

template <class Real>
Rollout<Real>::Rollout(std::shared_ptr<const System<Real>> system, RolloutOptions options)
    : impl_(std::make_unique<Impl>(std::move(system), std::move(options))) {}
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
  return {std::vector<Real>(static_cast<std::size_t>(s.states())),
          std::vector<Real>(static_cast<std::size_t>(impl_->knots * s.controls())), Parameters<Real>(s)};
}

namespace {

template <class Real>
void list_diverged(const Block<Real>& block, std::mutex& mutex, std::vector<std::int64_t>& list) {
  for (int l = 0; l < block.live_lanes(); ++l) {
    if (!block.diverged()[static_cast<std::size_t>(l)]) continue;
    const std::lock_guard lock(mutex);
    list.push_back(block.first_world() + l);
  }
}

}  // namespace

template <class Real>
Trajectory<Real> Rollout<Real>::simulate(const Arguments<Real>& arguments,
                                         const StateObserver<Real>& observer) {
  impl_->check(arguments, "");
  Trajectory<Real> out;
  Keeper<Real> keeper(*impl_->system, impl_->options, &out, observer);
  std::mutex mutex;
  impl_->for_each_block(arguments, [&](Block<Real>& block, std::int64_t) {
    block.simulate(nullptr, &keeper);
    list_diverged(block, mutex, out.diverged);
  });
  std::sort(out.diverged.begin(), out.diverged.end());
  return out;
}

template <class Real>
double Rollout<Real>::value(const Arguments<Real>& arguments, const Objective<Real>& objective,
                            const StateObserver<Real>& observer) {
  const std::vector<double> values = impl_->values(arguments, objective, observer, 0.0);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

template <class Real>
std::vector<double> Rollout<Real>::values(const Arguments<Real>& arguments,
                                          const Objective<Real>& objective) {
  return impl_->values(arguments, objective, {}, std::numeric_limits<double>::quiet_NaN());
}

template <class Real>
Trajectory<Real> Rollout<Real>::forward(const Arguments<Real>& arguments,
                                        const StateObserver<Real>& observer) {
  impl_->check(arguments, "");
  Trajectory<Real> out;
  Keeper<Real> keeper(*impl_->system, impl_->options, &out, observer);
  std::mutex mutex;
  for (auto& block : impl_->waiting) {
    if (block) impl_->give_back(std::move(block));
  }
  impl_->waiting.clear();
  impl_->waiting_arguments = arguments;
  std::vector<std::unique_ptr<Block<Real>>> waiting(static_cast<std::size_t>(impl_->blocks));
  parallel_for(impl_->blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      auto block = impl_->take();
      block->load(impl_->waiting_arguments, b * impl_->system->lanes());
      block->forward(nullptr, &keeper);
      list_diverged(*block, mutex, out.diverged);
      waiting[static_cast<std::size_t>(b)] = std::move(block);
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
    auto block = std::move(waiting[static_cast<std::size_t>(b)]);
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
  impl_->check(arguments, "");
  objective.check(impl_->options.steps, impl_->options.worlds);
  Gradient<Real> out;
  Collector<Real> collector(impl_->shape(), arguments, out, false);
  impl_->collect(collector, nullptr, [&](std::int64_t b) {
    auto block = impl_->take();
    block->load(arguments, b * impl_->system->lanes());
    block->forward(&objective, nullptr);
    block->backward(objective);
    return block;
  });
  if (impl_->options.spot_check) impl_->spot_check(*this, arguments, objective, out);
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
  impl_->check(arguments, "");
  impl_->check(direction, "direction: ");
  if (objective) objective->check(impl_->options.steps, impl_->options.worlds);
  const auto n = static_cast<std::int64_t>(impl_->system->signature().states());
  const int lanes = impl_->system->lanes();
  Tangent<Real> out;
  out.final_state.resize(static_cast<std::size_t>(impl_->options.worlds * n));
  out.final_state_dot.resize(out.final_state.size());
  std::vector<double> values(static_cast<std::size_t>(impl_->options.worlds)), rates(values);
  impl_->for_each_block(arguments, [&](Block<Real>& block, std::int64_t) {
    block.load_tangent(direction);
    block.simulate_tangent(objective);
    scatter(block, block.final_state(), n, lanes, out.final_state.data());
    scatter(block, block.final_state_dot(), n, lanes, out.final_state_dot.data());
    for (int l = 0; l < block.live_lanes(); ++l) {
      if (block.diverged()[static_cast<std::size_t>(l)]) continue;
      values[static_cast<std::size_t>(block.first_world() + l)] = block.loss()[static_cast<std::size_t>(l)];
      rates[static_cast<std::size_t>(block.first_world() + l)] =
          block.loss_dot()[static_cast<std::size_t>(l)];
    }
  });
  out.value = std::accumulate(values.begin(), values.end(), 0.0);
  out.value_dot = std::accumulate(rates.begin(), rates.end(), 0.0);
  return out;
}

template <class Real>
typename Rollout<Real>::HessianVector Rollout<Real>::hessian_vector(const Arguments<Real>& arguments,
                                                                    const Arguments<Real>& direction,
                                                                    const Objective<Real>& objective) {
  if (!impl_->system->capabilities().second_order) {
    throw Error({"this physics has no second derivatives", {}, "take differences of gradients"});
  }
  impl_->check(arguments, "");
  impl_->check(direction, "direction: ");
  objective.check(impl_->options.steps, impl_->options.worlds);
  HessianVector out;
  Collector<Real> gradient(impl_->shape(), arguments, out.gradient, false),
      product(impl_->shape(), arguments, out.product, true);
  impl_->collect(gradient, &product, [&](std::int64_t b) {
    auto block = impl_->take();
    block->load(arguments, b * impl_->system->lanes());
    block->load_tangent(direction);
    block->hessian_vector(objective);
    return block;
  });
  out.gradient.report.conclude(std::numeric_limits<Real>::epsilon());
  return out;
}

template <class Real>
std::vector<Real> Rollout<Real>::jacobian(const Arguments<Real>& arguments) {
  impl_->check(arguments, "");
  if (impl_->options.worlds != 1)
    throw Error("jacobian() is of a single world: make the rollout with worlds = 1");
  const Signature& s = impl_->system->signature();
  const std::int64_t n = s.states();
  const int lanes = impl_->system->lanes();
  std::vector<std::int64_t> columns;  // index among (x, p)
  for (std::int64_t i = 0; i < n; ++i) columns.push_back(i);
  for (std::size_t f = 0; f < impl_->activity.parameters.size(); ++f) {
    const Field& field = s.fields(Role::parameter)[f];
    for (std::int64_t i = 0; impl_->activity.parameters[f] && i < field.size; ++i)
      columns.push_back(n + field.offset + i);
  }
  const auto count = static_cast<std::int64_t>(columns.size());
  std::vector<Real> matrix(static_cast<std::size_t>(n * count));
  // Every lane is the same world, moved along another direction; where noise tells lanes apart, lane 0 alone is that world.
  const int directions = impl_->lanes_agree(arguments) ? lanes : 1;
  parallel_for(count, directions, [&](std::int64_t begin, std::int64_t end) {
    auto block = impl_->take();
    block->load(arguments, 0, 0);
    block->zero_tangent();
    for (std::int64_t c = begin; c < end; ++c) {
      const std::int64_t index = columns[static_cast<std::size_t>(c)];
      Real* seed = index < n ? block->x0_dot() + index * lanes : block->p_dot() + (index - n) * lanes;
      seed[c - begin] = Real(1);
    }
    block->simulate_tangent(nullptr);
    for (std::int64_t c = begin; c < end; ++c) {
      for (std::int64_t i = 0; i < n; ++i)
        matrix[static_cast<std::size_t>(i * count + c)] = block->final_state_dot()[i * lanes + (c - begin)];
    }
    impl_->give_back(std::move(block));
  });
  return matrix;
}

template class Rollout<float>;
template class Rollout<double>;

}  // namespace costate
