#include "costate/cluster/call.h"

#include <algorithm>
#include <cmath>

namespace costate::cluster {

void Counts::add(const Counts& other) {
  blocks += other.blocks, resumed += other.resumed, tasks += other.tasks;
  lost += other.lost, redone += other.redone, copied += other.copied;
  for (const auto& [worker, did] : other.workers) {
    workers[worker].blocks += did.blocks;
    workers[worker].seconds += did.seconds;
  }
}

Call::Call(std::int64_t points, Partition partition, CallOptions options)
    : partition_(partition), options_(options), blocks_(partition.blocks()), incomplete_(points) {
  check(partition);
  if (points < 1) throw Error({"there is no point to evaluate the job at", "", "give at least one"});
  for (std::int64_t p = 0; p < points; ++p) {
    sums_.emplace_back(blocks_);
    free_.push_back({p, root(blocks_)});
  }
  counts_.blocks = free_blocks_ = blocks_ * points;
}

void Call::settle(const Task& task, Part part) {
  TreeSum& sum = sums_[std::size_t(task.point)];
  sum.put(task.node, std::move(part));
  done_ += count(task);
  if (sum.complete()) --incomplete_;
}

void Call::resume(const Task& task, Part part) {
  if (task.node.index > (blocks_ - 1) >> task.node.level) return;  // there is no such block
  // Free nodes are split on the way down to this one.
  const auto holds = [&](const Task& t) {
    return t.point == task.point && t.node.level >= task.node.level &&
           task.node.index >> (t.node.level - task.node.level) == t.node.index;
  };
  auto at = std::find_if(free_.begin(), free_.end(), holds);
  if (at == free_.end()) return;  // a larger node that was read before has it
  while (at->node != task.node) {
    const Task whole = *at;
    at = free_.erase(at);
    if (whole.node.upper().first() < blocks_) at = free_.insert(at, {whole.point, whole.node.upper()});
    at = free_.insert(at, {whole.point, whole.node.lower()});
    if (!holds(*at)) ++at;
  }
  free_.erase(at);
  free_blocks_ -= count(task);
  counts_.resumed += count(task);
  settle(task, std::move(part));
}

std::optional<Task> Call::next(int worker, int workers, double now) {
  if (computes_.count(worker) > 0) return std::nullopt;
  std::optional<Task> task;
  if (free_.empty()) {
    task = straggler(worker, now);
    if (!task) return std::nullopt;
    counts_.copied += count(*task);
  } else {
    const std::int64_t most =
        std::clamp<std::int64_t>(free_blocks_ / (2 * std::max(1, workers)), 1, options_.most_blocks);
    while (count(free_.front()) > most) {
      const Task whole = free_.front();
      free_.pop_front();
      if (whole.node.upper().first() < blocks_) free_.push_front({whole.point, whole.node.upper()});
      free_.push_front({whole.point, whole.node.lower()});
    }
    task = free_.front();
    free_.pop_front();
    // One name for the same blocks: a node whose upper half is empty is its lower half.
    while (task->node.level > 0 && task->node.upper().first() >= blocks_) task->node = task->node.lower();
    free_blocks_ -= count(*task);
  }
  Dealt& dealt = dealt_[*task];
  if (dealt.since.empty()) dealt.first = now;
  dealt.since[worker] = now;
  computes_[worker] = *task;
  return task;
}

double Call::patience_for(const Task& task) const {
  if (answered_ == 0 || std::isinf(options_.patience)) return std::numeric_limits<double>::infinity();
  return options_.patience * seconds_ / double(answered_) * double(count(task));
}

// The one that was dealt first of those that take too long and that nobody else computes already.
std::optional<Task> Call::straggler(int worker, double now) const {
  const std::pair<const Task, Dealt>* oldest = nullptr;
  for (const auto& item : dealt_) {
    const Dealt& dealt = item.second;
    if (dealt.since.size() != 1 || dealt.since.count(worker) > 0) continue;
    if (now < dealt.first + patience_for(item.first)) continue;  // as next_look() says
    if (oldest == nullptr || dealt.first < oldest->second.first) oldest = &item;
  }
  return oldest ? std::optional(oldest->first) : std::nullopt;
}

double Call::next_look(double now) const {
  double soonest = std::numeric_limits<double>::infinity();
  for (const auto& [task, dealt] : dealt_)
    if (dealt.since.size() == 1) soonest = std::min(soonest, dealt.first + patience_for(task));
  return std::max(soonest, now);
}

bool Call::finished(int worker, const Task& task, Part part, double seconds) {
  const auto mine = computes_.find(worker);
  if (mine != computes_.end() && mine->second == task) computes_.erase(mine);
  Counts::Worker& did = counts_.workers[worker];
  did.blocks += count(task);
  did.seconds += seconds;
  const auto dealt = dealt_.find(task);
  if (dealt == dealt_.end() || dealt->second.since.count(worker) == 0) return false;
  seconds_ += seconds;
  answered_ += count(task);
  for (const auto& [other, since] : dealt->second.since) computes_.erase(other);
  dealt_.erase(dealt);
  ++counts_.tasks;
  settle(task, std::move(part));
  return true;
}

void Call::lost(int worker, const std::string& why) {
  const auto mine = computes_.find(worker);
  if (mine == computes_.end()) return;
  const Task task = mine->second;
  computes_.erase(mine);
  ++counts_.lost;
  const int tries = ++tries_[task];
  if (tries >= options_.most_tries) {
    const std::int64_t first = task.node.first(), last = task.node.end(blocks_) - 1;
    const Block lowest = partition_.at(first), highest = partition_.at(last);
    throw Error({"the worlds " + std::to_string(lowest.first) + " to " +
                     std::to_string(highest.first + highest.count - 1) + " have ended " +
                     std::to_string(tries) + " workers, the last one by " + why,
                 first == last ? "block " + std::to_string(first)
                               : "blocks " + std::to_string(first) + " to " + std::to_string(last),
                 "run these worlds alone to see why, or give a worker more memory: make blocks smaller"},
                Error::Kind::numerics);
  }
  Dealt& dealt = dealt_[task];
  dealt.since.erase(worker);
  if (!dealt.since.empty()) return;  // the other copy goes on
  dealt_.erase(task);
  counts_.redone += count(task);
  free_blocks_ += count(task);
  free_.push_front(task);
}

}  // namespace costate::cluster
