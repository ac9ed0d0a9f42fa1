// StopOnInterrupt: the first Ctrl-C ends after the current iteration, with what there is; a second one ends
// at once.
#pragma once

#include <csignal>

namespace costate::app {

class StopOnInterrupt {
 public:
  StopOnInterrupt() {
    flag() = 0;
    before_ = std::signal(SIGINT, [](int) {
      flag() = 1;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  ~StopOnInterrupt() { std::signal(SIGINT, before_); }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

  static bool stopped() { return flag() != 0; }

 private:
  static volatile std::sig_atomic_t& flag() {
    static volatile std::sig_atomic_t stopped = 0;
    return stopped;
  }
  void (*before_)(int);
};

}  // namespace costate::app
