#include <cmath>

#include "costate/io/scene/tables.h"
#include "costate/ode/fields/program_field.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;
using study::Path;
constexpr long kMostPoints = 1'000'000;

// A formula of t, at every step.
Path sampled(const SceneFile& file, const TomlValue& formula, double dt, std::int64_t steps) {
  const ad::Program program = parse_formula(file.document(), formula, {{"t", 1}, {"x", 0}, {"p", 0}});
  const ode::ProgramDerivatives value(program);
  std::vector<double> scratch(value.scratch_size());
  Path path{.shape = Path::Shape::steps};
  for (std::int64_t k = 0; k < steps; ++k) {
    double u = 0;
    value.value(dt * double(k), nullptr, nullptr, &u, scratch.data());
    if (!std::isfinite(u))
      file.fail(formula.place, "this is not finite at t = " + std::to_string(dt * double(k)));
    path.points.push_back(u);
  }
  return path;
}

}  // namespace

Path read_path(const SceneFile& file, const TomlValue& v, const std::string& name, double dt,
               std::int64_t steps) {
  if (v.is(Kind::string)) return sampled(file, v, dt, steps);
  Path path{.shape = Path::Shape::hold};
  if (v.is(Kind::number)) {
    path.points = {file.number(v, name)};
    return path;
  }
  const TomlValue* values = &v;
  if (v.is(Kind::table)) {
    file.require_known_keys(v, {"values", "count", "value", "interpolation"}, "the control " + name);
    if (const TomlValue* i = v.find("interpolation")) {
      const std::string& shape = file.choice(*i, "interpolation", {"hold", "linear", "spline"});
      path.shape = shape == "spline"   ? Path::Shape::spline
                   : shape == "linear" ? Path::Shape::linear
                                       : Path::Shape::hold;
    }
    values = v.find("values");
    if (values && (v.find("count") || v.find("value")))
      file.fail(v.place, "give either values, or count and value");
    if (!values) {
      const TomlValue& n =
          file.required(v, "count", "the control " + name, "add values = [0.0, 1.0], or count = 20");
      path.points.assign(file.count(n, "count", kMostPoints), file.number_or(v, "value", 0.0));
    }
  }
  if (values) path.points = file.numbers(*values, name);
  const std::size_t least = Path::least_points(path.shape);
  if (path.points.size() < least)
    file.fail(v.place, "the control " + name + " needs at least " + std::to_string(least) + " values");
  if (steps > 0 && std::int64_t(path.points.size()) > steps + 3)
    file.fail(v.place, "the control " + name + " has more values than there are steps",
              "give at most " + std::to_string(steps));
  return path;
}

// Keys are names of what can be driven, or globs over them.
void read_controls(const SceneFile& file, Draft& draft) {
  const TomlValue& entries = file.table_or_empty("controls");
  study::Setup& setup = draft.setup;
  std::vector<std::string> names;
  for (const Drivable& d : draft.drivable) names.push_back(d.name);
  std::vector<bool> taken(names.size(), false);
  const char* const shapes[] = {"held", "linear", "spline"};
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const std::string& key = entries.keys[i];
    const Path path = read_path(file, entries.items[i], key, setup.dt, setup.steps);
    bool any = false;
    for (std::size_t a = 0; a < names.size(); ++a) {
      if (!glob_match(key, names[a])) continue;
      if (taken[a]) file.fail(entries.key_places[i], "the control of '" + names[a] + "' is given twice");
      taken[a] = any = true;
      const Drivable& d = draft.drivable[a];
      setup.drives.push_back({setup.inputs.paths.size(), d.control});
      const bool formula = path.shape == Path::Shape::steps;
      setup.facts.emplace_back("control", d.name + ": " +
                                              (formula ? "a formula of t"
                                                       : std::to_string(path.points.size()) + " values, " +
                                                             shapes[int(path.shape)]));
      // A formula has no values to change: it is in no group.
      if (!formula)
        draft.groups.push_back({.name = "controls." + d.name,
                                .where = study::Variable::Where::path,
                                .count = path.points.size(),
                                .path = setup.inputs.paths.size(),
                                .indexed = true,
                                .lower = d.lower,
                                .upper = d.upper});
      setup.inputs.paths.push_back(path);
    }
    if (!any) file.fail(entries.key_places[i], "there is no control '" + key + "'", suggestion(key, names));
  }
}

}  // namespace costate::io
