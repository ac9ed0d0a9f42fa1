#include <algorithm>
#include <cmath>

#include "costate/ad/derivative_rules.h"
#include "costate/core/error.h"
#include "costate/io/rigid_scene_reader.h"
#include "costate/io/scope.h"
#include "costate/system/program/bind_program.h"
#include "costate/system/program/program_objective.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;

// weight * program
ad::Program scaled(const ad::Program& program, double weight) {
  ad::Builder builder;
  const ad::Copy copy = ad::copy_into(builder, program);
  const ad::Id value = copy.value[static_cast<std::size_t>(program.outputs()[0])];
  const std::vector<ad::Id> product = {builder.binary(ad::Op::mul, builder.constant(weight), value)};
  builder.output_field("value", product);
  return builder.finish();
}

bool reads(const ad::Program& program, const std::string& name) {
  for (std::size_t f = 0; f < program.input_fields().size(); ++f) {
    if (program.input_fields()[f].name != name) continue;
    const int first = program.input_offset(int(f)), end = first + program.input_fields()[f].size;
    for (const ad::Node& n : program.nodes())
      if (n.op == ad::Op::input && n.value >= first && n.value < end) return true;
  }
  return false;
}

std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "(%.17g)", value);
  return text;
}

std::string element(const std::string& name, std::int64_t size, std::int64_t i) {
  return size > 1 ? name + "[" + std::to_string(i) + "]" : name;
}

}  // namespace

std::string RigidSceneReader::observe(const TomlValue& place, const std::string& path, std::string name) {
  for (const rigid::Quantity& q : scene_.quantities) {
    if (name.empty() && q.path == path) return q.name;
    if (q.name == name && q.path != path)
      document_.fail(place.place, "'" + name + "' stands for " + q.path + " already", "choose another name");
    if (q.name == name) return name;
  }
  if (name.empty()) name = "quantity_" + std::to_string(scene_.quantities.size());
  std::vector<rigid::Quantity> more = scene_.quantities;
  more.push_back({name, path});
  try {
    const rigid::Observer observer(scene_.model, signature_, more);
  } catch (const Error& error) {
    document_.fail(place.place, error.message().what, error.message().advice);
  }
  scene_.quantities = more;
  return name;
}

std::int64_t RigidSceneReader::size_of(const std::string& quantity) const {
  return rigid::Observer(scene_.model, signature_, scene_.quantities)
      .signature()
      .find(Role::state, quantity)
      .size;
}

void RigidSceneReader::read_losses() {
  const std::vector<TomlValue>* list = tables("loss", 256);
  if (!list) return;
  for (const TomlValue& v : *list) read_loss(v);
}

void RigidSceneReader::read_loss(const TomlValue& v) {
  const std::string& kind =
      choice(required(v, "kind", "this loss",
                      "add kind = \"position\", \"velocity\", \"effort\", \"track\" or \"formula\""),
             "kind of loss", {"position", "velocity", "effort", "track", "formula"});
  RigidTerm term;
  term.name = v.find("name") ? string(*v.find("name"), "name") : kind;
  term.weight = v.find("weight") ? positive(*v.find("weight"), "weight") : 1;
  if (kind != "track") term.steps = read_steps(v, scene_.duration(), scene_.steps);
  if (kind == "position" || kind == "velocity") read_match(v, kind == "velocity", term);
  if (kind == "effort") read_effort(v, term);
  if (kind == "track") read_track(v, term);
  if (kind == "formula") read_formula(v, term);
  if (term.formula) {
    // The mean over its steps.
    term.formula = scaled(*term.formula, term.weight / double(term.steps.size()));
    try {
      const rigid::Observer observer(scene_.model, signature_, scene_.quantities);
      loss::program<double>(observer.signature(), *term.formula, loss::at_steps(term.steps))
          ->check(scene_.steps, 1);
    } catch (const Error& error) {
      document_.fail(v.place, error.message().what, error.message().advice);
    }
  }
  scene_.losses.push_back(std::move(term));
}

