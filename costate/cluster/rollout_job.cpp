#include "costate/cluster/rollout_job.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "costate/cluster/bytes.h"
#include "costate/cluster/shifted.h"
#include "costate/system/run/pool.h"

namespace costate::cluster {
namespace {

using Real = double;

class RolloutJob final : public Job {
 public:
  RolloutJob(std::shared_ptr<const System<Real>> system, RolloutOptions options, Arguments<Real> arguments,
             ObjectivePtr<Real> objective, RolloutJobOptions how)
      : system_(std::move(system)),
        options_(std::move(options)),
        arguments_(std::move(arguments)),
        objective_(std::move(objective)),
        how_(std::move(how)),
        partition_{options_.worlds, how_.block},
        whole_(how_.block, *this),
        last_(partition_.worlds - (partition_.blocks() - 1) * partition_.block, *this) {
    check(partition_);
    const Signature& fields = system_->signature();
    const std::vector<bool> chosen = fields.match(Role::parameter, how_.variables);
    for (std::size_t f = 0; f < chosen.size(); ++f) {
      if (!chosen[f]) continue;
      const Field& field = fields.fields(Role::parameter)[f];
      if (arguments_.parameters.per_world(f))
        throw Error({"the variable " + field.name + " is different in every world", "rollout_job",
                     "give one value for all worlds"});
      variables_.push_back(f);
      size_ += std::size_t(field.size);
    }
    options_.active = how_.variables;
    objective_->check(options_.steps, options_.worlds);
  }

  Partition partition() const override { return partition_; }
  std::string identity() const override {
    Writer to;
    to.text("rollout").text(how_.name).integer(options_.steps).integer(options_.hold);
    to.integer(options_.worlds).integer(how_.block).integer(std::int64_t(options_.seed));
    to.integer(options_.on_divergence == OnDivergence::mask_world).text(options_.checkpoints.name());
    to.numbers(arguments_.x0).numbers(arguments_.controls);
    for (const Role role : {Role::state, Role::control})
      for (const Field& field : system_->signature().fields(role)) to.text(field.name).integer(field.size);
    const auto& fields = system_->signature().fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const auto values = arguments_.parameters.values(f);
      to.text(fields[f].name).numbers({values.begin(), values.end()});
    }
    for (const std::string& glob : how_.variables) to.text(glob);
    return to.bytes();
  }

  Part part(const std::vector<double>& theta, const Block& block, Want want) const override {
    if (theta.size() != size_)
      throw Error({"theta has " + std::to_string(theta.size()) + " numbers, the variables have " +
                       std::to_string(size_),
                   "rollout_job", ""});
    const Arguments<Real> arguments = of_block(theta, block);
    auto& idle = block.count == partition_.block ? whole_.idle : last_.idle;
    auto run = idle.take();
    *run->first = block.first;
    const Objective<Real>& objective = *run->objective;
    try {
      Part part = want == Want::gradient ? gradient(*run, arguments, objective, block)
                                         : value(*run, arguments, objective, block);
      idle.give_back(std::move(run));
      return part;
    } catch (const Error& error) {
      Error::Message message = error.message();
      message.where = in_the_whole_job(message.where, block.first);
      throw Error(message, error.kind());
    }
  }

 private:
  struct Ready {
    std::shared_ptr<std::int64_t> first;
    ObjectivePtr<Real> objective;
    Rollout<Real> rollout;
  };
  // Rollouts of so many worlds, one per thread that computes.
  struct Rollouts {
    Rollouts(std::int64_t worlds, const RolloutJob& job)
        : idle([worlds, &job] {
            const auto first = std::make_shared<std::int64_t>(0);
            RolloutOptions options = job.options_;
            options.worlds = worlds;
            return std::make_unique<Ready>(Ready{first,
                                                 shifted<Real>(job.objective_, first, job.options_.worlds),
                                                 Rollout<Real>(shifted<Real>(job.system_, first), options)});
          }) {}
    costate::Pool<Ready> idle;
  };

