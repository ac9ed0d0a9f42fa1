#include <fmt/core.h>

#include <fstream>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/study/plan.h"
#include "costate/view/replay.h"
#include "json.h"
#include "progress_bar.h"

namespace costate::app {
namespace {

// One row per step.
void write_controls(const std::string& file, const study::Planned& planned) {
  std::ofstream out(file);
  out << "step";
  for (const std::string& name : planned.controls) out << "," << name;
  out << "\n";
  const std::size_t m = planned.controls.size();
  for (std::size_t k = 0; k < planned.plan.u.size() / m; ++k) {
    out << k;
    for (std::size_t i = 0; i < m; ++i) out << "," << exact_number(planned.plan.u[k * m + i]);
    out << "\n";
  }
  out.flush();
  if (!out) throw Error({"the file cannot be written", file, "choose another with --output"});
}

}  // namespace

int run_plan(const Arguments& arguments) {
  Arguments opening = arguments;  // method and iterations are the planner's
  opening.method.clear(), opening.iterations = 0;
  const auto study = open_study(opening);
  const std::string prefix = output_prefix(arguments);
  expect_writable_prefix(prefix);
  ProgressBar bar;
  const auto show = [&](const control::PlanProgress& p) {
    bar.show(p.iteration, std::max(arguments.iterations > 0 ? arguments.iterations : 200, p.iteration),
             fmt::format("loss {:.4g}  gradient {:.2g}", p.value, p.gradient_norm));
    return true;
  };
  const study::Planned planned =
      study::plan(*study, {.method = arguments.method, .iterations = arguments.iterations, .callback = show});
  const control::Plan& plan = planned.plan;
  write_controls(prefix + ".plan.csv", planned);
  if (study->has_picture()) {
    study::Run run = planned.study->run(planned.study->start());
    run.recording.caption = caption_of(run);
    view::write_replay(prefix + ".html", {run.recording}, {.title = study->title});
  }
  bar.finish();
  if (arguments.json) {
    Json json = {{"loss", plan.value},
                 {"start_loss", planned.start_value},
                 {"controls", planned.controls},
                 {"plan", plan.u},
                 {"report",
                  {{"iterations", plan.iterations},
                   {"method", planned.method},
                   {"gradient_norm", plan.gradient_norm},
                   {"violation", plan.violation},
                   {"converged", plan.converged()},
                   {"reason", plan.reason}}},
                 {"file", prefix + ".plan.csv"}};
    if (study->has_picture()) json["replay"] = prefix + ".html";
    print(json);
    return 0;
  }
  fmt::print("loss  {} at the start, {} at the end\n", number(planned.start_value), number(plan.value));
  fmt::print("{}: {} iterations; {}\n", planned.method, plan.iterations, plan.reason);
  fmt::print("controls of {} steps: {}.plan.csv\n", plan.u.size() / planned.controls.size(), prefix);
  if (study->has_picture()) fmt::print("replay: {}.html\n", prefix);
  return 0;
}

}  // namespace costate::app
