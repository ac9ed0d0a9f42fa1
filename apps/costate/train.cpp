#include "train.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "costate/core/error.h"
#include "costate/io/scene/load_task.h"
#include "costate/view/replay.h"
#include "json.h"
#include "progress_bar.h"
#include "stop_on_interrupt.h"
#include "table.h"

namespace costate::app {
namespace {

constexpr double kSaveEvery = 5;  // s
constexpr std::int64_t kScored = 100;
constexpr std::uint64_t kScoreSeed = 12345;

// What makes two runs the same run.
std::string identity_of(const learn::LearnOptions& o, const std::string& title) {
  std::string s = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", title, o.method,
                              o.steps, o.worlds, o.horizon, o.discount, o.lambda, o.rate, o.critic_rate,
                              o.last_rate, o.gradient_limit, o.adjoint_limit, o.noise, o.critic_passes,
                              o.critic_batches, o.target, o.passes, o.batches, o.seed);
  for (const auto* sizes : {&o.hidden, &o.critic})
    for (const int n : *sizes) s += fmt::format(" {}", n);
  if (o.shortest < o.longest)
    s += fmt::format(" horizons {} {} {} {}", o.shortest, o.longest, o.stretch, o.dual_rate);
  if (o.memory > 0) s += fmt::format(" memory {}", o.memory);
  if (o.edge > 0) s += fmt::format(" edge {}", o.edge);
  if (o.population > 0) s += fmt::format(" population {}", o.population);
  return s;
}

Json policy_json(const learn::Policy& p) {
  std::vector<double> deviation;
  for (std::size_t i = 0; i < p.seen.mean.size(); ++i) deviation.push_back(p.seen.deviation(i));
  return {{"sizes", p.network.sizes()}, {"parameters", p.parameters}, {"mean", p.seen.mean},
          {"deviation", deviation},     {"lower", p.lower},           {"upper", p.upper},
          {"memory", p.remembered()}};
}

// Beside the old file first: an interruption loses nothing.
void write(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  std::ofstream out(beside);
  out << text;
  out.close();
  std::error_code trouble;
  if (out) std::filesystem::rename(beside, path, trouble);
  if (!out || trouble) throw Error({"the file cannot be written", path, "choose another with --output"});
}

void save(const std::string& path, const std::string& identity, const learn::Learner& learner,
          const std::vector<learn::Learned>& history) {
  Json rows = Json::array();
  for (const learn::Learned& l : history)
    rows.push_back({l.iteration, l.steps, l.mean_return, l.mean_length, l.objective, l.critic_error,
                    l.gradient_norm, l.horizon});
  const Json json = {{"identity", identity},
                     {"policy", policy_json(learner.policy())},
                     {"history", rows},
                     {"memory", learner.memory()}};
  write(path, json.dump() + "\n");
}

std::vector<learn::Learned> restore(const std::string& path, const std::string& identity,
                                    learn::Learner& learner) {
  std::ifstream in(path);
  if (!in) throw Error({"there is nothing to resume", path, "leave --resume away for the first run"});
  const Json json = Json::parse(in, nullptr, false);
  if (json.is_discarded() || !json.contains("memory") || !json.contains("identity") ||
      !json.contains("history"))
    throw Error({"this is not the state of learning", path, "start anew without --resume"});
  if (json["identity"] != identity)
    throw Error({"this is the state of another run", path, "resume with the same file and settings"});
  std::vector<learn::Learned> history;
  try {
    learner.restore(json["memory"].get<std::vector<double>>());
    const auto number = [](const Json& v) { return v.is_null() ? std::nan("") : v.get<double>(); };
    for (const Json& r : json["history"])
      history.push_back({r.at(0), r.at(1), number(r.at(2)), number(r.at(3)), number(r.at(4)), number(r.at(5)),
                         number(r.at(6)), r.size() > 7 ? r.at(7).get<std::int64_t>() : 0});
  } catch (const Json::exception&) {
    throw Error({"this is not the state of learning", path, "start anew without --resume"});
  }
  return history;
}

// One episode, without noise.
io::Recording episode(const io::TaskFile& file, const learn::Policy& policy) {
  learn::TaskFunctions functions(file.task);
  Rollout<double> rollout(file.task.plant, {.steps = file.task.hold, .hold = file.task.hold, .active = {}});
  costate::Arguments<double> at = rollout.arguments();
  at.x0 = learn::start_of(file.task, kScoreSeed, 0, 0);
  file.picture->begin({.x0 = at.x0, .p = {}, .paths = {}});
  file.picture->frame(0, at.x0);
  const auto every = std::max<std::int64_t>(1, std::llround(1 / (30 * file.step)));
  double alive = 1;
  std::vector<double> h(std::size_t(policy.remembered()));
  for (std::int64_t k = 1; k <= file.task.decisions && alive > 0; ++k) {
    std::vector<double> o(std::size_t(functions.observations()));
    functions.observe(1, at.x0.data(), o.data());
    at.controls = policy.act(o, h);
    at.x0 = rollout.simulate(at).final_state;
    functions.alive(1, at.x0.data(), &alive);
    if (k % every == 0) file.picture->frame(double(k) * file.step, at.x0);
  }
  io::Recording recording = file.picture->finish();
  recording.title = file.title;
  recording.frame_interval = double(every) * file.step;
  return recording;
}

}  // namespace

