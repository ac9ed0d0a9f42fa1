#include "costate/io/scene_tables.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

#include "costate/core/error.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error({"there is no such file, or it cannot be read", path, ""});
  std::string text(kMaxFileSize + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (file.bad() || (file.gcount() == 0 && !file.eof()))
    throw Error({"this is not a file that can be read", path, ""});
  text.resize(std::size_t(file.gcount()));
  return text;
}

SceneTables::SceneTables(TomlDocument document, const std::vector<Setting>& settings,
                         const char* setting_examples)
    : TomlValues(std::move(document)), root_(document_.root()) {
  for (const Setting& setting : settings) apply(setting, setting_examples);
}

// "domain.dx" = "0.01": what the user wrote on a command line takes the place of what the file says.
void SceneTables::apply(const Setting& setting, const char* examples) {
  const auto& [path, text] = setting;
  const std::size_t dot = path.find('.');
  const auto wrong = [&](const std::string& what) {
    throw Error({what, "--set " + path + "=" + text, std::string("write ") + examples});
  };
  if (dot == std::string::npos) wrong("'" + path + "' names nothing that can be set");
  TomlValue* const table = document_.root().find(path.substr(0, dot));
  if (!table || !table->is(Kind::table)) wrong("the file has no table [" + path.substr(0, dot) + "]");
  TomlValue value = setting_value(text);
  const std::string key = path.substr(dot + 1);
  if (TomlValue* found = table->find(key)) {
    value.place = found->place;
    *found = value;
  } else {
    table->keys.push_back(key);
    table->key_places.push_back({});
    table->items.push_back(value);
  }
}

const TomlValue& SceneTables::required(const TomlValue& t, const char* key, const std::string& where,
                                       const std::string& advice) const {
  const TomlValue* found = t.find(key);
  if (!found) document_.fail(t.place, where + " has no '" + key + "'", advice);
  return *found;
}

Color SceneTables::color(const TomlValue& v) const {
  const std::string& text = string(v, "color");
  Color c = 0;
  const char* const end = text.data() + text.size();
  if (text.size() != 7 || text[0] != '#' || std::from_chars(text.data() + 1, end, c, 16).ptr != end)
    document_.fail(v.place, "a color is written as \"#5b3620\"");
  return c;
}

const std::vector<TomlValue>* SceneTables::tables(const char* name, std::size_t most) const {
  const TomlValue* found = root_.find(name);
  if (!found) return nullptr;
  if (!found->is(Kind::array))
    document_.fail(found->place, std::string(name) + " must be an array of tables",
                   std::string("write [[") + name + "]]");
  if (found->items.size() > most)
    document_.fail(found->place, "there are more than " + std::to_string(most) + " tables [[" + name + "]]");
  for (const TomlValue& item : found->items) table(item, std::string("each of ") + name);
  return &found->items;
}

