#include "optimising.h"

#include <fmt/core.h>

#include <csignal>

#include "pooled.h"

namespace costate::app {
namespace {

volatile std::sig_atomic_t stopped = 0;

// The first Ctrl-C ends after the current iteration, with the best so far; a second one ends at once.
class StopOnInterrupt {
 public:
  StopOnInterrupt() {
    stopped = 0;
    before_ = std::signal(SIGINT, [](int) {
      stopped = 1;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  ~StopOnInterrupt() { std::signal(SIGINT, before_); }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace

study::Optimum optimised(study::Study& study, const Arguments& arguments, const std::string& state_file,
                         ProgressBar& bar, std::string* pool) {
  const auto pooled = arguments.pool.empty() ? nullptr : std::make_unique<Pooled>(study, arguments);
  const StopOnInterrupt stop;
  bar.show(0, study.optimize() ? study.optimize()->iterations : 0, "first gradient");
  study::Optimum optimum = study::optimise(
      study, {.state_file = state_file,
              .resume = arguments.resume,
              .progress =
                  [&](const study::OptimiseProgress& p) {
                    bar.show(p.iteration, p.iterations,
                             fmt::format("loss {:.4g}  best {:.4g}  gradient {:.2g}  {} left", p.value,
                                         p.best, p.gradient_norm, clock_time(p.seconds_left)) +
                                 (stopped ? "  stopping" : ""));
                    return stopped == 0;
                  },
              .values = pooled ? pooled->values() : nullptr});
  if (pooled && pool != nullptr) *pool = pooled->report();
  return optimum;
}

}  // namespace costate::app