int run_train(const Arguments& arguments) {
  const io::TaskFile file = io::load_task(arguments.file, settings_of(arguments));
  const auto learner = learn::make_learner(file.task, file.options);
  const std::string prefix = output_prefix(arguments), state = prefix + ".train.json",
                    identity = identity_of(file.options, file.title);
  expect_writable_prefix(prefix);
  std::vector<learn::Learned> history;
  if (arguments.resume) history = restore(state, identity, *learner);
  const StopOnInterrupt stop;
  ProgressBar bar;
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  auto saved = begun;
  const std::size_t before = history.size();
  const auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
  while (!learner->done() && !StopOnInterrupt::stopped()) {
    history.push_back(learner->iterate());
    const learn::Learned& l = history.back();
    const auto now = Clock::now();
    const double left = seconds(begun, now) / double(history.size() - before) *
                        double(learner->iterations() - std::int64_t(history.size()));
    bar.show(
        int(history.size()), int(learner->iterations()),
        fmt::format("return {:.4g}  length {:.4g}  {} left", l.mean_return, l.mean_length, clock_time(left)));
    if (seconds(saved, now) < kSaveEvery) continue;
    save(state, identity, *learner, history);
    saved = now;
  }
  save(state, identity, *learner, history);
  write(prefix + ".curve.html", curve_page(file.title, history));
  if (file.picture)
    view::write_replay(prefix + ".html", {episode(file, learner->policy())}, {.title = file.title});
  const learn::Scores scores = learn::evaluate(file.task, learner->policy(), kScored, kScoreSeed);
  bar.finish();
  double mean = 0, square = 0, length = 0;
  for (const double r : scores.returns) mean += r / double(kScored);
  for (const double r : scores.returns) square += (r - mean) * (r - mean) / double(kScored);
  for (const double l : scores.lengths) length += l / double(kScored);
  if (arguments.json) {
    print(Json{{"mean_return", mean},
               {"deviation", std::sqrt(square)},
               {"mean_length", length},
               {"steps", history.empty() ? 0 : history.back().steps},
               {"policy", policy_json(learner->policy())},
               {"state", state}});
    return 0;
  }
  fmt::print("return  {:.5g} +- {:.2g} over {} episodes without noise, of {:.4g} decisions\n", mean,
             std::sqrt(square), kScored, length);
  fmt::print("{}: {} decisions in {} iterations{}\n", file.options.method,
             history.empty() ? 0 : history.back().steps, history.size(),
             learner->done() ? "" : "; stopped, --resume goes on");
  fmt::print("policy and state: {}\nlearning curve: {}.curve.html\n", state, prefix);
  if (file.picture) fmt::print("replay: {}.html\n", prefix);
  return 0;
}

}  // namespace costate::app
