#include "scene.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "costate/core/error.h"
#include "costate/io/scene_check.h"
#include "costate/io/scene_optimize.h"
#include "costate/io/scene_problem.h"
#include "costate/view/replay.h"
#include "json.h"
#include "table.h"

namespace costate::app {
namespace {

Json to_json(const std::vector<std::pair<std::string, double>>& pairs) {
  Json json = Json::object();
  for (const auto& [name, value] : pairs) json[name] = value;
  return json;
}

template <class Real>
int run(const io::Scene& scene, const Arguments& arguments) {
  io::SceneProblem<Real> problem(scene);
  io::SceneOutcome outcome;
  io::Recording recording = problem.record(problem.start(), &outcome);
  for (const auto& [name, fraction] : outcome.fractions)
    recording.caption +=
        fmt::format("{}{:.0f} % {}", recording.caption.empty() ? "" : ", ", 100 * fraction, name);
  const std::string prefix = output_prefix(arguments);
  io::write_recording(prefix + ".rec", recording);
  view::write_replay(prefix + ".html", {recording}, {.title = scene.title});
  if (arguments.json) {
    print({{"loss", outcome.loss},
           {"terms", to_json(outcome.terms)},
           {"fractions", to_json(outcome.fractions)},
           {"steps", scene.steps},
           {"recording", prefix + ".rec"},
           {"replay", prefix + ".html"}});
    return 0;
  }
  fmt::print("{} particles, {} steps of {} s\n", mpm::particle_count(scene.model), scene.steps,
             brief(scene.model.dt));
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

template <class Real>
int grad(const io::Scene& scene, const Arguments& arguments) {
  if (!scene.optimize)
    throw Error({"there are no variables to differentiate by: the file has no [optimize]", scene.file,
                 "add [optimize] with variables = [{name = \"jug.angle\", scale = 5}]"});
  io::SceneProblem<Real> problem(scene);
  const std::vector<double> x = problem.start();
  std::vector<double> gradient(x.size());
  const double loss = problem.value_and_gradient(x, gradient.data());
  const std::vector<io::SceneVariable>& variables = scene.optimize->variables;
  for (std::size_t i = 0; i < x.size(); ++i) gradient[i] /= variables[i].scale;  // by the variable itself
  const GradientReport& report = problem.report();
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

}  // namespace

io::Scene load_scene(const Arguments& arguments) {
  std::vector<io::Setting> settings = settings_of(arguments);
  if (arguments.iterations > 0)
    settings.emplace_back("optimize.iterations", std::to_string(arguments.iterations));
  if (!arguments.method.empty()) settings.emplace_back("optimize.method", arguments.method);
  const io::Scene scene = io::load_scene(arguments.file, settings);
  return arguments.from.empty() ? scene : io::started_from(scene, arguments.from);
}

std::string output_prefix(const Arguments& arguments) {
  return arguments.output.empty() ? std::filesystem::path(arguments.file).stem().string() : arguments.output;
}

int run_scene(const Arguments& arguments) {
  const io::Scene scene = load_scene(arguments);
  return scene.double_precision ? run<double>(scene, arguments) : run<float>(scene, arguments);
}

int grad_scene(const Arguments& arguments) {
  const io::Scene scene = load_scene(arguments);
  return scene.double_precision ? grad<double>(scene, arguments) : grad<float>(scene, arguments);
}

int check_scene(const Arguments& arguments) {
  return report_checks(io::check(load_scene(arguments), arguments.steps, arguments.seed), arguments.json);
}

int info_scene(const Arguments& arguments) {
  const io::Scene scene = load_scene(arguments);
  const mpm::Model& m = scene.model;
  fmt::print("{}\n\n", scene.title.empty() ? scene.file : scene.title);
  Table table;
  table.row({"particles", std::to_string(mpm::particle_count(m))});
  table.row({"grid", m.dimension == 3 ? fmt::format("{} x {} x {}", m.nodes[0], m.nodes[1], m.nodes[2])
                                      : fmt::format("{} x {}", m.nodes[0], m.nodes[1])});
  table.row({"dx", brief(m.dx)});
  table.row({"dt", brief(m.dt)});
  table.row({"steps", std::to_string(scene.steps)});
  table.row({"precision", scene.double_precision ? "double" : "float"});
  for (const mpm::Material& material : m.materials) table.row({"material", material.name});
  for (const mpm::Collider& c : m.colliders) table.row({c.moves ? "moving collider" : "collider", c.name});
  for (const io::LossTerm& loss : scene.losses) table.row({"loss", loss.name});
  if (scene.optimize) table.row({"variables", std::to_string(scene.optimize->variables.size())});
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
