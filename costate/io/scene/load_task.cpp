#include "costate/io/scene/load_task.h"

#include <cmath>

#include "costate/io/scene/section.h"

namespace costate::io {
namespace {

// The physics that fill a Draft and have controls.
struct Physics {
  const char* table;
  std::vector<std::string> tables;
  Draft (*read)(const SceneFile&);
};
const std::vector<Physics>& physics() {
  static const std::vector<Physics> kPhysics = {{"model", {"contact"}, read_bodies},
                                                {"springs", {"masses", "links", "planes"}, read_springs}};
  return kPhysics;
}

constexpr long kMost = 1'000'000'000;

// One number for all states, or {q = 0.1, v = [..]} by name.
std::vector<double> read_spread(const SceneFile& file, const TomlValue& v, const std::string& what,
                                const Signature& s) {
  std::vector<double> all(std::size_t(s.states()), 0.0);
  if (v.kind != TomlValue::Kind::table) {
    std::fill(all.begin(), all.end(), file.number(v, what));
    return all;
  }
  std::vector<std::string> names;
  for (const Field& f : s.fields(Role::state)) names.push_back(f.name);
  file.require_known_keys(v, names, what);
  for (const Field& f : s.fields(Role::state)) {
    const TomlValue* const own = v.find(f.name);
    if (!own) continue;
    const std::vector<double> given = file.one_or_more(*own, what + "." + f.name);
    if (given.size() != 1 && std::int64_t(given.size()) != f.size)
      file.fail(
          own->place,
          "'" + f.name + "' has " + std::to_string(f.size) + " numbers, not " + std::to_string(given.size()),
          "give one for all of them, or one for each");
    for (std::int64_t i = 0; i < f.size; ++i)
      all[std::size_t(f.offset + i)] = given[given.size() == 1 ? 0 : std::size_t(i)];
  }
  return all;
}

// {"body/*/mass" = 0.2}: parameters, and by which part of themselves they differ from episode to episode.
std::vector<learn::Varied> read_varied(const SceneFile& file, const TomlValue& v, const Signature& s) {
  std::vector<learn::Varied> all;
  const TomlValue& t = file.table(v, "vary");
  for (std::size_t i = 0; i < t.keys.size(); ++i) {
    const std::string& name = t.keys[i];
    const TomlValue& by = t.items[i];
    file.told_at(t.key_places[i], [&] { return s.match(Role::parameter, {name}); });
    const double part = file.number(by, "vary." + name);
    if (!(part >= 0 && part < 1))
      file.fail(by.place, "'" + name + "' varies by more than itself",
                "give a part between 0 and 1, 1 excluded: 0.2 is 20 % up and down");
    all.push_back({name, part});
  }
  return all;
}

// A formula, or a list of them.
ad::Program read_formulas(const SceneFile& file, const TomlValue& v, const std::string& what,
                          const Signature& s) {
  std::vector<std::string> formulas;
  if (v.kind == TomlValue::Kind::array)
    for (const TomlValue& one : v.items) formulas.push_back(file.string(one, what));
  else
    formulas.push_back(file.string(v, what));
  if (formulas.empty()) file.fail(v.place, what + " has no formula", "give at least one: [\"q[0]\"]");
  return file.told_at(v.place, [&] { return learn::task_program(s, formulas, what); });
}

void read_task(const SceneFile& file, const Draft& draft, learn::Task& task) {
  const TomlValue& t = file.table(file.required(file.root(), "task", "the file", "add [task]"), "task");
  file.require_known_keys(t, {"hold", "decisions", "observe", "reward", "alive", "uniform", "normal", "vary"},
                          "[task]");
  const Signature& s = draft.setup.signature;
  const auto formulas = [&](const char* key, const char* advice) {
    return read_formulas(file, file.required(t, key, "[task]", advice), key, s);
  };
  if (const TomlValue* v = t.find("hold")) task.hold = file.count(*v, "hold", kMost);
  if (const TomlValue* v = t.find("decisions")) task.decisions = file.count(*v, "decisions", kMost);
  task.observe = formulas("observe", "say what the policy sees: observe = [\"q[0]\", \"v[0]\"]");
  task.reward = formulas("reward", "say what is good: reward = \"v[0]\"");
  if (t.find("alive")) task.alive = formulas("alive", "");
  if (const TomlValue* v = t.find("uniform")) task.uniform = read_spread(file, *v, "uniform", s);
  if (const TomlValue* v = t.find("normal")) task.normal = read_spread(file, *v, "normal", s);
  if (const TomlValue* v = t.find("vary")) task.vary = read_varied(file, *v, s);
  task.start = draft.setup.inputs.x0;
  task.lower.assign(std::size_t(s.controls()), -1.0), task.upper.assign(std::size_t(s.controls()), 1.0);
  for (const Drivable& d : draft.drivable) {
    if (!std::isfinite(d.lower) || !std::isfinite(d.upper)) continue;  // between -1 and 1
    task.lower[d.control] = d.lower, task.upper[d.control] = d.upper;
  }
}

void read_train(const SceneFile& file, learn::LearnOptions& o) {
  const TomlValue& t = file.table_or_empty("train");
  file.require_known_keys(
      t, {"method",        "steps",     "worlds",        "horizon",        "hidden",    "critic",
          "discount",      "lambda",    "rate",          "critic_rate",    "last_rate", "gradient_limit",
          "adjoint_limit", "noise",     "critic_passes", "critic_batches", "target",    "passes",
          "batches",       "clip",      "seed",          "memory",         "shortest",  "longest",
          "stretch",       "dual_rate", "edge",          "population"},
      "[train]");
  const auto count = [&](const char* key, auto& to) {
    if (const TomlValue* v = t.find(key))
      to = std::remove_reference_t<decltype(to)>(file.count(*v, key, kMost));
  };
  const auto layers = [&](const char* key, std::vector<int>& to) {
    const TomlValue* const v = t.find(key);
    if (!v) return;
    to.clear();
    for (const double size : file.one_or_more(*v, key)) to.push_back(int(size));
  };
  if (const TomlValue* v = t.find("method")) o.method = file.choice(*v, "method", {"shac", "ppo", "cma_es"});
  count("steps", o.steps), count("worlds", o.worlds), count("horizon", o.horizon);
  layers("hidden", o.hidden), layers("critic", o.critic);
  o.discount = file.number_or(t, "discount", o.discount), o.lambda = file.number_or(t, "lambda", o.lambda);
  o.rate = file.positive_or(t, "rate", o.rate),
  o.critic_rate = file.positive_or(t, "critic_rate", o.critic_rate);
  o.last_rate = file.positive_or(t, "last_rate", o.last_rate);
  o.gradient_limit = file.positive_or(t, "gradient_limit", o.gradient_limit);
  o.adjoint_limit = file.not_negative_or(t, "adjoint_limit", o.adjoint_limit);
  o.edge = file.not_negative_or(t, "edge", o.edge);
  o.noise = file.positive_or(t, "noise", o.noise), o.target = file.not_negative_or(t, "target", o.target);
  count("shortest", o.shortest), count("longest", o.longest);
  o.stretch = file.positive_or(t, "stretch", o.stretch),
  o.dual_rate = file.positive_or(t, "dual_rate", o.dual_rate);
  o.memory = int(file.not_negative_or(t, "memory", 0));
  o.population = int(file.not_negative_or(t, "population", 0));
  count("critic_passes", o.critic_passes), count("critic_batches", o.critic_batches);
  count("passes", o.passes), count("batches", o.batches);
  o.clip = file.positive_or(t, "clip", o.clip);
  o.seed = std::uint64_t(file.not_negative_or(t, "seed", 0));
}

TaskFile open(TomlDocument document, const std::vector<Setting>& settings) {
  const SceneFile file(std::move(document), settings);
  for (const Physics& p : physics()) {
    if (!file.root().find(p.table)) continue;
    std::vector<std::string> known = {"title", "run", "start", "task", "train", "view", p.table};
    known.insert(known.end(), p.tables.begin(), p.tables.end());
    file.require_known_keys(file.root(), known, "a file with [task]");
    const Draft draft = p.read(file);
    TaskFile made;
    made.title = file.string_or(file.root(), "title", draft.setup.title);
    made.task.plant = draft.setup.system.make<double>();
    read_task(file, draft, made.task);
    read_train(file, made.options);
    made.picture = draft.setup.picture;
    made.step = draft.setup.dt * double(made.task.hold);
    return made;
  }
  file.fail({}, "there is no physics to learn with", "add [model] with the file of a robot, or [springs]");
}

}  // namespace

TaskFile load_task(const std::string& path, const std::vector<Setting>& settings) {
  return open(TomlDocument(read_text(path), path), settings);
}
TaskFile parse_task(std::string text, const std::string& name, const std::vector<Setting>& settings) {
  return open(TomlDocument(std::move(text), name), settings);
}

}  // namespace costate::io
