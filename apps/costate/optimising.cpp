#include "optimising.h"

#include <fmt/core.h>

#include "stop_on_interrupt.h"

namespace costate::app {
study::Optimum optimised(study::Study& study, const Arguments& arguments, const std::string& state_file,
                         ProgressBar& bar) {
  const StopOnInterrupt stop;
  bar.show(0, study.optimize() ? study.optimize()->iterations : 0, "first gradient");
  return study::optimise(
      study, {.state_file = state_file,
              .resume = arguments.resume,
              .progress = [&](const study::OptimiseProgress& p) {
                bar.show(p.iteration, p.iterations,
                         fmt::format("loss {:.4g}  best {:.4g}  gradient {:.2g}  {} left", p.value, p.best,
                                     p.gradient_norm, clock_time(p.seconds_left)) +
                             (StopOnInterrupt::stopped() ? "  stopping" : ""));
                return !StopOnInterrupt::stopped();
              }});
}

}  // namespace costate::app