// Half the squared distance of a quantity from its target, along some axes.
void RigidSceneReader::read_match(const TomlValue& v, bool velocity, RigidTerm& term) {
  document_.require_known_keys(
      v, {"kind", "name", "weight", "of", "target", "axes", "at", "from", "to", "every"},
      std::string("a loss of kind ") + (velocity ? "velocity" : "position"));
  const TomlValue* of = v.find("of");
  std::string field = "v";
  std::int64_t size = scene_.model.nv;
  if (of || !velocity) {
    const TomlValue& path = required(
        v, "of", "this loss", "add of = \"site/NAME\", \"body/NAME\", \"geom/NAME\" or \"joint/NAME\"");
    field = observe(path, string(path, "of") + (velocity ? "/velocity" : ""));
    size = size_of(field);
    if (!v.find("name")) term.name = (velocity ? "velocity of " : "position of ") + path.text;
  }
  std::vector<double> target(std::size_t(size), 0.0);
  if (const TomlValue* t = v.find("target")) {
    const std::vector<double> list =
        t->is(Kind::number) ? std::vector<double>{number(*t, "target")} : numbers(*t, "target");
    if (std::int64_t(list.size()) != size)
      document_.fail(t->place,
                     "the target must be " + std::to_string(size) + (size == 1 ? " number" : " numbers"));
    target = list;
  } else if (!velocity) {
    document_.fail(v.place, "this loss has no 'target'", "add target = [0.3, 0.0, 0.5]");
  }
  std::vector<bool> wanted(std::size_t(size), true);
  if (const TomlValue* axes = v.find("axes")) {
    const std::string& text = string(*axes, "axes");
    if (size != 3) document_.fail(axes->place, "axes are for quantities of three numbers");
    if (text.empty() || text.find_first_not_of("xyz") != std::string::npos)
      document_.fail(axes->place, "axes are some of \"xyz\"");
    for (std::size_t a = 0; a < 3; ++a) wanted[a] = text.find("xyz"[a]) != std::string::npos;
  }
  std::string text;
  for (std::int64_t i = 0; i < size; ++i) {
    if (!wanted[std::size_t(i)]) continue;
    text += (text.empty() ? "0.5*(" : " + ") + ("(" + element(field, size, i)) + " - " +
            exact(target[std::size_t(i)]) + ")^2";
  }
  if (text.empty()) text = "(0";  // a model without dofs has no velocity
  TomlValue formula;
  formula.kind = Kind::string;
  formula.text = text + ")";
  formula.place = v.place;
  const rigid::Observer observer(scene_.model, signature_, scene_.quantities);
  term.formula = parse_formula(document_, formula, names_of(observer.signature(), true));
  const bool point = of && !velocity && size == 3 && !of->text.ends_with("axis");
  if (point && !v.find("axes")) scene_.marks.push_back({{target[0], target[1], target[2]}});
}

// Half the squared controls, averaged over all steps.
void RigidSceneReader::read_effort(const TomlValue& v, RigidTerm& term) {
  document_.require_known_keys(v, {"kind", "name", "weight", "actuator"}, "a loss of kind effort");
  const std::vector<std::string> names = actuator_names();
  const TomlValue* who = v.find("actuator");
  const std::string glob = who ? string(*who, "actuator") : "**";
  std::string text;
  const auto size = std::int64_t(names.size());
  for (std::int64_t i = 0; i < size; ++i) {
    if (glob_match(glob, names[std::size_t(i)]))
      text += (text.empty() ? "0.5*(" : " + ") + element("ctrl", size, i) + "^2";
  }
  if (text.empty())
    document_.fail(who ? who->place : v.place, "the model has no actuator '" + glob + "'",
                   suggestion(glob, names));
  term.steps.clear();
  for (std::int64_t k = 0; k < scene_.steps; ++k) term.steps.push_back(k);
  term.reads_controls = true;
  TomlValue formula;
  formula.kind = Kind::string;
  formula.text = text + ")";
  formula.place = v.place;
  term.formula = parse_formula(document_, formula, names_of(signature_, true));
}

