#include "scene.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "costate/core/error.h"
#include "costate/io/scene_check.h"
#include "costate/view/replay.h"
#include "json.h"
#include "progress_bar.h"
#include "table.h"

namespace costate::app {
namespace {

Json to_json(const std::vector<std::pair<std::string, double>>& pairs) {
  Json json = Json::object();
  for (const auto& [name, value] : pairs) json[name] = value;
  return json;
}

}  // namespace

io::SceneOpening opening_of(const Arguments& arguments) {
  io::SceneOpening opening{.settings = settings_of(arguments), .from = arguments.from};
  if (arguments.iterations > 0)
    opening.settings.emplace_back("optimize.iterations", std::to_string(arguments.iterations));
  if (!arguments.method.empty()) opening.settings.emplace_back("optimize.method", arguments.method);
  return opening;
}

std::unique_ptr<io::SceneFunction> open_scene(const Arguments& arguments) {
  return io::open_scene(arguments.file, opening_of(arguments));
}

std::string output_prefix(const Arguments& arguments) {
  return arguments.output.empty() ? std::filesystem::path(arguments.file).stem().string() : arguments.output;
}

int run_scene(const Arguments& arguments) {
  const auto scene = open_scene(arguments);
  io::SceneOutcome outcome;
  ProgressBar bar;
  const auto begin = std::chrono::steady_clock::now();
  scene->on_recording = [&](std::int64_t done, std::int64_t steps) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    bar.show(int(done), int(steps),
             fmt::format("steps  {} left", clock_time(spent.count() * double(steps - done) / double(done))));
  };
  io::Recording recording = scene->record(scene->start(), &outcome);
  bar.finish();
  for (const auto& [name, fraction] : outcome.fractions)
    recording.caption +=
        fmt::format("{}{:.0f} % {}", recording.caption.empty() ? "" : ", ", 100 * fraction, name);
  const std::string prefix = output_prefix(arguments);
  io::write_recording(prefix + ".rec", recording);
  view::write_replay(prefix + ".html", {recording}, {.title = scene->title()});
  if (arguments.json) {
    print({{"loss", outcome.loss},
           {"terms", to_json(outcome.terms)},
           {"fractions", to_json(outcome.fractions)},
           {"steps", scene->steps()},
           {"recording", prefix + ".rec"},
           {"replay", prefix + ".html"}});
    return 0;
  }
  fmt::print("{}\n", scene->headline());
  if (!outcome.terms.empty()) {
    fmt::print("loss  {}\n\n", number(outcome.loss));
    Table table({"part of the loss", "value"});
    for (const auto& [name, value] : outcome.terms) table.row({name, brief(value)});
    fmt::print("{}", table.text());
  }
  for (const auto& [name, fraction] : outcome.fractions)
    fmt::print("{}: {:.1f} % of the particles\n", name, 100 * fraction);
  fmt::print("replay: {}.html, recording: {}.rec\n", prefix, prefix);
  return 0;
}

int grad_scene(const Arguments& arguments) {
  const auto scene = open_scene(arguments);
  if (!scene->optimize())
    throw Error({"there are no variables to differentiate by: the file has no [optimize]", scene->file(),
                 "add [optimize] with variables = [{name = \"...\", scale = 1}]"});
  const std::vector<double> x = scene->start();
  std::vector<double> gradient(x.size());
  const double loss = scene->value_and_gradient(x, gradient.data());
  const std::vector<io::SceneVariable>& variables = scene->variables();
  for (std::size_t i = 0; i < x.size(); ++i) gradient[i] /= variables[i].scale;  // by the variable itself
  const GradientReport& report = scene->report();
  if (arguments.json) {
    Json derivative = Json::object();
    for (std::size_t i = 0; i < x.size(); ++i) derivative[variables[i].name] = gradient[i];
    print({{"loss", loss},
           {"gradient", derivative},
           {"report",
            {{"schedule", report.schedule},
             {"steps", report.steps},
             {"memory_bytes", report.memory_bytes},
             {"growth_rate", report.growth_rate},
             {"advice", report.advice}}}});
    return 0;
  }
  fmt::print("loss  {}\n\n", number(loss));
  Table table({"variable", "value", "d loss / d variable"});
  for (std::size_t i = 0; i < x.size(); ++i)
    table.row({variables[i].name, brief(variables[i].start), brief(gradient[i])});
  fmt::print("{}\n{}", table.text(), report.to_text());
  return 0;
}

int check_scene(const Arguments& arguments) {
  io::SceneOpening opening = opening_of(arguments);
  opening.double_precision = true;
  opening.most_steps = arguments.steps;
  const auto scene = io::open_scene(arguments.file, opening);
  return report_checks(io::check(*scene, arguments.seed), arguments.json);
}

int info_scene(const Arguments& arguments) {
  const auto scene = open_scene(arguments);
  fmt::print("{}\n\n", scene->title().empty() ? scene->file() : scene->title());
  Table table;
  for (const auto& [what, value] : scene->facts()) table.row({what, value});
  fmt::print("{}", table.text());
  return 0;
}

int run_view(const Arguments& arguments) {
  std::vector<io::Recording> recordings;
  for (const std::string& file : arguments.files) {
    recordings.push_back(io::read_recording(file));
  }
  // Runs of one scene have one title: then their files tell them apart.
  const std::string title = recordings[0].title;
  const bool same = std::all_of(recordings.begin(), recordings.end(),
                                [&](const io::Recording& r) { return r.title == title; });
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (recordings[i].title.empty() || (recordings.size() > 1 && same))
      recordings[i].title = std::filesystem::path(arguments.files[i]).stem().string();
  }
  const std::string page = arguments.output.empty()
                               ? std::filesystem::path(arguments.files[0]).stem().string() + ".html"
                               : arguments.output;
  view::write_replay(page, recordings, {.title = arguments.title.empty() ? title : arguments.title});
  fmt::print("replay: {}\n", page);
  return 0;
}

}  // namespace costate::app
