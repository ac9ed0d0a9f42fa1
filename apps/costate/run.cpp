// costate run: simulates, and writes what there is to see: a recording and its replay, or the solution of
// equations.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/view/replay.h"
#include "json.h"
#include "progress_bar.h"
#include "table.h"

namespace costate::app {
namespace {

constexpr std::size_t kShownRows = 24;  // of a solution, at a terminal

void write_csv(const std::string& path, const study::Run& run) {
  std::ofstream file(path);
  std::string line;
  for (const std::string& name : run.columns) line += (line.empty() ? "" : ",") + name;
  file << line << "\n";
  for (const std::vector<double>& row : run.rows) {
    line.clear();
    for (const double cell : row) line += fmt::format("{}{}", line.empty() ? "" : ",", cell);
    file << line << "\n";
  }
  file.close();
  if (!file) throw Error({"the file could not be written to its end", "--csv " + path, ""});
}

void write_trajectory(const std::string& path, const study::Run& run) {
  std::ofstream file(path, std::ios::binary);
  file << run.trajectory;
  file.close();
  if (!file) throw Error({"the file could not be written to its end", "--trajectory " + path, ""});
}

void print_solution(const study::Run& run, bool all) {
  Table table(run.columns);
  const std::size_t n = run.rows.size();
  for (std::size_t k = 0; k < n; ++k) {
    if (!all && n > kShownRows && k == kShownRows / 2) {
      table.row({fmt::format("({} more)", n - kShownRows)});
      k = n - kShownRows / 2;
    }
    std::vector<std::string> cells;
    for (const double cell : run.rows[k]) cells.push_back(number(cell));
    table.row(cells);
  }
  fmt::print("{}\n", table.text());
}

Json as_json(const study::Study& study, const study::Run& run) {
  Json json = {{"loss", run.loss}, {"terms", to_json(run.terms)}, {"fractions", to_json(run.fractions)}};
  if (study.steps() > 0) json["steps"] = study.steps();
  if (run.columns.empty()) return json;
  Json columns = Json::object();
  for (std::size_t c = 0; c < run.columns.size(); ++c) {
    Json series = Json::array();
    for (const std::vector<double>& row : run.rows) series.push_back(row[c]);
    columns[run.columns[c]] = series;
  }
  json["columns"] = columns;
  Json events = Json::array();
  for (const study::Run::Event& e : run.events)
    events.push_back({{"name", e.name}, {"t", e.t}, {"before", e.before}, {"after", e.after}});
  json["events"] = events;
  json["message"] = run.message;
  json["notes"] = run.notes;
  return json;
}

}  // namespace

std::string caption_of(const study::Run& run) {
  std::string text;
  for (const auto& [name, fraction] : run.fractions)
    text += fmt::format("{}{:.0f} % {}", text.empty() ? "" : ", ", 100 * fraction, name);
  return text;
}

int run_run(const Arguments& arguments) {
  const auto study = open_study(arguments);
  const std::string prefix = output_prefix(arguments);
  if (study->has_picture()) expect_writable_prefix(prefix);
  if (!arguments.csv.empty()) expect_writable(arguments.csv, "--csv");
  const std::string& trajectory = arguments.trajectory;
  if (!trajectory.empty() && !study->has_picture())
    throw Error({"equations have no trajectory of atoms", "--trajectory " + trajectory, "use --csv"});
  const std::string ending = std::filesystem::path(trajectory).extension().string();
  if (!trajectory.empty() && ending.empty())
    throw Error({"the file has no ending", "--trajectory " + trajectory, "use .xyz, .extxyz or .dcd"});
  if (!trajectory.empty()) expect_writable(trajectory, "--trajectory");
  const std::vector<std::string> told = tell_notes(*study);
  ProgressBar bar;
  const auto begin = std::chrono::steady_clock::now();
  const auto progress = [&](std::int64_t done, std::int64_t steps) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    bar.show(int(done), int(steps),
             fmt::format("steps  {} left", clock_time(spent.count() * double(steps - done) / double(done))));
  };
  study::Run run =
      study->run(study->start(), {.dense = arguments.dense, .trajectory = ending, .progress = progress});
  bar.finish();
  for (const auto& [name, value] : run.terms)
    if (!std::isfinite(value))
      throw Error({"the part '" + name + "' of the loss is not finite", arguments.file,
                   "look for a division by zero, a root or a logarithm of a negative number in it"},
                  Error::Kind::numerics);
  const bool recorded = run.recording.frames > 0;
  if (recorded) {
    run.recording.caption = caption_of(run);
    io::write_recording(prefix + ".rec", run.recording);
    view::write_replay(prefix + ".html", {run.recording}, {.title = study->title});
  }
  if (!arguments.csv.empty()) write_csv(arguments.csv, run);
  if (!trajectory.empty()) write_trajectory(trajectory, run);
  if (arguments.json) {
    Json json = as_json(*study, run);
    if (recorded) json.update({{"recording", prefix + ".rec"}, {"replay", prefix + ".html"}});
    print(json);
    return 0;
  }
  if (!run.columns.empty() && arguments.csv.empty()) print_solution(run, arguments.dense > 0);
  if (!arguments.csv.empty()) fmt::print("{} rows written to {}\n", run.rows.size(), arguments.csv);
  if (recorded) fmt::print("{}\n", study->headline());
  if (!run.terms.empty()) {
    fmt::print("loss  {}\n\n", number(run.loss));
    Table table({"part of the loss", "value"});
    for (const auto& [name, value] : run.terms) table.row({name, brief(value)});
    fmt::print("{}", table.text());
  }
  for (const auto& [name, fraction] : run.fractions)
    fmt::print("{}: {:.1f} % of the points\n", name, 100 * fraction);
  for (const study::Run::Event& e : run.events) fmt::print("event {} at t = {}\n", e.name, number(e.t));
  if (!run.message.empty()) fmt::print("{}\n", run.message);
  for (const std::string& note : run.notes)
    if (std::find(told.begin(), told.end(), note) == told.end()) fmt::print("note: {}\n", note);
  if (recorded) fmt::print("replay: {}.html, recording: {}.rec\n", prefix, prefix);
  if (!trajectory.empty()) fmt::print("{} frames written to {}\n", run.recording.frames, trajectory);
  return 0;
}

}  // namespace costate::app
