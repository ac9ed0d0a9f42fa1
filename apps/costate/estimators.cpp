// costate estimators: one study, several estimators of the gradient of its average loss, over horizons and
// numbers of samples. Prints a table, and writes a page with plots. Every cell is kept in
// PREFIX.estimators.json as soon as it is known: an interrupted run goes on with --resume.
//
// Answers are compared with the exact one (--exact), or else with the path score, which has no bias: how many
// standard errors they are off, and from which horizon on pathwise gradients are of no use.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/estimate/gradient.h"
#include "costate/study/rollout_study.h"
#include "estimators_page.h"
#include "json.h"
#include "progress_bar.h"
#include "stop_on_interrupt.h"
#include "table.h"

namespace costate::app {
namespace {

struct Cell {
  std::string method;
  std::int64_t steps, samples;
};

// "double_well/b=0.1", "mass=1,2": names and numbers.
std::vector<std::pair<std::string, std::vector<double>>> reference_of(const Arguments& arguments) {
  std::vector<std::pair<std::string, std::vector<double>>> all;
  for (const std::string& text : arguments.reference) {
    const auto mistake = [&] {
      return Error({"this is no reference", "--reference " + text, "write NAME=VALUE, or NAME=VALUE,VALUE"});
    };
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) throw mistake();
    std::vector<double> values;
    const char *at = text.data() + equals + 1, *end = text.data() + text.size();
    while (true) {
      const auto [after, wrong] = std::from_chars(at, end, values.emplace_back());
      if (wrong != std::errc() || (after != end && *after != ',')) throw mistake();
      if (after == end) break;
      at = after + 1;
    }
    all.emplace_back(text.substr(0, equals), std::move(values));
  }
  return all;
}

template <class Real>
Json estimate_cell(study::RolloutStudy<Real>& study, const Arguments& arguments, const Cell& cell) {
  estimate::Sampling sampling{.method = estimate::method_by_name(cell.method),
                              .samples = cell.samples,
                              .every = arguments.every,
                              .reference = reference_of(arguments)};
  const auto system = study.setup().system.template make<Real>();
  sampling.parameters = arguments.parameters.empty()
                            ? estimate::answered_parameters<Real>(*system, sampling.method)
                            : arguments.parameters;
  const RolloutOptions options{
      .steps = cell.steps, .checkpoints = study.setup().checkpoints, .seed = arguments.seed};
  const auto begin = std::chrono::steady_clock::now();
  const auto at = study.arguments(study.start());
  Json out = {{"method", cell.method}, {"steps", cell.steps}, {"samples", cell.samples}};
  try {
    const estimate::Sampled s = estimate::gradient<Real>(system, options, at, *study.objective(), sampling);
    out["by"] = estimate::to_string(s.method);
    out["label"] = s.label;
    if (!s.reason.empty()) out["reason"] = s.reason;
    out["value"] = s.value;
    out["value_error"] = s.value_error;
    out["names"] = s.names;
    out["gradient"] = s.gradient;
    out["standard_error"] = s.standard_error;
    out["effective_samples"] = s.effective_samples;
    out["memory_bytes"] = s.memory_bytes;
  } catch (const Error& error) {
    out["refused"] = error.message().what;
  }
  out["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

Json estimate_any(study::Study& study, const Arguments& arguments, const Cell& cell) {
  if (auto* in_double = dynamic_cast<study::RolloutStudy<double>*>(&study))
    return estimate_cell(*in_double, arguments, cell);
  if (auto* in_float = dynamic_cast<study::RolloutStudy<float>*>(&study))
    return estimate_cell(*in_float, arguments, cell);
  throw Error({"equations are solved, not stepped: they have no estimators", arguments.file,
               "estimators are for studies of molecules and other steps"});
}

bool is_of(const Json& done, const Cell& cell) {
  return done["method"] == cell.method && done["steps"] == cell.steps && done["samples"] == cell.samples;
}

// What the estimates of one file of estimators have in common: another seed, another file or other parameters
// ask another question. As a number (FNV-1a).
std::string question_of(const Arguments& arguments) {
  std::ifstream in(arguments.file, std::ios::binary);
  std::string all(std::istreambuf_iterator<char>(in), {});
  for (const auto* list : {&arguments.set, &arguments.parameters, &arguments.reference})
    for (const std::string& one : *list) all += "\n" + one;
  all += "\n" + std::to_string(arguments.seed);
  if (arguments.every > 0) all += "\n" + std::to_string(arguments.every);
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : all) hash = (hash ^ std::uint8_t(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

Json kept_cells(const std::string& path, const std::string& question) {
  std::ifstream in(path);
  if (!in) return Json::array();
  const Json cells = Json::parse(in, nullptr, false);
  const auto is_cell = [](const Json& c) {
    return c.is_object() && c.contains("method") && c.contains("steps") && c.contains("samples") &&
           c.contains("seconds");
  };
  if (!cells.is_array() || !std::all_of(cells.begin(), cells.end(), is_cell))
    throw Error({"this is not a file of estimators", path, "run without --resume"});
  for (const Json& c : cells)
    if (c.value("question", "") != question)
      throw Error({"these are estimates of another file, seed or parameters", path,
                   "run without --resume, or with another --output"});
  return cells;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw Error({"the file cannot be written", path, ""});
}

void print_table(const Json& cells, const Truth& truth) {
  Table table(
      {"steps", "samples", "estimator", "number", "derivative", "standard error", "off by", "seconds", "MB"});
  std::vector<std::string> names;
  for (const Json& c : cells) {
    const std::string steps = std::to_string(c["steps"].get<std::int64_t>()),
                      samples = std::to_string(c["samples"].get<std::int64_t>()), method = c["method"];
    if (c.contains("refused")) continue;
    for (std::size_t i = 0; i < c["names"].size(); ++i) {
      const auto off = truth.off(c, c["names"][i]);
      table.row({steps, samples, method, c["names"][i], fmt::format("{:.6g}", number_of(c["gradient"][i])),
                 fmt::format("{:.2g}", number_of(c["standard_error"][i])),
                 off ? fmt::format("{:.1f} errors", std::abs(*off)) : "",
                 fmt::format("{:.2f}", c["seconds"].get<double>()),
                 fmt::format("{:.3g}", 1e-6 * c["memory_bytes"].get<double>())});
      if (std::find(names.begin(), names.end(), c["names"][i].get<std::string>()) == names.end())
        names.push_back(c["names"][i]);
    }
  }
  fmt::print("{}", table.text());
  for (const std::string& name : names)
    if (const auto end = truth.end_of_pathwise(name))
      fmt::print("\nwith respect to {}: pathwise derivatives are of no use from {}", name, *end);
  std::vector<std::string> told;
  for (const Json& c : cells) {
    if (!c.contains("refused")) continue;
    const std::string line =
        fmt::format("\n{} refused: {}", c["method"].get<std::string>(), c["refused"].get<std::string>());
    if (std::find(told.begin(), told.end(), line) == told.end()) told.push_back(line);
  }
  for (const std::string& line : told) fmt::print("{}", line);
  if (!told.empty()) fmt::print("\n");
}

// What is asked for: every method at every horizon with every number of samples.
struct Asked {
  std::vector<std::string> methods;
  std::vector<std::int64_t> horizons, samples;
  std::size_t cells() const { return methods.size() * horizons.size() * samples.size(); }
};

// Estimates what is not known yet, and keeps every estimate as soon as it is there. Ctrl-C ends after the
// estimate that is under way; returns how many of the cells were gone through.
std::size_t estimate_all(const Arguments& arguments, const Asked& asked, std::int64_t own_steps,
                         const std::string& kept, const std::string& question, Json& cells) {
  const StopOnInterrupt stop;
  ProgressBar bar;
  std::size_t done = 0;
  for (const std::int64_t steps : asked.horizons) {
    Arguments longer = arguments;  // the file with so many steps: its losses move with the end
    if (steps != own_steps) longer.set.push_back("run.steps=" + std::to_string(steps));
    const auto at_horizon = open_study(longer);
    for (const std::int64_t count : asked.samples) {
      for (const std::string& method : asked.methods) {
        const Cell cell{method, steps, count};
        const bool known =
            std::any_of(cells.begin(), cells.end(), [&](const Json& c) { return is_of(c, cell); });
        bar.show(int(done), int(asked.cells()),
                 fmt::format("{}, {} steps, {} samples", method, steps, count));
        if (!known) {
          cells.push_back(estimate_any(*at_horizon, arguments, cell));
          cells.back()["question"] = question;
          write(kept, cells.dump(1));
        }
        ++done;
        if (StopOnInterrupt::stopped()) return bar.finish(), done;
      }
    }
  }
  return bar.finish(), done;
}

}  // namespace

int run_estimators(const Arguments& arguments) {
  const auto study = open_study(arguments);
  if (!study->has_loss())
    throw Error({"there is no loss to estimate the gradient of", arguments.file, "add [[loss]]"});
  Asked asked{arguments.methods, arguments.horizons, arguments.samples};
  if (asked.methods.empty()) asked.methods = {"pathwise", "girsanov", "reinforce", "differences"};
  if (asked.horizons.empty()) asked.horizons = {study->steps()};
  if (asked.samples.empty()) asked.samples = {4096};
  std::sort(asked.horizons.begin(), asked.horizons.end());
  if (!arguments.exact.empty() &&
      (arguments.exact.size() != asked.horizons.size() || arguments.parameters.size() != 1))
    throw Error({fmt::format("--exact has {} numbers", arguments.exact.size()), arguments.file,
                 "give one per horizon, from the shortest to the longest, and name one of --parameters"});
  const std::string prefix = output_prefix(arguments) + ".estimators", kept = prefix + ".json";
  expect_writable_prefix(prefix);
  const std::string question = question_of(arguments);
  Json cells = arguments.resume ? kept_cells(kept, question) : Json::array();
  for (const std::string& method : asked.methods) (void)estimate::method_by_name(method);
  const std::size_t done = estimate_all(arguments, asked, study->steps(), kept, question, cells);
  const bool stopped = done < asked.cells();
  if (!stopped &&
      std::all_of(cells.begin(), cells.end(), [](const Json& c) { return c.contains("refused"); }))
    throw Error({"no estimator has an answer: " + cells[0]["refused"].get<std::string>(), arguments.file,
                 "choose other --methods or --parameters"});
  const Truth truth{asked.horizons, arguments.exact, cells};
  write(prefix + ".html",
        estimators_page(study->title.empty() ? arguments.file : study->title, cells, truth));
  if (arguments.json) {
    print({{"estimates", cells}, {"page", prefix + ".html"}});
  } else {
    print_table(cells, truth);
    fmt::print("\nplots: {}.html\n", prefix);
  }
  if (stopped)
    fmt::print(stderr, "stopped after {} of {} estimates; --resume goes on\n", done, asked.cells());
  return 0;
}

}  // namespace costate::app
