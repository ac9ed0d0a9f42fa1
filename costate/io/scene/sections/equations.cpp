// The section of equations: [start] (states), [parameters], [controls], [definitions], [equations],
// [[events]], [run]; losses and data are formulas of their names. Each method reads one table of the file.
#include <algorithm>
#include <cmath>

#include "costate/ad/builder.h"
#include "costate/ad/derivative_rules.h"
#include "costate/io/scene/section.h"
#include "costate/io/scene/sections/scope.h"
#include "costate/ode/fields/consistent_jump.h"
#include "costate/ode/fields/program_field.h"
#include "costate/ode/methods/method.h"
#include "costate/study/equation_study.h"
#include "costate/study/field_quantities.h"
#include "costate/study/losses/samples.h"
#include "costate/study/losses/squares.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;
using study::EquationTerm;
constexpr std::size_t kMaxEvents = 256;
constexpr long kMaxSteps = 1'000'000'000;
constexpr std::size_t kMaxTable = std::size_t(1) << 22;  // intervals of controls times parameters

std::vector<std::string> names_of(const std::vector<Declared>& declared) {
  std::vector<std::string> names;
  for (const Declared& v : declared) names.push_back(v.name);
  return names;
}

const Declared* find(const std::vector<Declared>& declared, const std::string& name) {
  const auto at =
      std::find_if(declared.begin(), declared.end(), [&](const Declared& v) { return v.name == name; });
  return at == declared.end() ? nullptr : &*at;
}

class EquationsReader {
 public:
  explicit EquationsReader(const SceneFile& file) : file_(file) {}
  study::Equations read();

 private:
  std::vector<Declared> declared(const char* table, std::vector<double>& values) const;
  // The formulas for the elements of one state.
  std::vector<const TomlValue*> formulas(const Declared& state, const TomlValue& v) const;
  std::shared_ptr<const ode::Function> function(const TomlValue& formula, double weight = 1) const;

  void read_controls();
  void read_definitions();
  void read_equations();
  void read_run();
  void read_algebraic(const TomlValue& run, const TomlValue& names);
  void read_event(const TomlValue& event);
  void read_losses();
  EquationTerm read_formula(const TomlValue& v);
  EquationTerm read_effort(const TomlValue& v);
  EquationTerm read_other(const TomlValue& v, const std::string& kind);
  // At times of the span; empty: at the end.
  std::vector<double> read_times(const TomlValue& v) const;
  void check_times(const TomlValue& times, const std::vector<double>& t) const;
  void read_data();
  std::vector<VariableGroup> groups() const;
  study::Quantities& quantities();

  const SceneFile& file_;
  std::vector<Declared> states_, parameters_, controls_;
  std::optional<Scope> scope_;
  std::shared_ptr<study::Quantities> quantities_;
  study::Equations e_;
};

study::Equations EquationsReader::read() {
  e_.file = file_.name();
  if (const TomlValue* title = file_.root().find("title")) e_.title = file_.string(*title, "title");
  states_ = declared("start", e_.inputs.x0);
  if (states_.empty()) {
    const TomlValue* start = file_.root().find("start");
    file_.fail(start ? start->place : Place{}, "there is no state",
               "add a table [start] with the initial value of every state: x = 1.0");
  }
  parameters_ = declared("parameters", e_.inputs.p);
  read_controls();
  scope_.emplace(file_.document(), states_, parameters_, controls_);
  e_.states.assign(states_.begin(), states_.end());
  e_.parameters.assign(parameters_.begin(), parameters_.end());
  e_.controls.assign(controls_.begin(), controls_.end());
  read_definitions();
  read_run();
  read_equations();
  for (const TomlValue& event : file_.tables("events", kMaxEvents)) read_event(event);
  read_losses();
  read_data();
  e_.optimize = read_optimize(file_, groups(), e_.inputs, !e_.terms.empty(), 0, 0, nullptr);
  return std::move(e_);
}

