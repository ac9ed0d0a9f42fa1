#include "costate/io/problem_reader.h"

#include <algorithm>
#include <cmath>

#include "costate/io/sample_cost.h"
#include "costate/ode/fields/consistent_jump.h"
#include "costate/ode/methods/method.h"

namespace costate::io {
namespace {

constexpr std::size_t kMaxEvents = 256;
constexpr long kMaxSteps = 1'000'000'000;

std::vector<std::string> names_of(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Variable& v : variables) names.push_back(v.name);
  return names;
}

const Variable* find(const std::vector<Variable>& variables, const std::string& name) {
  const auto at =
      std::find_if(variables.begin(), variables.end(), [&](const Variable& v) { return v.name == name; });
  return at == variables.end() ? nullptr : &*at;
}

std::string written(const TomlValue& formula) {
  if (formula.is(TomlValue::Kind::string)) return formula.text;
  std::string text = std::to_string(formula.number);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text + "0" : text;
}

}  // namespace

ProblemReader::ProblemReader(TomlDocument document, const std::vector<Setting>& settings)
    : TomlValues(std::move(document)), root_(document_.root()) {
  problem_.file = document_.name();
  for (const Setting& setting : settings) apply(setting);
}

Problem ProblemReader::read() {
  document_.require_known_keys(root_,
                               {"state", "parameters", "controls", "definitions", "equations", "events",
                                "solve", "loss", "optimize", "fit", "title"},
                               "the file");
  if (const TomlValue* title = root_.find("title")) string(*title, "title");
  problem_.states = variables("state", problem_.y0);
  if (problem_.states.empty()) {
    const TomlValue* state = root_.find("state");
    document_.fail(state ? state->place : Place{}, "there is no state",
                   "add a table [state] with the initial value of every state: x = 1.0");
  }
  problem_.parameters = variables("parameters", problem_.p);
  read_controls();
  scope_.emplace(document_, problem_.states, problem_.parameters, problem_.controls);
  read_definitions();
  read_solve();
  read_equations();
  read_events();
  read_loss();
  read_optimize();
  read_fit();
  return std::move(problem_);
}

std::vector<Variable> ProblemReader::variables(const char* name, std::vector<double>& values) const {
  std::vector<Variable> list;
  const TomlValue* found = root_.find(name);
  if (!found) return list;
  const TomlValue& entries = table(*found, name);
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const TomlValue& v = entries.items[i];
    Variable variable{entries.keys[i], int(values.size()), 1, v.is(TomlValue::Kind::array),
                      entries.key_places[i]};
    if (variable.array) {
      const std::vector<double> elements = numbers(v, variable.name);
      if (elements.empty()) document_.fail(v.place, variable.name + " is an array without elements");
      variable.size = int(elements.size());
      values.insert(values.end(), elements.begin(), elements.end());
    } else {
      values.push_back(number(v, variable.name));
    }
    list.push_back(variable);
  }
  return list;
}

void ProblemReader::read_definitions() {
  const TomlValue* found = root_.find("definitions");
  if (!found) return;
  const TomlValue& entries = table(*found, "definitions");
  for (std::size_t i = 0; i < entries.keys.size(); ++i)
    scope_->define(entries.keys[i], entries.key_places[i], entries.items[i]);
}

std::vector<const TomlValue*> ProblemReader::formulas(const Variable& state, const TomlValue& v) const {
  if (!state.array) {
    if (v.is(TomlValue::Kind::array))
      document_.fail(v.place, "'" + state.name + "' is one number, so it has one formula");
    return {&v};
  }
  if (!v.is(TomlValue::Kind::array) || int(v.items.size()) != state.size) {
    document_.fail(v.place,
                   "'" + state.name + "' has " + std::to_string(state.size) +
                       " elements, so it needs an array of " + std::to_string(state.size) + " formulas",
                   "write " + state.name + " = [\"...\", ...]");
  }
  std::vector<const TomlValue*> list;
  for (const TomlValue& item : v.items) list.push_back(&item);
  return list;
}

std::shared_ptr<const ode::Function> ProblemReader::function(const TomlValue& formula) const {
  return std::make_shared<ode::ProgramFunction>(scope_->program({&formula}));
}

