// [plan]: how `costate plan` plans (study/plan.h), and what the motion must meet.
//
//   method = "collocation"                            ilqr, ddp
//   iterations = 500
//   end = {"position.*" = 0, "velocity.*" = 0}        of the last state
//   lower = {"position.slide" = -1}, upper = {...}    of every state after the first
//
// States have the names that they have under `start.` in [optimize]; names may be globs, of which later ones
// count.
#include <cmath>
#include <limits>

#include "costate/core/names.h"
#include "costate/io/scene/tables.h"
#include "costate/study/plan.h"

namespace costate::io {
namespace {

constexpr const char* kStart = "start.";

std::vector<double> read_states(const SceneFile& file, const TomlValue& v, const std::string& what,
                                const std::vector<VariableGroup>& groups, std::int64_t states) {
  const TomlValue& table = file.table(v, what);
  std::vector<double> all(std::size_t(states), std::numeric_limits<double>::quiet_NaN());
  std::vector<std::string> names;
  for (const VariableGroup& g : groups)
    if (g.where == study::Variable::Where::state && g.name.starts_with(kStart))
      names.push_back(g.name.substr(std::char_traits<char>::length(kStart)));
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    const std::string name = kStart + table.keys[i];
    const double number = file.number(table.items[i], what + "." + table.keys[i]);
    bool any = false;
    for (const VariableGroup& g : groups) {
      if (g.where != study::Variable::Where::state || (name != g.name && !glob_match(name, g.name))) continue;
      any = true;
      for (std::size_t k = 0; k < g.count; ++k) all[g.first + k] = number * g.unit;
    }
    if (any) continue;
    const std::string nearest = nearest_name(table.keys[i], names);
    file.fail(table.key_places[i], "no state is called '" + table.keys[i] + "'",
              nearest.empty() ? "costate info lists what a start has" : "did you mean '" + nearest + "'?");
  }
  return all;
}

}  // namespace

void read_plan(const SceneFile& file, const std::vector<VariableGroup>& groups, study::Setup& setup) {
  const TomlValue* const found = file.root().find("plan");
  if (!found) return;
  const TomlValue& t = file.table(*found, "plan");
  file.require_known_keys(t, {"method", "iterations", "end", "lower", "upper"}, "[plan]");
  study::Planning& plan = setup.planning;
  if (const TomlValue* v = t.find("method"))
    plan.method = file.choice(*v, "method of planning", study::plan_methods());
  if (const TomlValue* v = t.find("iterations"))
    plan.iterations = int(file.count(*v, "iterations", 1'000'000));
  const auto states = [&](const char* key, std::vector<double>& to) {
    if (const TomlValue* v = t.find(key)) to = read_states(file, *v, key, groups, setup.signature.states());
  };
  states("end", plan.end), states("lower", plan.lower), states("upper", plan.upper);
  for (std::size_t i = 0; i < plan.lower.size() && i < plan.upper.size(); ++i)
    if (std::isgreater(plan.lower[i], plan.upper[i]))  // NaN: no bound
      file.fail(t.place, "the lower bound of " + setup.signature.describe(Role::state, std::int64_t(i)) +
                             " lies above its upper bound");
}

}  // namespace costate::io