std::vector<Declared> EquationsReader::declared(const char* name, std::vector<double>& values) const {
  std::vector<Declared> list;
  const TomlValue& entries = file_.table_or_empty(name);
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const TomlValue& v = entries.items[i];
    Declared one{{entries.keys[i], int(values.size()), 1, v.is(Kind::array)}, entries.key_places[i]};
    const std::vector<double> elements =
        one.array ? file_.numbers(v, one.name) : std::vector<double>{file_.number(v, one.name)};
    if (elements.empty()) file_.fail(v.place, one.name + " is an array without elements");
    one.size = int(elements.size());
    values.insert(values.end(), elements.begin(), elements.end());
    list.push_back(one);
  }
  return list;
}

// All controls change at the same times: one row of them at a time is what the solver takes.
void EquationsReader::read_controls() {
  const TomlValue* found = file_.root().find("controls");
  if (!found) return;
  const TomlValue& entries = file_.table(*found, "controls");
  if (entries.keys.empty())
    file_.fail(entries.place, "[controls] is empty", "add for instance: thrust = [0.0, 1.0, 0.0]");
  const char* const shapes[] = {"hold", "linear", "spline"};
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const std::string& name = entries.keys[i];
    const TomlValue& v = entries.items[i];
    if (v.is(Kind::string) || v.is(Kind::number))
      file_.fail(v.place, "the control " + name + " must be an array of numbers, not " + v.description(),
                 "give what changes in time by formula in [definitions]");
    const study::Path path = read_path(file_, v, name, 0, 0);
    if (path.shape == study::Path::Shape::spline)
      file_.fail(v.place, "the control " + name + " of equations is hold or linear, not spline",
                 "give it interpolation = \"linear\"");
    const study::Path& first = e_.inputs.paths.empty() ? path : e_.inputs.paths[0];
    if (path.points.size() != first.points.size())
      file_.fail(v.place,
                 "'" + name + "' has " + std::to_string(path.points.size()) + " values, where '" +
                     entries.keys[0] + "' has " + std::to_string(first.points.size()),
                 "all controls change at the same times: give them the same number of values");
    if (path.shape != first.shape)
      file_.fail(entries.key_places[i],
                 "'" + name + "' is " + shapes[int(path.shape)] + ", where '" + entries.keys[0] + "' is " +
                     shapes[int(first.shape)],
                 "all controls have the same interpolation");
    if (path.points.size() * (e_.inputs.p.size() + 2 * entries.keys.size() + 2) > kMaxTable)
      file_.fail(v.place, "there are too many intervals of controls");
    controls_.push_back({{name, int(i), int(path.points.size()), true}, entries.key_places[i]});
    e_.inputs.paths.push_back(path);
  }
}

void EquationsReader::read_definitions() {
  const TomlValue& entries = file_.table_or_empty("definitions");
  for (std::size_t i = 0; i < entries.keys.size(); ++i)
    scope_->define(entries.keys[i], entries.key_places[i], entries.items[i]);
}

std::vector<const TomlValue*> EquationsReader::formulas(const Declared& state, const TomlValue& v) const {
  if (!state.array) {
    if (v.is(TomlValue::Kind::array))
      file_.fail(v.place, "'" + state.name + "' is one number, so it has one formula");
    return {&v};
  }
  if (!v.is(TomlValue::Kind::array) || int(v.items.size()) != state.size) {
    file_.fail(v.place,
               "'" + state.name + "' has " + std::to_string(state.size) +
                   " elements, so it needs an array of " + std::to_string(state.size) + " formulas",
               "write " + state.name + " = [\"...\", ...]");
  }
  std::vector<const TomlValue*> list;
  for (const TomlValue& item : v.items) list.push_back(&item);
  return list;
}

std::shared_ptr<const ode::Function> EquationsReader::function(const TomlValue& formula,
                                                               double weight) const {
  const ad::Program program = scope_->program({&formula});
  return std::make_shared<ode::ProgramFunction>(weight == 1 ? program : study::scaled(program, weight));
}