  // Rows [first, first + count) of what has a row per world.
  std::vector<Real> rows(std::span<const Real> all, std::int64_t row, const Block& block) const {
    if (std::int64_t(all.size()) != row * options_.worlds || row == 0) return {all.begin(), all.end()};
    return {all.begin() + block.first * row, all.begin() + (block.first + block.count) * row};
  }
  Arguments<Real> of_block(const std::vector<double>& theta, const Block& block) const {
    const Signature& fields = system_->signature();
    const std::int64_t knots = (options_.steps + options_.hold - 1) / options_.hold;
    Arguments<Real> to{rows(arguments_.x0, fields.states(), block),
                       rows(arguments_.controls, knots * fields.controls(), block), Parameters<Real>(fields)};
    const double* next = theta.data();
    std::size_t variable = 0;
    for (std::size_t f = 0; f < fields.fields(Role::parameter).size(); ++f) {
      const std::int64_t size = fields.fields(Role::parameter)[f].size;
      if (variable < variables_.size() && variables_[variable] == f) {
        to.parameters.set(f, std::vector<Real>(next, next + size));
        next += size, ++variable;
      } else {
        const auto values = arguments_.parameters.values(f);
        to.parameters.set(f, arguments_.parameters.per_world(f)
                                 ? rows(values, size, block)
                                 : std::vector<Real>(values.begin(), values.end()));
      }
    }
    return to;
  }

  Part gradient(Ready& run, const Arguments<Real>& arguments, const Objective<Real>& objective,
                const Block& block) const {
    const Gradient<Real> g = run.rollout.value_and_gradient(arguments, objective);
    Part part{.value = g.value, .sums = {}, .report = g.report, .failure = {}};
    for (const std::size_t f : variables_) {
      const auto values = g.parameters.values(f);
      part.sums.insert(part.sums.end(), values.begin(), values.end());
    }
    keep_findings(part.report);
    for (std::int64_t& world : part.report.masked_worlds) world += block.first;
    if (std::int64_t(part.report.masked_worlds.size()) == block.count) part.value = 0;
    return part;
  }
  Part value(Ready& run, const Arguments<Real>& arguments, const Objective<Real>& objective,
             const Block& block) const {
    Part part;
    const std::vector<double> values = run.rollout.values(arguments, objective);
    // Not a number: a world that is masked, or a loss that is not a number in a world that did not diverge.
    std::vector<std::int64_t> masked;
    if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
      masked = run.rollout.simulate(arguments).diverged;
    for (std::size_t w = 0; w < values.size(); ++w) {
      if (std::binary_search(masked.begin(), masked.end(), std::int64_t(w)))
        part.report.masked_worlds.push_back(block.first + std::int64_t(w));
      else
        part.value += values[w];
    }
    part.report.worlds = block.count;
    return part;
  }

  std::shared_ptr<const System<Real>> system_;
  RolloutOptions options_;
  Arguments<Real> arguments_;
  ObjectivePtr<Real> objective_;
  RolloutJobOptions how_;
  Partition partition_;
  std::vector<std::size_t> variables_;  // positions of parameters
  std::size_t size_ = 0;
  mutable Rollouts whole_, last_;
};

}  // namespace

std::shared_ptr<const Job> rollout_job(std::shared_ptr<const System<double>> system, RolloutOptions options,
                                       Arguments<double> arguments, ObjectivePtr<double> objective,
                                       RolloutJobOptions how) {
  check(Partition{options.worlds, how.block});
  return std::make_shared<RolloutJob>(std::move(system), std::move(options), std::move(arguments),
                                      std::move(objective), std::move(how));
}

std::vector<double> start_of(const Arguments<double>& arguments, const std::vector<std::string>& variables) {
  std::vector<double> theta;
  const std::vector<bool> chosen = arguments.parameters.signature().match(Role::parameter, variables);
  for (std::size_t f = 0; f < chosen.size(); ++f) {
    const auto values = arguments.parameters.values(f);
    if (chosen[f]) theta.insert(theta.end(), values.begin(), values.end());
  }
  return theta;
}

}  // namespace costate::cluster