void ProblemReader::read_equations() {
  const TomlValue* found = root_.find("equations");
  if (!found) {
    document_.fail({}, "there are no equations",
                   "add a table [equations] with the time derivative of every state");
  }
  const TomlValue& entries = table(*found, "equations");
  std::vector<const TomlValue*> all(problem_.y0.size(), nullptr);
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const Variable* state = find(problem_.states, entries.keys[i]);
    if (!state)
      document_.fail(entries.key_places[i], "there is no state '" + entries.keys[i] + "'",
                     suggestion(entries.keys[i], names_of(problem_.states)));
    const std::vector<const TomlValue*> list = formulas(*state, entries.items[i]);
    std::copy(list.begin(), list.end(), all.begin() + state->offset);
  }
  for (const Variable& state : problem_.states) {
    if (!all[std::size_t(state.offset)])
      document_.fail(state.place, "the state '" + state.name + "' has no equation",
                     "add " + state.name + " = \"...\" to [equations]");
  }
  const ad::Program program = scope_->program(all);
  for (const TomlValue* formula : all) problem_.equations.push_back(written(*formula));

  std::vector<double> mass;
  if (!problem_.algebraic.empty()) {  // M = diag(1, ..., 0, ...)
    const std::size_t n = problem_.y0.size();
    mass.assign(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) mass[i * n + i] = 1;
    for (const int i : problem_.algebraic) mass[std::size_t(i) * n + std::size_t(i)] = 0;
  }
  problem_.field = std::make_shared<ode::ProgramField>(program, std::move(mass));
}

void ProblemReader::read_solve() {
  ode::Options& o = problem_.options;
  const TomlValue* found = root_.find("solve");
  if (!found)
    document_.fail({}, "there is no table [solve]", "add [solve] with the end of the time span: t1 = 10.0");
  const TomlValue& s = table(*found, "solve");
  document_.require_known_keys(s,
                               {"t0", "t1", "method", "dt", "rtol", "atol", "first_step", "max_step",
                                "max_steps", "max_events", "stop_at_zeno", "keep_every", "algebraic"},
                               "[solve]");
  const TomlValue* end = s.find("t1");
  if (!end) document_.fail(s.place, "[solve] has no t1", "add the end of the time span: t1 = 10.0");
  problem_.t1 = number(*end, "t1");
  if (const TomlValue* v = s.find("t0")) problem_.t0 = number(*v, "t0");
  if (problem_.t1 == problem_.t0) document_.fail(end->place, "t1 equals t0: there is nothing to solve");

  if (const TomlValue* v = s.find("method")) o.method = choice(*v, "method", ode::method_names());
  if (const TomlValue* v = s.find("dt")) o.dt = positive(*v, "dt");
  if (const TomlValue* v = s.find("rtol")) {
    o.rtol = number(*v, "rtol");
    if (o.rtol < 0) document_.fail(v->place, "rtol must not be negative");
  }
  if (const TomlValue* v = s.find("atol")) {
    if (v->is(TomlValue::Kind::array)) {
      o.atol.clear();
      for (const TomlValue& item : v->items) o.atol.push_back(positive(item, "atol"));
      if (o.atol.size() != problem_.y0.size())
        document_.fail(v->place,
                       "atol has " + std::to_string(o.atol.size()) + " values for " +
                           std::to_string(problem_.y0.size()) + " states",
                       "give one for all states, or one per state");
    } else {
      o.atol = {positive(*v, "atol")};
    }
  }
  if (const TomlValue* v = s.find("first_step")) o.first_step = positive(*v, "first_step");
  if (const TomlValue* v = s.find("max_step")) o.max_step = positive(*v, "max_step");
  if (const TomlValue* v = s.find("max_steps")) o.max_steps = count(*v, "max_steps", kMaxSteps);
  if (const TomlValue* v = s.find("max_events")) o.max_events = count(*v, "max_events", kMaxSteps);
  if (const TomlValue* v = s.find("stop_at_zeno")) o.stop_at_zeno = boolean(*v, "stop_at_zeno");
  if (const TomlValue* v = s.find("keep_every")) o.keep_every = int(count(*v, "keep_every", 1'000'000));

  static const std::vector<std::string> kFixed = {"euler",  "midpoint", "heun", "rk4", "symplectic_euler",
                                                  "verlet", "yoshida4"};
  if (o.dt == 0 && std::find(kFixed.begin(), kFixed.end(), o.method) != kFixed.end()) {
    const TomlValue* v = s.find("method");
    document_.fail(v ? v->place : s.place,
                   "the method " + o.method + " takes steps of a fixed length, and there is no dt",
                   "add dt = 0.01 to [solve], or use dopri5, tsit5 or dop853");
  }
  if (const TomlValue* v = s.find("algebraic")) {
    if (!v->is(TomlValue::Kind::array))
      document_.fail(v->place, "algebraic must be an array of names of states");
    for (const TomlValue& item : v->items) {
      const Variable* state = find(problem_.states, string(item, "a name in algebraic"));
      if (!state)
        document_.fail(item.place, "there is no state '" + item.text + "'",
                       suggestion(item.text, names_of(problem_.states)));
      for (int i = 0; i < state->size; ++i) problem_.algebraic.push_back(state->offset + i);
    }
    if (!problem_.algebraic.empty() && o.method != "rodas5p" && o.method != "radau5") {
      const TomlValue* m = s.find("method");
      document_.fail(m ? m->place : v->place, "algebraic equations need an implicit method, not " + o.method,
                     "set method = \"radau5\" or \"rodas5p\"");
    }
  }
}

