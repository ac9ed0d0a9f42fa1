#include "costate/study/check.h"

#include <fmt/core.h>

#include <algorithm>

#include "commands.h"
#include "json.h"
#include "table.h"

namespace costate::app {

int run_check(const Arguments& arguments) {
  const auto study = open_study(arguments, true);
  const std::vector<check::Result> results = study::check_gradient(*study, arguments.seed);
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