void EquationsReader::read_equations() {
  const TomlValue& entries = file_.table(*file_.root().find("equations"), "equations");
  std::vector<const TomlValue*> all(e_.inputs.x0.size(), nullptr);
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const Declared* state = find(states_, entries.keys[i]);
    if (!state)
      file_.fail(entries.key_places[i], "there is no state '" + entries.keys[i] + "'",
                 suggestion(entries.keys[i], names_of(states_)));
    const std::vector<const TomlValue*> list = formulas(*state, entries.items[i]);
    std::copy(list.begin(), list.end(), all.begin() + state->offset);
  }
  for (const Declared& state : states_) {
    if (!all[state.offset])
      file_.fail(state.place, "the state '" + state.name + "' has no equation",
                 "add " + state.name + " = \"...\" to [equations]");
  }
  const ad::Program program = scope_->program(all);
  for (const TomlValue* formula : all) e_.equations.push_back(written(*formula));

  std::vector<double> mass;
  if (!e_.algebraic.empty()) {  // M = diag(1, ..., 0, ...)
    const std::size_t n = e_.inputs.x0.size();
    mass.assign(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) mass[i * n + i] = 1;
    for (const int i : e_.algebraic) mass[std::size_t(i) * n + std::size_t(i)] = 0;
  }
  e_.field = std::make_shared<ode::ProgramField>(program, std::move(mass));
}

void EquationsReader::read_run() {
  ode::Options& o = e_.options;
  const TomlValue* found = file_.root().find("run");
  if (!found) file_.fail({}, "there is no table [run]", "add [run] with the end of the time span: t1 = 10.0");
  const TomlValue& s = file_.table(*found, "run");
  file_.require_known_keys(s,
                           {"t0", "t1", "duration", "solver", "dt", "rtol", "atol", "first_step", "max_step",
                            "max_steps", "max_events", "stop_at_zeno", "checkpoints", "algebraic", "device"},
                           "[run]");
  if (const TomlValue* v = s.find("device"); v && file_.string(*v, "device") != "cpu")
    file_.fail(v->place, "equations are solved on the CPU", "leave device out");
  const TomlValue *end = s.find("t1"), *duration = s.find("duration");
  if (!end && !duration) file_.fail(s.place, "[run] has no t1", "add the end of the time span: t1 = 10.0");
  if (end && duration) file_.fail(duration->place, "give either t1 or duration");
  e_.t0 = file_.number_or(s, "t0", 0);
  e_.t1 = end ? file_.number(*end, "t1") : e_.t0 + file_.number(*duration, "duration");
  if (!end) end = duration;
  if (e_.t1 == e_.t0) file_.fail(end->place, "t1 equals t0: there is nothing to solve");

  if (const TomlValue* v = s.find("solver")) o.method = file_.choice(*v, "solver", ode::method_names());
  o.dt = file_.positive_or(s, "dt", o.dt);
  o.rtol = file_.not_negative_or(s, "rtol", o.rtol);
  if (const TomlValue* v = s.find("atol")) {
    if (v->is(TomlValue::Kind::array)) {
      o.atol.clear();
      for (const TomlValue& item : v->items) o.atol.push_back(file_.positive(item, "atol"));
      if (o.atol.size() != e_.inputs.x0.size())
        file_.fail(v->place,
                   "atol has " + std::to_string(o.atol.size()) + " values for " +
                       std::to_string(e_.inputs.x0.size()) + " states",
                   "give one for all states, or one per state");
    } else {
      o.atol = {file_.positive(*v, "atol")};
    }
  }
  o.first_step = file_.positive_or(s, "first_step", o.first_step);
  o.max_step = file_.positive_or(s, "max_step", o.max_step);
  if (const TomlValue* v = s.find("max_steps")) o.max_steps = file_.count(*v, "max_steps", kMaxSteps);
  if (const TomlValue* v = s.find("max_events")) o.max_events = file_.count(*v, "max_events", kMaxSteps);
  if (const TomlValue* v = s.find("stop_at_zeno")) o.stop_at_zeno = file_.boolean(*v, "stop_at_zeno");
  if (const TomlValue* v = s.find("checkpoints"))
    o.keep_every = int(file_.count(*v, "checkpoints", 1'000'000));

  static const std::vector<std::string> kFixed = {"euler",  "midpoint", "heun", "rk4", "symplectic_euler",
                                                  "verlet", "yoshida4"};
  if (o.dt == 0 && std::find(kFixed.begin(), kFixed.end(), o.method) != kFixed.end()) {
    const TomlValue* v = s.find("solver");
    file_.fail(v ? v->place : s.place,
               "the solver " + o.method + " takes steps of a fixed length, and there is no dt",
               "add dt = 0.01 to [run], or use dopri5, tsit5 or dop853");
  }
  if (const TomlValue* v = s.find("algebraic")) read_algebraic(s, *v);
}