void ProblemReader::read_events() {
  const TomlValue* found = root_.find("events");
  if (!found) return;
  if (!found->is(TomlValue::Kind::array))
    document_.fail(found->place, "events must be an array of tables", "write [[events]]");
  if (found->items.size() > kMaxEvents)
    document_.fail(found->place, "there are more than " + std::to_string(kMaxEvents) + " events");
  for (const TomlValue& event : found->items) read_event(table(event, "an event"));
}

void ProblemReader::read_event(const TomlValue& v) {
  document_.require_known_keys(v, {"name", "when", "direction", "set", "terminal"}, "[[events]]");
  ode::Event event;
  const TomlValue* when = v.find("when");
  if (!when)
    document_.fail(v.place, "this event has no 'when'",
                   "add when = \"...\": the event is where that crosses zero");
  event.guard = function(*when);
  event.name = when->is(TomlValue::Kind::string) ? when->text : written(*when);
  problem_.guards.push_back(event.name);
  if (const TomlValue* name = v.find("name")) event.name = string(*name, "name");
  if (const TomlValue* direction = v.find("direction")) {
    const double d = number(*direction, "direction");
    if (d != -1 && d != 0 && d != 1)
      document_.fail(direction->place, "direction must be -1 (falling), 0 (both) or 1 (rising)");
    event.direction = int(d);
  }
  if (const TomlValue* terminal = v.find("terminal")) event.terminal = boolean(*terminal, "terminal");
  if (const TomlValue* set = v.find("set")) {
    table(*set, "set");
    std::vector<const TomlValue*> all(problem_.y0.size(), nullptr);
    for (std::size_t i = 0; i < set->keys.size(); ++i) {
      const Variable* state = find(problem_.states, set->keys[i]);
      if (!state)
        document_.fail(set->key_places[i], "there is no state '" + set->keys[i] + "' to set",
                       suggestion(set->keys[i], names_of(problem_.states)));
      const std::vector<const TomlValue*> list = formulas(*state, set->items[i]);
      std::copy(list.begin(), list.end(), all.begin() + state->offset);
    }
    event.jump = std::make_shared<ode::ProgramFunction>(scope_->jump(all));
    if (!problem_.algebraic.empty())
      event.jump = std::make_shared<ode::ConsistentJump>(problem_.field, event.jump);
  }
  problem_.options.events.push_back(std::move(event));
}

void ProblemReader::read_loss() {
  const TomlValue* found = root_.find("loss");
  if (!found) return;
  const TomlValue& loss = table(*found, "loss");
  document_.require_known_keys(loss, {"final", "running", "samples"}, "[loss]");
  if (const TomlValue* v = loss.find("final")) {
    problem_.loss.final = function(*v);
    problem_.final_text = written(*v);
  }
  if (const TomlValue* v = loss.find("running")) {
    problem_.options.running = function(*v);
    problem_.options.control_integral = problem_.options.dt == 0;
    problem_.running_text = written(*v);
  }
  if (const TomlValue* v = loss.find("samples")) read_samples(table(*v, "samples"));
  if (!problem_.has_loss()) document_.fail(loss.place, "[loss] is empty", "add final, running or samples");
}

void ProblemReader::check_times(const TomlValue& times, const std::vector<double>& t) const {
  const double sign = problem_.t1 > problem_.t0 ? 1 : -1;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (sign * t[i] < sign * problem_.t0 || sign * t[i] > sign * problem_.t1)
      document_.fail(times.items[i].place, "this time is outside the time span of [solve]");
    if (i > 0 && sign * t[i] < sign * t[i - 1])
      document_.fail(times.items[i].place, "times must follow each other in the direction of the solution");
  }
}

void ProblemReader::read_samples(const TomlValue& samples) {
  document_.require_known_keys(samples, {"at", "value", "data"}, "samples");
  const TomlValue *at = samples.find("at"), *value = samples.find("value"), *data = samples.find("data");
  if (!at) document_.fail(samples.place, "samples have no times", "add at = [1.0, 2.0]");
  if (!value) document_.fail(samples.place, "samples have no value", "add value = \"...\"");
  const std::vector<double> times = numbers(*at, "at");
  if (times.empty()) document_.fail(at->place, "samples need at least one time");
  check_times(*at, times);
  std::vector<double> measured;
  if (data) {
    measured = numbers(*data, "data");
    if (measured.size() != times.size())
      document_.fail(data->place, "there are " + std::to_string(measured.size()) + " data for " +
                                      std::to_string(times.size()) + " times");
    scope_->check_new_name("data", data->place);
  }
  problem_.loss.samples =
      std::make_shared<ProgramSampleCost>(scope_->program({value}, data ? "data" : ""), times, measured);
  problem_.samples_text = written(*value);
}

}  // namespace costate::io
