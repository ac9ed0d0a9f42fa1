#include "costate/cluster/threads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace costate::cluster {
namespace {

class Threads final : public Transport {
 public:
  explicit Threads(int workers) : tasks_(std::size_t(workers)) {
    for (int w = 0; w < workers; ++w) events_.push_back({.kind = Event::Kind::joined, .worker = w});
    for (int w = 0; w < workers; ++w) threads_.emplace_back([this, w] { serve(w); });
  }
  ~Threads() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  std::string name() const override { return "threads"; }
  // They need the job, which belongs to the caller.
  bool copies_stragglers() const override { return false; }
  void begin(const Job& job) override { job_ = &job; }
  void send(int worker, const Work& work) override {
    {
      const std::lock_guard lock(mutex_);
      tasks_[std::size_t(worker)] = Order{work, *work.theta};
      ++computing_;
    }
    wake_.notify_all();
  }
  Event wait(double seconds) override {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !events_.empty(); });
    if (events_.empty()) return {};
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  void end() override {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return computing_ == 0; });
  }

 private:
  struct Order {
    Work work;
    std::vector<double> theta;
  };

  void serve(int worker) {
    std::unique_lock lock(mutex_);
    auto& mine = tasks_[std::size_t(worker)];
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || mine; });
      if (stopping_) return;
      const Order order = std::move(*mine);
      mine.reset();
      lock.unlock();
      const double began = now();
      Event event{.kind = Event::Kind::finished,
                  .worker = worker,
                  .call = order.work.call,
                  .task = order.work.task,
                  .part = part_of_node(*job_, order.theta, order.work.want, order.work.task.node)};
      event.seconds = now() - began;
      lock.lock();
      events_.push_back(std::move(event));
      --computing_;
      arrived_.notify_all();
    }
  }

  const Job* job_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_, arrived_;
  std::vector<std::optional<Order>> tasks_;
  std::deque<Event> events_;
  int computing_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Transport> threads(int workers) {
  if (workers < 0) throw Error({"a pool of " + std::to_string(workers) + " threads", "", "0: one per core"});
  const int cores = std::max(1, int(std::thread::hardware_concurrency()));
  return std::make_unique<Threads>(workers == 0 ? cores : workers);
}

}  // namespace costate::cluster