void EquationsReader::read_algebraic(const TomlValue& s, const TomlValue& v) {
  if (!v.is(TomlValue::Kind::array)) file_.fail(v.place, "algebraic must be an array of names of states");
  for (const TomlValue& item : v.items) {
    const Declared* state = find(states_, file_.string(item, "a name in algebraic"));
    if (!state)
      file_.fail(item.place, "there is no state '" + item.text + "'",
                 suggestion(item.text, names_of(states_)));
    for (int i = 0; i < state->size; ++i) e_.algebraic.push_back(state->offset + i);
  }
  if (!e_.algebraic.empty() && e_.options.method != "rodas5p" && e_.options.method != "radau5") {
    const TomlValue* m = s.find("solver");
    file_.fail(m ? m->place : v.place,
               "algebraic equations need an implicit solver, not " + e_.options.method,
               "set solver = \"radau5\" or \"rodas5p\"");
  }
}

void EquationsReader::read_event(const TomlValue& v) {
  file_.require_known_keys(v, {"name", "when", "direction", "set", "terminal"}, "[[events]]");
  ode::Event event;
  const TomlValue* when = v.find("when");
  if (!when)
    file_.fail(v.place, "this event has no 'when'",
               "add when = \"...\": the event is where that crosses zero");
  event.guard = function(*when);
  event.name = when->is(TomlValue::Kind::string) ? when->text : written(*when);
  e_.guards.push_back(event.name);
  if (const TomlValue* name = v.find("name")) event.name = file_.string(*name, "name");
  if (const TomlValue* direction = v.find("direction")) {
    const double d = file_.number(*direction, "direction");
    if (d != -1 && d != 0 && d != 1)
      file_.fail(direction->place, "direction must be -1 (falling), 0 (both) or 1 (rising)");
    event.direction = int(d);
  }
  if (const TomlValue* terminal = v.find("terminal")) {
    if (terminal->is(TomlValue::Kind::boolean)) {
      event.terminal = file_.boolean(*terminal, "terminal");
    } else {
      const double times = file_.number(*terminal, "terminal");
      if (!(times >= 1) || times != std::floor(times))
        file_.fail(terminal->place,
                   "terminal must be true, false, or the number of times that the event happens");
      event.terminal = int(times);
    }
  }
  if (const TomlValue* set = v.find("set")) {
    file_.table(*set, "set");
    std::vector<const TomlValue*> all(e_.inputs.x0.size(), nullptr);
    for (std::size_t i = 0; i < set->keys.size(); ++i) {
      const Declared* state = find(states_, set->keys[i]);
      if (!state)
        file_.fail(set->key_places[i], "there is no state '" + set->keys[i] + "' to set",
                   suggestion(set->keys[i], names_of(states_)));
      const std::vector<const TomlValue*> list = formulas(*state, set->items[i]);
      std::copy(list.begin(), list.end(), all.begin() + state->offset);
    }
    event.jump = std::make_shared<ode::ProgramFunction>(scope_->jump(all));
    if (!e_.algebraic.empty()) event.jump = std::make_shared<ode::ConsistentJump>(e_.field, event.jump);
  }
  e_.options.events.push_back(std::move(event));
}

// --- losses -----------------------------------------------------------------------------------------------

