#include "costate/cluster/simulated.h"

#include <cmath>
#include <queue>

#include "costate/core/philox.h"

namespace costate::cluster {
namespace {

class SimulatedWorkers final : public Simulated {
 public:
  explicit SimulatedWorkers(const Simulation& s) : s_(s) {
    for (int w = 0; w < s.workers; ++w) join(0);
  }

  std::string name() const override { return "simulated workers"; }
  std::int64_t most_blocks() const override { return s_.most_blocks; }
  std::int64_t messages() const override { return messages_; }
  double now() const override { return now_; }
  void begin(const Job& job) override { job_ = &job; }
  void send(int worker, const Work& work) override {
    const std::int64_t blocks = work.task.node.count(job_->partition().blocks());
    double seconds = s_.seconds_per_block * double(blocks) * (worker < s_.slow_workers ? 5 : 1) *
                     std::exp(s_.noise * normal(s_.seed, std::uint32_t(worker), ++draws_, 2));
    if (uniform(s_.seed, std::uint32_t(worker), draws_, 3) < s_.chance_of_death) {
      seconds *= uniform(s_.seed, std::uint32_t(worker), draws_, 4);
      push(now_ + seconds, {.kind = Event::Kind::lost, .worker = worker, .why = "a simulated failure"});
      join(now_ + seconds + 10 * s_.seconds_per_block);
      return;
    }
    ++messages_;
    push(now_ + seconds + 2 * s_.latency,
         {.kind = Event::Kind::finished,
          .worker = worker,
          .call = work.call,
          .task = work.task,
          .part = part_of_node(*job_, *work.theta, work.want, work.task.node),
          .seconds = seconds});
  }
  Event wait(double seconds) override {
    if (events_.empty() && seconds > 0) throw Error("no simulated worker is left");
    if (events_.empty()) return {};
    if (events_.top().when > now_ + seconds) {
      now_ += seconds;
      return {};
    }
    Event event = events_.top().event;
    now_ = std::max(now_, events_.top().when);
    events_.pop();
    return event;
  }

 private:
  struct Later {
    double when;
    std::int64_t number;
    Event event;
    bool operator<(const Later& other) const {  // the soonest is on top
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  void push(double when, Event event) { events_.push({when, pushed_++, std::move(event)}); }
  void join(double when) { push(when, {.kind = Event::Kind::joined, .worker = workers_++}); }

  Simulation s_;
  const Job* job_ = nullptr;
  double now_ = 0;
  std::int64_t pushed_ = 0, messages_ = 0;
  std::uint64_t draws_ = 0;
  int workers_ = 0;
  std::priority_queue<Later> events_;
};

}  // namespace

std::unique_ptr<Simulated> simulated(const Simulation& simulation) {
  return std::make_unique<SimulatedWorkers>(simulation);
}

}  // namespace costate::cluster
