#include <fmt/core.h>

#include <span>

#include "commands.h"
#include "costate/io/run.h"
#include "json.h"
#include "progress.h"
#include "table.h"

namespace costate::app {
namespace {

void print_json(const io::Problem& problem, const ode::Solution& solution, const ode::Gradient& g) {
  Json json;
  json["loss"] = g.value;
  json["gradient"] = {{"state", named(problem.states, g.x0.data())},
                      {"parameters", named(problem.parameters, g.parameters["p"].data())},
                      {"t0", g.t0},
                      {"t1", g.t1}};
  if (g.dt) json["gradient"]["dt"] = *g.dt;
  if (!problem.controls.empty()) json["gradient"]["controls"] = named_controls(problem, g.controls);
  Json events = Json::array();
  for (const ode::EventRecord& e : solution.events) events.push_back(e.t);
  json["events"] = events;
  Json notes = Json::array();
  for (const std::string& note : solution.notes) notes.push_back(note);
  json["report"] = {{"estimator", g.report.estimator},
                    {"label", g.report.label},
                    {"steps", g.report.steps},
                    {"growth_rate", g.report.growth_rate},
                    {"end_time", solution.end_time()},
                    {"advice", g.report.advice},
                    {"notes", notes}};
  print(json);
}

void rows(Table& table, const std::string& prefix, const std::vector<io::Variable>& variables,
          const std::vector<double>& values, std::span<const double> derivative) {
  for (const io::Variable& v : variables) {
    for (int i = 0; i < v.size; ++i) {
      const std::size_t at = std::size_t(v.offset + i);
      table.row({prefix + v.element(i), number(values[at]), number(derivative[at])});
    }
  }
}

}  // namespace

int run_grad(const Arguments& arguments) {
  io::Problem problem = load(arguments);
  Progress progress(problem);
  const ode::Solution solution = io::solve(problem);
  progress.say("differentiating");
  const ode::Gradient g = io::gradient(problem, solution, arguments.adjoint);
  progress.finish();
  if (arguments.json) {
    print_json(problem, solution, g);
    return 0;
  }
  fmt::print("loss  {}\n\n", number(g.value));
  Table table({"input", "value", "d loss / d input"});
  rows(table, "state.", problem.states, problem.y0, g.x0);
  rows(table, "parameters.", problem.parameters, problem.p, g.parameters["p"]);
  for (const io::Variable& v : problem.controls) {
    for (int i = 0; i < v.size; ++i) {
      const std::size_t at = problem.control_index(v, i);
      table.row(
          {"controls." + v.element(i), number(problem.options.controls.values[at]), number(g.controls[at])});
    }
  }
  table.row({"t0", number(problem.t0), number(g.t0)});
  table.row({"t1", number(problem.t1), number(g.t1)});
  if (g.dt) table.row({"dt", number(problem.options.dt), number(*g.dt)});
  fmt::print("{}", table.text());
  if (!solution.events.empty()) {
    fmt::print("\nevents\n");
    Table events;
    for (const ode::EventRecord& e : solution.events)
      events.row({problem.options.events[std::size_t(e.event)].name, "t =", number(e.t)});
    fmt::print("{}", events.text());
  }
  fmt::print("\n{}", g.report.to_text());
  for (const std::string& note : solution.notes) fmt::print("note: {}\n", note);
  return 0;
}

}  // namespace costate::app
