#include "costate/io/scene_optimize.h"

#include <fmt/core.h>

#include <csignal>

#include "costate/view/replay.h"
#include "json.h"
#include "progress_bar.h"
#include "scene.h"
#include "table.h"

namespace costate::app {
namespace {

volatile std::sig_atomic_t stopped = 0;

// The first Ctrl-C ends after the current iteration, with the best so far; a second one ends at once.
class StopOnInterrupt {
 public:
  StopOnInterrupt() {
    stopped = 0;
    before_ = std::signal(SIGINT, [](int) {
      stopped = 1;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  ~StopOnInterrupt() { std::signal(SIGINT, before_); }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

 private:
  void (*before_)(int);
};

std::string caption(const io::SceneOutcome& outcome) {
  std::string text;
  for (const auto& [name, fraction] : outcome.fractions)
    text += fmt::format("{}{:.0f} % {}", text.empty() ? "" : ", ", 100 * fraction, name);
  return text;
}

}  // namespace

int optimize_scene(const Arguments& arguments) {
  const auto scene = open_scene(arguments);
  const std::string prefix = output_prefix(arguments), state = prefix + ".state.json";
  ProgressBar bar;
  io::SceneOptimum optimum;
  {
    const StopOnInterrupt stop;
    bar.show(0, scene->optimize() ? scene->optimize()->iterations : 0, "first gradient");
    optimum = io::optimize(
        *scene,
        {.state_file = state, .resume = arguments.resume, .progress = [&](const io::SceneProgress& p) {
           bar.show(p.iteration, p.iterations,
                    fmt::format("loss {:.4g}  best {:.4g}  gradient {:.2g}  {} left", p.value, p.best,
                                p.gradient_norm, clock_time(p.seconds_left)) +
                        (stopped ? "  stopping" : ""));
           return stopped == 0;
         }});
    bar.show(optimum.iterations, optimum.iterations, "recording");
  }
  io::SceneOutcome first, last;
  io::Recording before = scene->record(optimum.start, &first), after = scene->record(optimum.best, &last);
  bar.finish();
  before.title = "before";
  after.title = fmt::format("after {} iterations", optimum.iterations);
  before.caption = caption(first);
  after.caption = caption(last);
  io::Curve losses{.name = "loss", .x = {}, .y = optimum.losses};
  for (std::size_t i = 0; i < optimum.losses.size(); ++i) losses.x.push_back(double(i));
  before.curves = after.curves = {losses};
  const std::string learned = scene->difference(optimum.start, optimum.best);
  io::write_recording(prefix + ".before.rec", before);
  io::write_recording(prefix + ".after.rec", after);
  std::vector<std::string> notes;
  if (!learned.empty()) notes.push_back("Learned: " + learned + ".");
  view::write_replay(prefix + ".html", {before, after}, {.title = scene->title(), .notes = notes});

  if (arguments.json) {
    Json variables = Json::object(), start = Json::object(), fractions = Json::object();
    for (std::size_t i = 0; i < optimum.best.size(); ++i) {
      const io::SceneVariable& v = scene->variables()[i];
      variables[v.name] = optimum.best[i] * v.scale;
      start[v.name] = optimum.start[i] * v.scale;
    }
    for (std::size_t i = 0; i < last.fractions.size(); ++i)
      fractions[last.fractions[i].first] = {first.fractions[i].second, last.fractions[i].second};
    print({{"loss", optimum.best_value},
           {"start_loss", optimum.start_value},
           {"losses", optimum.losses},
           {"variables", variables},
           {"start", start},
           {"fractions", fractions},
           {"learned", learned},
           {"report",
            {{"method", scene->optimize()->method},
             {"iterations", optimum.iterations},
             {"evaluations", optimum.evaluations},
             {"reason", optimum.reason}}},
           {"replay", prefix + ".html"}});
    return 0;
  }
  fmt::print("loss  {:.4g} at the start, {:.4g} at the end\n", optimum.start_value, optimum.best_value);
  for (std::size_t i = 0; i < last.fractions.size(); ++i)
    fmt::print("{}: {:.0f} % at the start, {:.0f} % at the end\n", last.fractions[i].first,
               100 * first.fractions[i].second, 100 * last.fractions[i].second);
  if (!learned.empty()) fmt::print("learned: {}\n", learned);
  fmt::print("{}: {} iterations, {} evaluations; {}\n", scene->optimize()->method, optimum.iterations,
             optimum.evaluations, optimum.reason);
  fmt::print("replay: {}.html (continue with --resume)\n", prefix);
  return 0;
}

}  // namespace costate::app
