#include "costate/io/check.h"

#include <fmt/core.h>

#include <algorithm>

#include "commands.h"
#include "json.h"
#include "progress.h"
#include "table.h"

namespace costate::app {

int report_checks(const std::vector<io::CheckResult>& results, bool json) {
  const bool passed =
      std::all_of(results.begin(), results.end(), [](const io::CheckResult& r) { return r.passed(); });
  const auto verdict = [](const io::CheckResult& r) {
    return r.skipped ? "skipped" : r.passed() ? "pass" : "FAIL";
  };
  if (json) {
    Json checks = Json::array();
    for (const io::CheckResult& r : results)
      checks.push_back({{"name", r.name},
                        {"result", verdict(r)},
                        {"error", r.error},
                        {"gate", r.gate},
                        {"detail", r.detail}});
    print({{"passed", passed}, {"checks", checks}});
  } else {
    Table table({"check", "result", "error", "gate", ""});
    for (const io::CheckResult& r : results)
      table.row(
          {r.name, verdict(r), r.skipped ? "" : brief(r.error), r.skipped ? "" : brief(r.gate), r.detail});
    fmt::print("{}\n{}\n", table.text(), passed ? "all checks passed" : "a check FAILED");
  }
  return passed ? 0 : 1;
}

int run_check(const Arguments& arguments) {
  io::Problem problem = load(arguments);
  Progress progress(problem);
  progress.say("checking");
  const std::vector<io::CheckResult> results = io::check(problem, arguments.seed);
  progress.finish();
  return report_checks(results, arguments.json);
}

}  // namespace costate::app
