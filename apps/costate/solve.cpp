#include <fmt/core.h>

#include <fstream>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/io/run.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "json.h"
#include "progress.h"
#include "table.h"

namespace costate::app {
namespace {

constexpr std::size_t kShownRows = 24;  // of a solution, at a terminal

const char* status_name(ode::Status status) {
  return status == ode::Status::finished     ? "finished"
         : status == ode::Status::terminated ? "terminated"
                                             : "zeno";
}

std::vector<std::string> columns(const io::Problem& problem) {
  std::vector<std::string> names = {"t"};
  for (const io::Variable& v : problem.states) {
    for (int i = 0; i < v.size; ++i) names.push_back(v.element(i));
  }
  for (const io::Variable& v : problem.controls) names.push_back(v.name);
  return names;
}

// What the columns after the time hold: the states, and the controls at that time.
std::vector<double> cells_of(const io::Problem& problem, const ode::Solution& solution, std::size_t k) {
  std::vector<double> cells(solution.row(k), solution.row(k) + solution.states());
  if (problem.controls.empty()) return cells;
  const std::vector<double> p = ode::parameters_at(solution, solution.t[k]);
  cells.insert(cells.end(), p.end() - std::ptrdiff_t(problem.controls.size()), p.end());
  return cells;
}

void write_csv(const std::string& path, const io::Problem& problem, const ode::Solution& solution) {
  std::ofstream file(path);
  if (!file) throw Error({"the file cannot be written", "--csv " + path, ""});
  std::string line;
  for (const std::string& name : columns(problem)) line += (line.empty() ? "" : ",") + name;
  file << line << "\n";
  for (std::size_t k = 0; k < solution.t.size(); ++k) {
    line = fmt::format("{}", solution.t[k]);
    for (const double cell : cells_of(problem, solution, k)) line += fmt::format(",{}", cell);
    file << line << "\n";
  }
  file.close();
  if (!file) throw Error({"the file could not be written to its end", "--csv " + path, ""});
}

void print_json(const io::Problem& problem, const ode::Solution& s) {
  Json json;
  json["t"] = s.t;
  Json states = Json::object();
  for (const io::Variable& v : problem.states) {
    Json series = Json::array();
    for (std::size_t k = 0; k < s.t.size(); ++k) {
      const double* x = s.row(k) + v.offset;
      series.push_back(v.array ? Json(std::vector<double>(x, x + v.size)) : Json(*x));
    }
    states[v.name] = series;
  }
  json["state"] = states;
  if (!problem.controls.empty()) {
    Json controls = Json::object();
    for (const io::Variable& v : problem.controls) {
      Json series = Json::array();
      for (std::size_t k = 0; k < s.t.size(); ++k)
        series.push_back(cells_of(problem, s, k)[std::size_t(s.states() + v.offset)]);
      controls[v.name] = series;
    }
    json["controls"] = controls;
  }
  json["end"] = {{"t", s.end_time()}, {"state", named(problem.states, s.final_state().data())}};
  if (problem.options.running) json["integral"] = s.integral;
  Json events = Json::array();
  for (const ode::EventRecord& e : s.events)
    events.push_back({{"name", problem.options.events[std::size_t(e.event)].name},
                      {"t", e.t},
                      {"before", named(problem.states, e.before.data())},
                      {"after", named(problem.states, e.after.data())}});
  json["events"] = events;
  json["status"] = status_name(s.status);
  json["message"] = s.message;
  json["counts"] = {{"accepted", s.counts.accepted}, {"rejected", s.counts.rejected}, {"rhs", s.counts.rhs}};
  json["notes"] = s.notes;
  print(json);
}

}  // namespace

int run_solve(const Arguments& arguments) {
  io::Problem problem = load(arguments);
  Progress progress(problem);
  for (int k = 0; k < arguments.dense; ++k) {
    const double theta = double(k) / (arguments.dense - 1);
    problem.options.t_eval.push_back(
        k == arguments.dense - 1 ? problem.t1 : problem.t0 + theta * (problem.t1 - problem.t0));
  }
  const ode::Solution solution = io::solve(problem);
  progress.finish();
  if (!arguments.csv.empty()) write_csv(arguments.csv, problem, solution);
  if (arguments.json) {
    print_json(problem, solution);
    return 0;
  }
  if (arguments.csv.empty()) {
    Table table(columns(problem));
    const std::size_t n = solution.t.size();
    const bool all = arguments.dense > 0 || n <= kShownRows;
    for (std::size_t k = 0; k < n; ++k) {
      if (!all && k == kShownRows / 2) {
        table.row({fmt::format("({} more)", n - kShownRows)});
        k = n - kShownRows / 2;
      }
      std::vector<std::string> cells = {number(solution.t[k])};
      for (const double cell : cells_of(problem, solution, k)) cells.push_back(number(cell));
      table.row(cells);
    }
    fmt::print("{}\n", table.text());
  } else {
    fmt::print("{} rows written to {}\n", solution.t.size(), arguments.csv);
  }
  if (problem.options.running) fmt::print("integral of the running loss  {}\n", number(solution.integral));
  for (const ode::EventRecord& e : solution.events)
    fmt::print("event {} at t = {}\n", problem.options.events[std::size_t(e.event)].name, number(e.t));
  fmt::print("{}: {} steps, {} rejected, {} evaluations\n", solution.message, solution.counts.accepted,
             solution.counts.rejected, solution.counts.rhs);
  for (const std::string& note : solution.notes) fmt::print("note: {}\n", note);
  return 0;
}

}  // namespace costate::app
