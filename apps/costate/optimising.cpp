#include "optimising.h"

#include <fmt/core.h>

#include "pooled.h"
#include "stop_on_interrupt.h"

namespace costate::app {
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
                                 (pooled ? pooled->state() : "") +
                                 (StopOnInterrupt::stopped() ? "  stopping" : ""));
                    return !StopOnInterrupt::stopped();
                  },
              .values = pooled ? pooled->values() : nullptr,
              .residuals = pooled ? pooled->residuals() : nullptr});
  if (pooled && pool != nullptr) *pool = pooled->report();
  return optimum;
}

}  // namespace costate::app
