// Progress: how far one long call has come, for whoever watches.
//
// A call that knows how much there is to do makes a Progress; the threads that work for it say what they have
// done. Whoever watches (core/interrupt.h calls it in the thread of the call, between steps) asks for the
// part. A step back counts twice as much as a step forward; steps that are taken again count for nothing, so
// the part never falls.
// Tests: tests/core/progress_test.cpp, tests/python/test_package.py.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace costate {

class Progress {
 public:
  // Of the calling thread, until it ends. A call inside another one has its own.
  explicit Progress(std::int64_t all) : all_(all), outer_(of_thread()) { of_thread() = this; }
  ~Progress() {
    of_thread() = outer_;
    if (void (*const ended)() = when_ended().load(std::memory_order_relaxed)) ended();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Called in the thread of every call that ends: time to wipe a bar off. Null: nobody. Of the whole process.
  static void set_ended(void (*ended)()) { when_ended().store(ended); }

  // Null: the thread does nothing that says how far it is.
  static Progress* current() { return of_thread(); }
  double part() const {
    return all_ > 0 ? std::min(1.0, static_cast<double>(done_.load(std::memory_order_relaxed)) /
                                        static_cast<double>(all_))
                    : 1.0;
  }

  // A thread that works for the call, as long as this lives.
  class Helper {
   public:
    explicit Helper(Progress* of) : before_(of_thread()) { of_thread() = of; }
    ~Helper() { of_thread() = before_; }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

   private:
    Progress* before_;
  };
  static constexpr int kBack = 2;  // what a step back counts
  static void advance(std::int64_t amount) {
    if (Progress* progress = of_thread()) progress->done_.fetch_add(amount, std::memory_order_relaxed);
  }

 private:
  static std::atomic<void (*)()>& when_ended() {
    static std::atomic<void (*)()> ended{nullptr};
    return ended;
  }
  static Progress*& of_thread() {
    static thread_local Progress* current = nullptr;
    return current;
  }
  std::atomic<std::int64_t> done_{0};
  std::int64_t all_;
  Progress* outer_;
};

}  // namespace costate