void EquationsReader::check_times(const TomlValue& times, const std::vector<double>& t) const {
  const double sign = e_.t1 > e_.t0 ? 1 : -1;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (sign * t[i] < sign * e_.t0 || sign * t[i] > sign * e_.t1)
      file_.fail(times.items[i].place, "this time is outside the time span of [run]");
    if (i > 0 && sign * t[i] < sign * t[i - 1])
      file_.fail(times.items[i].place, "times must follow each other in the direction of the solution");
  }
}

std::vector<double> EquationsReader::read_times(const TomlValue& v) const {
  const TomlValue *times = v.find("times"), *at = v.find("at");
  for (const char* key : {"from", "to", "every"})
    if (v.find(key))
      file_.fail(v.find(key)->place, "losses of equations have times, not from, to and every",
                 "write times = [1.0, 2.0], or integral = true for all of the time");
  if (times && at) file_.fail(at->place, "give either at or times");
  if (at && at->is(Kind::string) && at->text == "end") return {};
  if (!times && !at) return {};
  std::vector<double> t = at ? std::vector<double>{file_.number(*at, "at")} : file_.numbers(*times, "times");
  if (t.empty()) file_.fail(times->place, "there must be at least one time");
  if (times)
    check_times(*times, t);
  else if ((t[0] - e_.t0) * (t[0] - e_.t1) > 0)
    file_.fail(at->place, "this time is outside the time span of [run]");
  return t;
}

EquationTerm EquationsReader::read_formula(const TomlValue& v) {
  file_.require_known_keys(v, {"kind", "name", "weight", "formula", "at", "times", "values", "integral"},
                           "a loss of kind formula");
  const TomlValue& formula = file_.required(v, "formula", "this loss", "add formula = \"...\"");
  EquationTerm term{.name = written(formula).substr(0, 40), .text = written(formula)};
  const double weight = weight_of(file_, v);
  const TomlValue *integral = v.find("integral"), *values = v.find("values");
  const std::vector<double> times = read_times(v);
  if (integral && file_.boolean(*integral, "integral")) {
    if (!times.empty()) file_.fail(integral->place, "an integral is over all of the time, and has no times");
    term.running = function(formula, weight);
    return term;
  }
  std::vector<double> data;
  if (values) {
    data = file_.numbers(*values, "values");
    if (data.size() != times.size())
      file_.fail(values->place, "there are " + std::to_string(data.size()) + " values for " +
                                    std::to_string(times.size()) + " times");
    scope_->check_new_name("data", values->place);
  }
  if (times.empty()) {
    term.final = function(formula, weight);
    return term;
  }
  ad::Program program = scope_->program({&formula}, values ? "data" : "");
  const double each = weight / double(times.size());
  if (each != 1) program = study::scaled(program, each);
  term.samples = std::make_shared<study::ProgramSampleCost>(program, times, data);
  return term;
}

// Half the squared controls, averaged over time.
EquationTerm EquationsReader::read_effort(const TomlValue& v) {
  file_.require_known_keys(v, {"kind", "name", "weight", "of"}, "a loss of kind effort");
  const std::string glob = file_.string_or(v, "of", "**");
  std::vector<bool> wanted(e_.inputs.p.size(), false);
  bool any = false;
  for (const Declared& c : controls_) {
    wanted.push_back(glob_match(glob, c.name));
    any = any || wanted.back();
  }
  if (!any) file_.fail(v.place, "there is no control '" + glob + "'", suggestion(glob, names_of(controls_)));
  EquationTerm term{.name = "effort", .text = "half the squared controls"};
  const ad::Program squares = study::squared_controls("p", wanted);
  ad::Builder builder;
  builder.input_field("t", 1);
  builder.input_field("x", int(e_.inputs.x0.size()));
  const ad::Id p = builder.input_field("p", int(wanted.size()));
  std::vector<ad::Id> inputs;
  for (std::size_t i = 0; i < wanted.size(); ++i) inputs.push_back(p + ad::Id(i));
  builder.output_field("y", std::vector<ad::Id>{ad::splice(builder, squares, inputs)});
  term.running = std::make_shared<ode::ProgramFunction>(
      study::scaled(builder.finish(), weight_of(file_, v) / std::abs(e_.t1 - e_.t0)));
  return term;
}

