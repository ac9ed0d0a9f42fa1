#include <fmt/core.h>

#include "commands.h"
#include "costate/io/run.h"
#include "costate/ode/methods/method.h"
#include "json.h"
#include "table.h"

namespace costate::app {
namespace {

constexpr int kShownValues = 8;  // of a control

std::string tolerance(const std::vector<double>& atol) {
  std::string text;
  for (const double a : atol) text += (text.empty() ? "" : ", ") + number(a);
  return text;
}

const char* interpolation(const io::Problem& p) {
  return p.options.controls.interpolation == ode::Controls::Interpolation::linear ? "linear" : "hold";
}

Json as_json(const io::Problem& p) {
  Json json;
  json["file"] = p.file;
  json["state"] = named(p.states, p.y0.data());
  json["parameters"] = named(p.parameters, p.p.data());
  if (!p.controls.empty()) {
    json["controls"] = named_controls(p, p.options.controls.values);
    json["interpolation"] = interpolation(p);
  }
  Json equations = Json::object();
  for (const io::Variable& v : p.states) {
    for (int i = 0; i < v.size; ++i) equations[v.element(i)] = p.equations[std::size_t(v.offset + i)];
  }
  json["equations"] = equations;
  Json events = Json::array();
  for (std::size_t i = 0; i < p.guards.size(); ++i) {
    const ode::Event& e = p.options.events[i];
    events.push_back(
        {{"name", e.name}, {"when", p.guards[i]}, {"direction", e.direction}, {"terminal", e.terminal}});
  }
  json["events"] = events;
  json["solve"] = {{"t0", p.t0},
                   {"t1", p.t1},
                   {"method", p.options.method},
                   {"rtol", p.options.rtol},
                   {"atol", p.options.atol}};
  if (p.options.dt > 0) json["solve"]["dt"] = p.options.dt;
  Json loss = Json::object();
  if (!p.final_text.empty()) loss["final"] = p.final_text;
  if (!p.running_text.empty()) loss["running"] = p.running_text;
  if (!p.samples_text.empty()) loss["samples"] = p.samples_text;
  json["loss"] = loss;
  json["methods"] = ode::method_names();
  json["adjoints"] = io::adjoint_names();
  return json;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

int run_info(const Arguments& arguments) {
  const io::Problem p = load(arguments);
  if (arguments.json) {
    print(as_json(p));
    return 0;
  }
  Table states({"state", "start", "equation"});
  for (const io::Variable& v : p.states) {
    for (int i = 0; i < v.size; ++i) {
      const int at = v.offset + i;
      const bool algebraic = std::find(p.algebraic.begin(), p.algebraic.end(), at) != p.algebraic.end();
      states.row({v.element(i), number(p.y0[std::size_t(at)]),
                  (algebraic ? "0 = " : v.element(i) + "' = ") + p.equations[std::size_t(at)]});
    }
  }
  fmt::print("{}", states.text());
  if (!p.p.empty()) {
    Table parameters({"parameter", "value"});
    for (const io::Variable& v : p.parameters) {
      for (int i = 0; i < v.size; ++i) parameters.row({v.element(i), number(p.p[std::size_t(v.offset + i)])});
    }
    fmt::print("\n{}", parameters.text());
  }
  if (!p.controls.empty()) {
    Table controls({"control", "", "values"});
    for (const io::Variable& v : p.controls) {
      std::string values;
      for (int i = 0; i < v.size && i < kShownValues; ++i)
        values += (i > 0 ? ", " : "") + number(p.options.controls.values[p.control_index(v, i)]);
      if (v.size > kShownValues) values += fmt::format(", ... ({} values)", v.size);
      controls.row({v.name, interpolation(p), values});
    }
    fmt::print("\n{}", controls.text());
  }
  fmt::print("\n");
  Table rest;
  for (std::size_t i = 0; i < p.guards.size(); ++i) {
    const ode::Event& e = p.options.events[i];
    const char* const direction = e.direction < 0 ? "falling" : e.direction > 0 ? "rising" : "either way";
    rest.row({"event", fmt::format("{} = 0, {}{}{}", p.guards[i], direction, e.jump ? ", sets the state" : "",
                                   e.terminal ? ", ends the solution" : "")});
  }
  rest.row({"time", fmt::format("from {} to {}", number(p.t0), number(p.t1))});
  rest.row({"method", p.options.dt > 0 ? fmt::format("{}, dt {}", p.options.method, number(p.options.dt))
                                       : fmt::format("{}, rtol {}, atol {}", p.options.method,
                                                     number(p.options.rtol), tolerance(p.options.atol))});
  if (!p.final_text.empty()) rest.row({"loss", p.final_text + "  at the end"});
  if (!p.running_text.empty()) rest.row({"loss", "integral of  " + p.running_text});
  if (!p.samples_text.empty())
    rest.row(
        {"loss", fmt::format("sum of  {}  at {} times", p.samples_text, p.loss.samples->times().size())});
  if (p.optimize) {
    std::vector<std::string> names;
    for (const io::Input& v : p.optimize->variables) names.push_back(v.name);
    rest.row({"optimize", joined(names) + " by " + p.optimize->method});
  }
  if (p.fit) {
    std::vector<std::string> names;
    std::size_t count = 0;
    for (const io::Input& v : p.fit->variables) names.push_back(v.name);
    for (const io::Series& s : p.fit->data) count += s.t.size();
    rest.row({"fit", fmt::format("{} to {} measurements", joined(names), count)});
  }
  fmt::print("{}\nmethods: {}\nadjoints: {}\n", rest.text(), joined(ode::method_names()),
             joined(io::adjoint_names()));
  return 0;
}

}  // namespace costate::app
