#include <fmt/core.h>

#include <filesystem>

#include "commands.h"
#include "costate/view/replay.h"
#include "json.h"
#include "optimising.h"
#include "table.h"

namespace costate::app {
namespace {

// The start and the best side by side.
void write_recordings(const std::string& prefix, const study::Study& study, const study::Optimum& optimum,
                      const std::string& learned, study::Run& first, study::Run& last) {
  first.recording.title = "before";
  last.recording.title = fmt::format("after {} iterations", optimum.iterations);
  io::Curve losses{.name = "loss", .x = {}, .y = optimum.losses};
  for (std::size_t i = 0; i < optimum.losses.size(); ++i) losses.x.push_back(double(i));
  for (study::Run* run : {&first, &last}) {
    run->recording.caption = caption_of(*run);
    run->recording.curves = {losses};
  }
  io::write_recording(prefix + ".before.rec", first.recording);
  io::write_recording(prefix + ".after.rec", last.recording);
  std::vector<std::string> notes;
  if (!learned.empty()) notes.push_back("Learned: " + learned + ".");
  view::write_replay(prefix + ".html", {first.recording, last.recording},
                     {.title = study.title, .notes = notes});
}

}  // namespace

int run_optimize(const Arguments& arguments) {
  const auto study = open_study(arguments);
  const std::string prefix = output_prefix(arguments);
  // What has no picture writes nothing unless it is asked to.
  const bool files = study->has_picture() || arguments.resume || !arguments.output.empty();
  if (arguments.resume && !std::filesystem::exists(prefix + ".state.json"))
    fmt::print(stderr, "there is no {}.state.json to continue from: starting where the file does\n", prefix);
  if (files) expect_writable_prefix(prefix);
  const std::vector<std::string> told = tell_notes(*study);
  ProgressBar bar;
  std::string pool;
  const study::Optimum o = optimised(*study, arguments, files ? prefix + ".state.json" : "", bar, &pool);
  study::Run first, last;
  std::string learned;
  if (study->has_picture()) {
    bar.show(o.iterations, o.iterations, "recording");
    first = study->run(o.start);
    last = study->run(o.best);
    learned = study->difference(o.start, o.best);
    write_recordings(prefix, *study, o, learned, first, last);
  }
  bar.finish();
  tell_notes(*study, told);  // what the first gradient showed

  const std::vector<study::Variable>& variables = study->variables();
  std::vector<double> start, best;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    start.push_back(o.start[i] * variables[i].scale);
    best.push_back(o.best[i] * variables[i].scale);
  }
  if (arguments.json) {
    Json json = {{"loss", o.best_value},
                 {"start_loss", o.start_value},
                 {"losses", o.losses},
                 {"variables", named(variables, best)},
                 {"start", named(variables, start)}};
    if (!o.standard_deviation.empty()) json["standard_deviation"] = named(variables, o.standard_deviation);
    Json fractions = Json::object();
    for (std::size_t i = 0; i < last.fractions.size(); ++i)
      fractions[last.fractions[i].first] = {first.fractions[i].second, last.fractions[i].second};
    json["fractions"] = fractions;
    json["learned"] = learned;
    json["report"] = {{"method", o.method},           {"iterations", o.iterations},
                      {"evaluations", o.evaluations}, {"converged", o.converged},
                      {"reason", o.reason},           {"advice", o.advice}};
    if (study->has_picture()) json["replay"] = prefix + ".html";
    if (!pool.empty()) json["pool"] = pool;
    print(json);
    return 0;
  }
  fmt::print("loss  {} at the start, {} at the end\n", number(o.start_value), number(o.best_value));
  for (std::size_t i = 0; i < last.fractions.size(); ++i)
    fmt::print("{}: {:.0f} % at the start, {:.0f} % at the end\n", last.fractions[i].first,
               100 * first.fractions[i].second, 100 * last.fractions[i].second);
  if (!learned.empty()) fmt::print("learned: {}\n", learned);
  if (!study->has_picture()) {
    std::vector<std::string> head = {"variable", "start", "end"};
    if (!o.standard_deviation.empty()) head.push_back("standard deviation");
    Table table(head);
    for (std::size_t i = 0; i < variables.size(); ++i) {
      std::vector<std::string> cells = {variables[i].name, number(start[i]), number(best[i])};
      if (!o.standard_deviation.empty()) cells.push_back(brief(o.standard_deviation[i]));
      table.row(cells);
    }
    fmt::print("\n{}\n", table.text());
  }
  fmt::print("{}: {} iterations, {} evaluations; {}\n", o.method, o.iterations, o.evaluations, o.reason);
  for (const std::string& advice : o.advice) fmt::print("advice: {}\n", advice);
  if (!pool.empty()) fmt::print("{}", pool);
  if (study->has_picture()) fmt::print("replay: {}.html (continue with --resume)\n", prefix);
  return 0;
}

}  // namespace costate::app