// at = "end", at = 1.2, or from, to and every.
std::vector<std::int64_t> SceneTables::read_steps(const TomlValue& v, double duration,
                                                  std::int64_t steps) const {
  const auto step_of = [&](double t) { return std::int64_t(std::llround(t / duration * double(steps))); };
  const auto time = [&](const TomlValue& t, const char* what) {
    const double seconds = number(t, what);
    if (seconds < 0 || seconds > duration * (1 + 1e-12))
      document_.fail(t.place, std::string(what) + " is not between 0 and the duration");
    return seconds;
  };
  const TomlValue *at = v.find("at"), *from = v.find("from"), *to = v.find("to"), *every = v.find("every");
  if (at && (from || to || every)) document_.fail(at->place, "give either at, or from, to and every");
  if (at && at->is(Kind::number)) return {step_of(time(*at, "at"))};
  if (at && string(*at, "at") != "end") document_.fail(at->place, "at must be \"end\" or a time");
  if (!from && !to && !every) return {steps};
  const double first = from ? time(*from, "from") : 0, last = to ? time(*to, "to") : duration;
  const double gap = every ? positive(*every, "every") : (last - first) / 10;
  if (!(last >= first)) document_.fail(v.place, "from is after to");
  if ((last - first) / std::max(gap, 1e-300) > 1e5)
    document_.fail(v.place, "this is a hundred thousand samples", "enlarge every");
  std::vector<std::int64_t> list;
  for (double t = last; t >= first - 1e-9 * duration && gap > 0; t -= gap)
    list.push_back(step_of(std::max(t, 0.0)));
  if (list.empty()) list.push_back(step_of(last));
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

Checkpoints SceneTables::read_checkpoints(const TomlValue& v) const {
  if (v.is(Kind::number)) return segments(count(v, "checkpoints", 1'000'000));
  return choice(v, "checkpoint schedule", {"all", "segments"}) == "all" ? store_all() : segments();
}

const std::vector<TomlValue>& SceneTables::read_optimize(const TomlValue& o, const std::string& example,
                                                         double dt, std::int64_t steps,
                                                         SceneOptimize& optimize,
                                                         Checkpoints& checkpoints) const {
  document_.require_known_keys(
      o,
      {"variables", "method", "iterations", "rate", "decay", "target", "gradient_limit", "gradient_window"},
      "[optimize]");
  if (const TomlValue* v = o.find("method"))
    optimize.method = choice(*v, "method of optimisation", {"adam", "lbfgs", "gradient_descent", "cma_es"});
  if (const TomlValue* v = o.find("iterations"))
    optimize.iterations = int(count(*v, "iterations", 1'000'000));
  if (const TomlValue* v = o.find("rate")) optimize.rate = positive(*v, "rate");
  if (const TomlValue* v = o.find("decay")) {
    optimize.decay = positive(*v, "decay");
    if (optimize.decay > 1) document_.fail(v->place, "decay must not be above 1");
  }
  if (const TomlValue* v = o.find("target")) optimize.target = number(*v, "target");
  if (const TomlValue* v = o.find("gradient_limit")) optimize.gradient_limit = positive(*v, "gradient_limit");
  if (const TomlValue* v = o.find("gradient_window")) {
    const double window = std::ceil(positive(*v, "gradient_window") / dt);
    if (window < double(steps)) checkpoints = checkpoints.truncated(std::int64_t(window));
  }
  const TomlValue& list = required(o, "variables", "[optimize]", "add variables = [" + example + "]");
  if (!list.is(Kind::array) || list.items.empty())
    document_.fail(list.place, "variables must be an array of tables");
  for (const TomlValue& v : list.items) table(v, "a variable");
  return list.items;
}

SceneVariable SceneTables::read_bounds(const TomlValue& v) const {
  SceneVariable base;
  base.scale = v.find("scale") ? positive(*v.find("scale"), "scale") : 1;
  if (const TomlValue* l = v.find("lower")) base.lower = number(*l, "lower");
  if (const TomlValue* u = v.find("upper")) base.upper = number(*u, "upper");
  if (!(base.lower <= base.upper)) document_.fail(v.place, "the lower bound is above the upper one");
  return base;
}

void SceneTables::add_variable(const TomlValue& v, SceneVariable variable, SceneOptimize& optimize) const {
  for (const SceneVariable& other : optimize.variables)
    if (other.name == variable.name)
      document_.fail(v.find("name")->place, "'" + variable.name + "' is given twice");
  if (variable.start < variable.lower || variable.start > variable.upper)
    document_.fail(v.place, "'" + variable.name + "' starts at " + std::to_string(variable.start) +
                                ", outside its bounds");
  optimize.variables.push_back(std::move(variable));
}

SceneCamera SceneTables::read_record() const {
  SceneCamera look;
  const TomlValue* found = root_.find("record");
  if (!found) return look;
  const TomlValue& r = table(*found, "record");
  document_.require_known_keys(r, {"frames_per_second", "eye", "target", "field_of_view"}, "[record]");
  if (const TomlValue* v = r.find("frames_per_second")) {
    look.frames_per_second = positive(*v, "frames_per_second");
    if (v->number > 10000) document_.fail(v->place, "frames_per_second must not be above 10000");
  }
  const auto eye = [&](const char* key, std::array<float, 3>& out) {
    const TomlValue* v = r.find(key);
    if (!v) return;
    const std::vector<double> list = numbers(*v, key);
    if (list.size() != 3) document_.fail(v->place, std::string(key) + " must be 3 numbers");
    for (std::size_t i = 0; i < 3; ++i) out[i] = float(list[i]);
  };
  eye("eye", look.camera.eye);
  eye("target", look.camera.target);
  if (const TomlValue* v = r.find("field_of_view")) {
    look.camera.field_of_view = float(positive(*v, "field_of_view"));
    if (v->number >= 179) document_.fail(v->place, "field_of_view must be below 179 degrees");
  }
  return look;
}

}  // namespace costate::io
