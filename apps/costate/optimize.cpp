#include "costate/io/optimize.h"

#include <fmt/core.h>

#include "commands.h"
#include "json.h"
#include "progress.h"
#include "table.h"

namespace costate::app {

int run_optimize(const Arguments& arguments) {
  io::Problem problem = load(arguments);
  Progress progress(problem);
  const io::Optimum o = io::optimize(problem, [&](const optim::Progress& p) {
    progress.say(fmt::format("iteration {}, loss {:.6g}", p.iteration, p.value));
    return true;
  });
  progress.finish();
  if (arguments.json) {
    Json variables = Json::object(), start = Json::object(), deviation = Json::object();
    for (std::size_t i = 0; i < o.variables.size(); ++i) {
      variables[o.variables[i].name] = o.best[i];
      start[o.variables[i].name] = o.start[i];
      if (!o.standard_deviation.empty()) deviation[o.variables[i].name] = o.standard_deviation[i];
    }
    Json json = {
        {"loss", o.result.value}, {"start_loss", o.start_value}, {"variables", variables}, {"start", start}};
    if (!deviation.empty()) json["standard_deviation"] = deviation;
    json["report"] = {{"method", o.method},
                      {"iterations", o.result.iterations},
                      {"evaluations", o.result.evaluations},
                      {"converged", o.result.converged()},
                      {"reason", o.result.reason}};
    print(json);
    return 0;
  }
  fmt::print("loss  {} at the start, {} at the end\n\n", number(o.start_value), number(o.result.value));
  std::vector<std::string> head = {"variable", "start", "end"};
  if (!o.standard_deviation.empty()) head.push_back("standard deviation");
  Table table(head);
  for (std::size_t i = 0; i < o.variables.size(); ++i) {
    std::vector<std::string> cells = {o.variables[i].name, number(o.start[i]), number(o.best[i])};
    if (!o.standard_deviation.empty()) cells.push_back(brief(o.standard_deviation[i]));
    table.row(cells);
  }
  fmt::print("{}\n{}: {} iterations, {} evaluations; {}\n", table.text(), o.method, o.result.iterations,
             o.result.evaluations, o.result.reason);
  return 0;
}

}  // namespace costate::app
