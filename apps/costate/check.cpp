#include "costate/study/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "commands.h"
#include "json.h"
#include "progress_bar.h"
#include "table.h"

namespace costate::app {
namespace {

constexpr int kMostSteps = 200;  // that are checked, unless --steps says another number

// The study over its first steps: as many as --steps says, or as --budget has time for.
std::unique_ptr<study::Study> open_to_check(Arguments arguments) {
  const auto open = [&](std::int64_t steps) {
    arguments.steps = int(steps);
    return open_study(arguments, true);
  };
  if (arguments.steps > 0) return open_study(arguments, true);
  if (arguments.device == "mpi") return open(kMostSteps);  // ranks open it once
  return open(study::steps_in_time(arguments.budget, kMostSteps, open));
}

// Says what is measured, and how long that may still take.
std::vector<check::Result> measured(study::Study& study, const Arguments& arguments) {
  using Clock = std::chrono::steady_clock;
  ProgressBar bar;
  const auto begun = Clock::now();
  const double promised = arguments.steps > 0 ? 0 : arguments.budget;  // where steps are chosen by it
  const auto show = [&](const std::string& what) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    const std::string when = seconds < promised ? "about " + clock_time(promised - seconds) + " left"
                                                : clock_time(seconds) + " so far";
    bar.show(int(seconds), int(std::max(promised, seconds) + 1), what + "  " + when);
  };
  return study::check_gradient(study, {.seed = arguments.seed, .progress = show});
}

}  // namespace

int run_check(const Arguments& arguments) {
  const auto study = open_to_check(arguments);
  const std::vector<check::Result> results = measured(*study, arguments);
  const bool passed =
      std::all_of(results.begin(), results.end(), [](const check::Result& r) { return r.passed(); });
  const auto verdict = [](const check::Result& r) {
    return r.skipped ? "skipped" : r.passed() ? "pass" : "FAIL";
  };
  if (arguments.json) {
    Json checks = Json::array();
    for (const check::Result& r : results)
      checks.push_back({{"name", r.name},
                        {"result", verdict(r)},
                        {"error", r.error},
                        {"gate", r.gate},
                        {"detail", r.detail}});
    print({{"passed", passed}, {"checks", checks}});
  } else {
    Table table({"check", "result", "error", "gate", ""});
    for (const check::Result& r : results)
      table.row(
          {r.name, verdict(r), r.skipped ? "" : brief(r.error), r.skipped ? "" : brief(r.gate), r.detail});
    fmt::print("{}\n{}\n", table.text(), passed ? "all checks passed" : "a check FAILED");
  }
  return passed ? 0 : 1;
}

}  // namespace costate::app
