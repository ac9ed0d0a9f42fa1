// Progress: tells somebody at a terminal how far a run has come, once it has taken a second.
//
// The vector field is wrapped so that the time of its latest evaluation can be watched from a thread of its own. Nothing
// is wrapped and no thread is started unless stderr is a terminal.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "costate/io/problem.h"

namespace costate::app {

class Progress {
 public:
  explicit Progress(io::Problem& problem);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Before results are printed: takes the line away.
  void finish();
  // What is being done now: "solving", "iteration 12, loss 0.3". Shown beside the time.
  void say(const std::string& activity);

 private:
  void show();

  double t0_, t1_;
  std::shared_ptr<std::atomic<double>> time_;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;
  std::string activity_ = "solving";
  std::thread thread_;
};

}  // namespace costate::app
