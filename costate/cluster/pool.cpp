#include "costate/cluster/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/core/interrupt.h"
#include "costate/core/progress.h"
#include "costate/core/text.h"

namespace costate::cluster {

double PoolReport::efficiency() const {
  double busy = 0;
  for (const auto& [worker, did] : counts.workers) busy += did.seconds;
  return worker_seconds > 0 ? busy / worker_seconds : 0;
}

std::string PoolReport::to_text() const {
  const Counts& c = counts;
  std::string text = executor + ": " + std::to_string(c.blocks) + " blocks in " + number(seconds, 3) +
                     " s by " + std::to_string(workers) + " workers, efficiency " + number(efficiency(), 3) +
                     "\n";
  if (c.resumed > 0) text += "  " + std::to_string(c.resumed) + " blocks were read from the log\n";
  if (c.lost > 0)
    text += "  " + std::to_string(c.lost) + " workers were lost, " + std::to_string(c.redone) +
            " blocks done again\n";
  if (c.copied > 0) text += "  " + std::to_string(c.copied) + " blocks of stragglers were computed twice\n";
  for (const auto& [worker, did] : c.workers)
    text += "  worker " + std::to_string(worker) + ": " + std::to_string(did.blocks) + " blocks, " +
            number(did.seconds, 3) + " s\n";
  return text;
}

Pool::Pool(std::unique_ptr<Transport> transport, PoolOptions options)
    : transport_(std::move(transport)), options_(std::move(options)) {}

PoolReport Pool::report() const {
  PoolReport report = report_;
  report.executor = transport_->name();
  report.workers = workers();
  return report;
}

void Pool::take(const Event& event, Call& call, const std::vector<std::string>& keys) {
  switch (event.kind) {
    case Event::Kind::nothing:
      return;
    case Event::Kind::joined:
      idle_.insert(event.worker);
      return;
    case Event::Kind::lost:
      idle_.erase(event.worker), busy_.erase(event.worker);
      return call.lost(event.worker, event.why);
    case Event::Kind::finished:
      return accept(event, call, keys);
  }
}

void Pool::accept(const Event& event, Call& call, const std::vector<std::string>& keys) {
  const auto asked = busy_.find(event.worker);
  if (asked == busy_.end() || asked->second != std::pair(event.call, event.task))
    throw Error({"a worker has answered what it was not asked for", "worker " + std::to_string(event.worker),
                 "is it the program that this driver started?"});
  busy_.erase(asked);
  idle_.insert(event.worker);
  if (event.call != call_) return;  // a straggler of an earlier call
  const std::int64_t before = call.done();
  if (!call.finished(event.worker, event.task, event.part, event.seconds)) return;
  // A failure is tried again when the run is: its cause may be gone by then.
  if (log_ && !event.part.failure)
    log_->append(keys[std::size_t(event.task.point)], event.task.node, event.part);
  Progress::advance(call.done() - before);
  if (options_.progress) options_.progress(call.done(), call.blocks(), workers());
}

void Pool::deal(Call& call, const std::vector<std::vector<double>>& points, Want want) {
  const int all = workers();
  for (auto worker = idle_.begin(); worker != idle_.end();) {
    const auto task = call.next(*worker, all, transport_->now());
    if (!task) return;
    transport_->send(*worker, {call_, *task, want, &points[std::size_t(task->point)]});
    busy_[*worker] = {call_, *task};
    worker = idle_.erase(worker);
  }
}

std::vector<Part> Pool::run(const Job& job, const std::vector<std::vector<double>>& points, Want want) {
  Call call(std::int64_t(points.size()), job.partition(),
            {.most_blocks = transport_->most_blocks(),
             .most_tries = options_.most_tries,
             .patience = transport_->copies_stragglers() ? options_.patience
                                                         : std::numeric_limits<double>::infinity()});
  std::vector<std::string> keys;
  if (!options_.log.empty()) {
    if (!log_) log_ = std::make_unique<Log>(options_.log, log_identity_ = job.identity());
    if (job.identity() != log_identity_)
      throw Error({"a pool with a log computes one job, and this is another", options_.log,
                   "make a second pool with a log of its own"});
    for (std::size_t p = 0; p < points.size(); ++p) {
      keys.push_back(Log::key_of(points[p], want == Want::gradient));
      for (auto& [node, part] : log_->of(keys[p])) call.resume({std::int64_t(p), node}, std::move(part));
    }
  }
  ++call_;
  const Progress progress(call.blocks());
  Progress::advance(call.done());
  const double began = transport_->now();
  struct End {  // also where an Error leaves
    Transport& transport;
    ~End() { transport.end(); }
  } end{*transport_};
  if (!call.complete()) {
    transport_->begin(job);
    // Who has left since the last call is not dealt anything.
    for (Event event = transport_->wait(0); event.kind != Event::Kind::nothing; event = transport_->wait(0))
      take(event, call, keys);
  }
  double last = began, worker_seconds = 0;
  while (!call.complete()) {
    deal(call, points, want);
    const double now = transport_->now();
    const int there = workers();
    // Now and then somebody may want to stop, or to see how far it is.
    const double until = idle_.empty() ? now + 0.1 : std::min(call.next_look(now), now + 0.1);
    const Event event = transport_->wait(until - now);
    const double later = transport_->now();
    worker_seconds += (later - last) * there;
    last = later;
    take(event, call, keys);
    stop_if_interrupted();
  }
  ++report_.calls;
  report_.seconds += transport_->now() - began;
  report_.worker_seconds += worker_seconds;
  report_.counts.add(call.counts());
  std::vector<Part> parts;
  for (std::size_t p = 0; p < points.size(); ++p) parts.push_back(call.total(std::int64_t(p)));
  return parts;
}

Evaluation Pool::conclude(const Job& job, Part part) const {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Evaluation e{.value = part.value, .gradient = std::move(part.sums), .report = part.report, .failure = {}};
  if (part.failure) {
    e.value = std::numeric_limits<double>::infinity();
    e.failure = part.failure;
    return e;
  }
  e.report.conclude(std::numeric_limits<double>::epsilon());
  if (std::int64_t(e.report.masked_worlds.size()) == job.partition().worlds) e.value = kNan;
  return e;
}

Evaluation Pool::value_and_grad(const Job& job, const std::vector<double>& theta) {
  Evaluation e = conclude(job, std::move(run(job, {theta}, Want::gradient)[0]));
  if (e.failure) throw Error(e.failure->message, e.failure->kind);
  return e;
}

double Pool::value(const Job& job, const std::vector<double>& theta) {
  const Evaluation e = conclude(job, std::move(run(job, {theta}, Want::value)[0]));
  if (e.failure) throw Error(e.failure->message, e.failure->kind);
  return e.value;
}

std::vector<Evaluation> Pool::population(const Job& job, const std::vector<std::vector<double>>& points,
                                         Want want) {
  std::vector<Evaluation> evaluations;
  for (Part& part : run(job, points, want)) {
    evaluations.push_back(conclude(job, std::move(part)));
    // A mistake in the input is the same at every point.
    const auto& failure = evaluations.back().failure;
    if (failure && failure->kind == Error::Kind::input) throw Error(failure->message, failure->kind);
  }
  return evaluations;
}

optim::Objective Pool::objective(const Job& job, std::size_t variables) {
  return [this, &job, variables](const double* x, double* gradient) {
    const Evaluation e = population(job, {{x, x + variables}}, Want::gradient)[0];
    if (e.failure) {  // the optimiser steps back from it
      std::fill_n(gradient, variables, std::numeric_limits<double>::quiet_NaN());
      return e.value;
    }
    if (e.gradient.size() != variables)
      throw Error({"the job has a gradient of " + std::to_string(e.gradient.size()) + " numbers for " +
                       std::to_string(variables) + " variables",
                   "", "return one number per variable from every block"});
    std::copy(e.gradient.begin(), e.gradient.end(), gradient);
    return e.value;
  };
}

optim::ValuesOfPoints Pool::values(const Job& job, std::size_t variables) {
  return [this, &job, variables](const double* points, int count, double* to) {
    std::vector<std::vector<double>> all;
    for (int k = 0; k < count; ++k, points += variables) all.emplace_back(points, points + variables);
    for (const Evaluation& e : population(job, all)) *to++ = e.value;
  };
}

}  // namespace costate::cluster