// Measurements: half the mean squared difference of a quantity from values at times.
void RigidSceneReader::read_track(const TomlValue& v, RigidTerm& term) {
  document_.require_known_keys(v, {"kind", "name", "weight", "of", "times", "values"},
                               "a loss of kind track");
  const TomlValue& path = required(v, "of", "this loss", "add of = \"joint/NAME\"");
  term.quantity = observe(path, string(path, "of"));
  if (!v.find("name")) term.name = "track of " + path.text;
  const auto size = std::size_t(size_of(term.quantity));
  const TomlValue& times = required(v, "times", "this loss", "add times = [0.1, 0.2, 0.3]");
  const TomlValue& values = required(v, "values", "this loss", "add values = [...], one per time");
  for (const double t : numbers(times, "times")) {
    const auto k = std::int64_t(std::llround(std::clamp(t / scene_.dt, -1e9, 1e9)));
    if (k < 0 || k > scene_.steps)
      document_.fail(times.place, "the time " + brief_number(t) + " is outside the run of " +
                                      brief_number(scene_.duration()) + " s");
    if (!term.steps.empty() && k <= term.steps.back())
      document_.fail(times.place, "times must increase, by a step or more");
    term.steps.push_back(k);
  }
  if (!values.is(Kind::array) || values.items.size() != term.steps.size() || term.steps.empty())
    document_.fail(values.place,
                   "there must be one value for each of the " + std::to_string(term.steps.size()) + " times");
  for (const TomlValue& row : values.items) {
    const std::vector<double> list =
        row.is(Kind::number) ? std::vector<double>{number(row, "value")} : numbers(row, "value");
    if (list.size() != size)
      document_.fail(row.place, "a value of " + path.text + " is " + std::to_string(size) +
                                    (size == 1 ? " number" : " numbers"));
    term.targets.insert(term.targets.end(), list.begin(), list.end());
  }
  term.weight /= double(term.steps.size());
}

// formula = "(1 - cos(angle))^2 + 0.1*ctrl[0]^2", quantities = {angle = "joint/hinge"}
void RigidSceneReader::read_formula(const TomlValue& v, RigidTerm& term) {
  document_.require_known_keys(
      v, {"kind", "name", "weight", "formula", "quantities", "at", "from", "to", "every"},
      "a loss of kind formula");
  if (const TomlValue* q = v.find("quantities")) {
    table(*q, "quantities");
    for (std::size_t i = 0; i < q->keys.size(); ++i) {
      const std::string& name = q->keys[i];
      TomlValue place = q->items[i];
      const bool letters =
          !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
          std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
      if (!letters)
        document_.fail(q->key_places[i], "'" + name + "' cannot be a name in formulas",
                       "use letters, digits and _, and begin with a letter");
      if (name == "t" || name == "k" || signature_.find_if(Role::state, name) ||
          signature_.find_if(Role::control, name))
        document_.fail(q->key_places[i], "'" + name + "' has a meaning of its own in formulas",
                       "choose another name");
      observe(place, string(place, name), name);
    }
  }
  const TomlValue& formula = required(v, "formula", "this loss", "add formula = \"q[0]^2\"");
  const rigid::Observer observer(scene_.model, signature_, scene_.quantities);
  term.formula = parse_formula(document_, formula, names_of(observer.signature(), true));
  if (!v.find("name")) term.name = formula.is(Kind::string) ? formula.text.substr(0, 40) : "constant";
  // There is no control after the last step.
  term.reads_controls = reads(*term.formula, "ctrl");
  if (term.reads_controls && term.steps.size() > 1) std::erase(term.steps, scene_.steps);
}

}  // namespace costate::io
