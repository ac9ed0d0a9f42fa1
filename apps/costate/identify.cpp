#include <fmt/core.h>

#include <cmath>

#include "commands.h"
#include "costate/core/error.h"
#include "json.h"
#include "optimising.h"
#include "table.h"

namespace costate::app {
namespace {

constexpr double kStrong = 0.95;  // a correlation that is worth a word

// Two variables that the data hardly tell apart.
std::vector<std::string> entangled(const study::Optimum& o, const std::vector<study::Variable>& variables) {
  std::vector<std::string> pairs;
  const std::size_t n = variables.size();
  for (std::size_t i = 0; i < n && !o.correlation.empty(); ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      if (std::abs(o.correlation[i * n + j]) > kStrong)
        pairs.push_back(fmt::format("{} and {}: correlation {:.3f}", variables[i].name, variables[j].name,
                                    o.correlation[i * n + j]));
  return pairs;
}

Json report_of(const study::Optimum& o, const std::vector<study::Variable>& variables,
               const std::vector<double>& values) {
  Json json = {{"variables", named(variables, values)},
               {"loss", o.best_value},
               {"start_loss", o.start_value},
               {"residual_rms", o.residual_rms},
               {"unseen", o.unseen},
               {"report",
                {{"iterations", o.iterations},
                 {"evaluations", o.evaluations},
                 {"converged", o.converged},
                 {"reason", o.reason}}}};
  if (!o.standard_deviation.empty()) {
    json["standard_deviation"] = named(variables, o.standard_deviation);  // null: infinite
    json["correlation"] = o.correlation;
  }
  if (!o.laplace_deviation.empty()) json["laplace_deviation"] = named(variables, o.laplace_deviation);
  return json;
}

}  // namespace

int run_identify(const Arguments& arguments) {
  const auto study = open_study(arguments);
  if (study->residuals() == 0)
    throw Error({"there are no measurements to identify anything from", arguments.file,
                 "add [fit] with variables and data; of a [[loss]] use costate optimize"});
  ProgressBar bar;
  const std::string prefix = output_prefix(arguments);
  const bool files = arguments.resume || !arguments.output.empty();
  if (files) expect_writable_prefix(prefix);
  std::string pool;
  const study::Optimum o = optimised(*study, arguments, files ? prefix + ".state.json" : "", bar, &pool);
  bar.finish();
  const std::vector<study::Variable>& variables = study->variables();
  std::vector<double> values;
  for (std::size_t i = 0; i < variables.size(); ++i) values.push_back(o.best[i] * variables[i].scale);
  if (arguments.json) {
    Json json = report_of(o, variables, values);
    if (!pool.empty()) json["pool"] = pool;
    print(json);
    return 0;
  }
  const bool sure = !o.standard_deviation.empty();
  const bool whole = !o.laplace_deviation.empty();  // error bars of the whole Hessian, too
  std::vector<std::string> head = {"variable", "start", "found"};
  if (sure) head.push_back("+-");
  if (whole) head.push_back("+- (Laplace)");
  Table table(head);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    std::vector<std::string> cells = {variables[i].name, brief(o.start[i] * variables[i].scale),
                                      fmt::format("{:.6g}", values[i])};
    if (sure)
      cells.push_back(std::isfinite(o.standard_deviation[i]) ? brief(o.standard_deviation[i]) : "not seen");
    if (whole)
      cells.push_back(std::isfinite(o.laplace_deviation[i]) ? brief(o.laplace_deviation[i]) : "not seen");
    table.row(cells);
  }
  fmt::print("{}\n", table.text());
  fmt::print("{} measurements; residuals: {:.2f} standard deviations\n", study->residuals(), o.residual_rms);
  for (const std::string& words : o.unseen) fmt::print("{}\n", words);
  for (const std::string& pair : entangled(o, variables)) fmt::print("{}\n", pair);
  if (!sure) fmt::print("there are not more measurements than variables: no error bars\n");
  fmt::print("{} iterations; {}\n{}", o.iterations, o.reason, pool);
  return 0;
}

}  // namespace costate::app