// Quantities are the states by their names.
study::Quantities& EquationsReader::quantities() {
  if (!quantities_) {
    Signature signature;
    std::vector<study::RowGroup> groups;
    for (const Declared& v : states_) {
      signature.state(v.name, v.size);
      if (v.size == 2 || v.size == 3)
        groups.push_back({.name = v.name, .dimension = v.size, .offset = v.offset, .rows = {0}});
    }
    for (const Declared& v : parameters_)
      signature.parameter(v.name, std::vector<double>(e_.inputs.p.begin() + v.offset,
                                                      e_.inputs.p.begin() + v.offset + v.size));
    quantities_ = std::make_shared<study::FieldQuantities>(signature, groups);
  }
  return *quantities_;
}

// Any other kind: an objective of the study's, at the end or at times.
EquationTerm EquationsReader::read_other(const TomlValue& v, const std::string& kind) {
  const std::vector<double> times = read_times(v);
  std::vector<std::int64_t> steps;
  for (std::size_t k = 0; k < std::max<std::size_t>(1, times.size()); ++k) steps.push_back(std::int64_t(k));
  const LossContext context{.quantities = quantities()};
  const study::Term read = read_term(file_, v, kind, steps, context);
  ObjectivePtr<double> objective = read.objective.make<double>(steps);
  if (read.observed) objective = quantities().objective(objective);
  EquationTerm term{.name = read.name, .text = read.name};
  if (times.empty())
    term.final = std::make_shared<study::ObjectiveFunction>(objective, int(e_.inputs.x0.size()),
                                                            int(e_.inputs.p.size() + controls_.size()));
  else
    term.samples = std::make_shared<study::ObjectiveSamples>(objective, times);
  term.keep = quantities_;
  return term;
}

void EquationsReader::read_losses() {
  for (const TomlValue& v : file_.tables("loss", 256)) {
    const std::string kind = kind_of(file_, v);
    if (kind == "jerk" || kind == "overshoot")
      file_.fail(v.find("kind")->place, "controls of equations are not splines, and have no " + kind);
    EquationTerm term = kind == "formula"  ? read_formula(v)
                        : kind == "effort" ? read_effort(v)
                                           : read_other(v, kind);
    term.name = file_.string_or(v, "name", term.name);
    e_.terms.push_back(std::move(term));
  }
}

void EquationsReader::read_data() {
  for (const Measurements& m : read_measurements(file_)) {
    if (const TomlValue* q = m.table->find("quantities"))
      file_.fail(q->place, "formulas of equations know all names", "leave quantities out");
    check_times(*m.table->find("times"), m.times);
    e_.data.push_back({function(*m.formula), m.times, m.values, m.sigma});
  }
}

std::vector<VariableGroup> EquationsReader::groups() const {
  using Where = study::Variable::Where;
  std::vector<VariableGroup> list;
  const auto add = [&](const char* table, const std::vector<Declared>& from, Where where) {
    for (const Declared& v : from)
      list.push_back({.name = table + v.name,
                      .where = where,
                      .first = where == Where::path ? 0 : std::size_t(v.offset),
                      .count = std::size_t(v.size),
                      .path = where == Where::path ? std::size_t(v.offset) : 0,
                      .indexed = v.array});
  };
  add("start.", states_, Where::state);
  add("parameters.", parameters_, Where::parameter);
  add("controls.", controls_, Where::path);
  return list;
}

}  // namespace

std::unique_ptr<study::Study> open_equations(const SceneFile& file, const Opening& opening) {
  study::Equations equations = EquationsReader(file).read();
  if (opening.for_check) study::tighten(equations);
  return std::make_unique<study::EquationStudy>(std::move(equations));
}

}  // namespace costate::io
