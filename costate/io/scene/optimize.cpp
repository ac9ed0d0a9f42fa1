#include <algorithm>
#include <charconv>
#include <cmath>

#include "costate/io/scene/tables.h"
#include "costate/optim/by_name.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;
using study::Variable;

class VariableReader {
 public:
  VariableReader(const SceneFile& file, const std::vector<VariableGroup>& groups, const study::Inputs& inputs)
      : file_(file), groups_(groups), inputs_(inputs) {}

  // "parameters.g", or {name = "jug.position", axes = "xy", scale = 0.02, fixed_first = 1, lower = ..., upper
  // = ...}. Names may be globs; "start.u[2]" is one number of several.
  void read(const TomlValue& v) {
    const bool alone = v.is(Kind::string);
    if (!alone)
      file_.require_known_keys(
          file_.table(v, "a variable"),
          {"name", "axes", "scale", "fixed_first", "fixed_last", "lower", "upper", "prior"}, "a variable");
    const TomlValue& place =
        alone ? v : file_.required(v, "name", "this variable", "add name = \"parameters.NAME\"");
    std::string name = file_.string(place, "name");
    const long index = split_index(place, name);
    static const TomlValue kEmpty;
    const TomlValue& table = alone ? kEmpty : v;
    const std::size_t before = list.size();
    bool any = false;
    for (const VariableGroup& group : groups_) {
      if (name != group.name && !glob_match(name, group.name)) continue;
      if (!wants_axis(table, group)) {
        any = true;
        continue;
      }
      any = true;
      add(table, place, group, index);
    }
    if (!any) refuse(place, name);
    if (list.size() == before)
      file_.fail(place.place, "all control points are fixed", "reduce fixed_first or fixed_last");
  }

  std::vector<Variable> list;

 private:
  long split_index(const TomlValue& place, std::string& name) const {
    const std::size_t bracket = name.find('[');
    if (bracket == std::string::npos || !name.ends_with(']')) return -1;
    long index = -1;
    const char* const end = name.data() + name.size() - 1;
    const auto parsed = std::from_chars(name.data() + bracket + 1, end, index);
    if (parsed.ec != std::errc() || parsed.ptr != end || index < 0)
      file_.fail(place.place, "an index is a whole number such as 0");
    name.resize(bracket);
    return index;
  }
  bool wants_axis(const TomlValue& v, const VariableGroup& group) const {
    const TomlValue* axes = v.find("axes");
    if (!axes) return true;
    if (group.suffix.empty()) file_.fail(axes->place, "'" + group.name + "' has no axes");
    return file_.axes(*axes, dimension_of(group.name))[group.suffix[1] - 'x'];
  }
  int dimension_of(const std::string& name) const {
    return int(std::count_if(groups_.begin(), groups_.end(),
                             [&](const VariableGroup& g) { return g.name == name; }));
  }
  std::size_t fixed(const TomlValue& v, const char* key, const VariableGroup& group) const {
    const TomlValue* n = v.find(key);
    if (n && group.where != Variable::Where::path)
      file_.fail(n->place, std::string(key) + " is for motions and controls");
    return n ? std::size_t(file_.count(*n, key, 1000)) : 0;
  }

  void add(const TomlValue& v, const TomlValue& place, const VariableGroup& g, long index) {
    Variable base{.where = g.where, .path = g.path, .unit = g.unit};
    base.scale = file_.positive_or(v, "scale", 1);
    base.lower = file_.number_or(v, "lower", g.lower / g.unit);
    base.upper = file_.number_or(v, "upper", g.upper / g.unit);
    if (const TomlValue* prior = v.find("prior")) read_prior(*prior, base);
    if (!(base.lower <= base.upper)) file_.fail(v.place, "the lower bound is above the upper one");
    const std::size_t first = fixed(v, "fixed_first", g), last = fixed(v, "fixed_last", g);
    if (index >= 0 && !g.indexed && g.count == 1) file_.fail(place.place, "'" + g.name + "' is not an array");
    if (index >= long(g.count))
      file_.fail(place.place,
                 "'" + g.name + "' has " + std::to_string(g.count) + " elements, numbered from 0");
    for (std::size_t i = first; i + last < g.count; ++i) {
      if (index >= 0 && i != std::size_t(index)) continue;
      Variable one = base;
      one.index = g.first + i;
      one.name = g.name + (g.indexed || g.count > 1 ? "[" + std::to_string(i) + "]" : "") + g.suffix;
      one.start = number_of(inputs_, one) / g.unit;
      for (const Variable& other : list)
        if (other.name == one.name) file_.fail(place.place, "'" + one.name + "' is given twice");
      if (one.start < one.lower || one.start > one.upper)
        file_.fail(place.place,
                   "'" + one.name + "' starts at " + std::to_string(one.start) + ", outside its bounds");
      list.push_back(std::move(one));
    }
  }

  void read_prior(const TomlValue& v, Variable& to) const {
    if (!file_.root().find("fit"))
      file_.fail(v.place, "a prior is for [fit]", "of a loss, add a term that costs the distance");
    file_.require_known_keys(file_.table(v, "prior"), {"mean", "deviation"}, "a prior");
    const char* advice = "write prior = {mean = 1.0, deviation = 0.1}";
    to.mean = file_.number(file_.required(v, "mean", "this prior", advice), "mean");
    to.deviation = file_.positive(file_.required(v, "deviation", "this prior", advice), "deviation");
  }

  [[noreturn]] void refuse(const TomlValue& place, const std::string& name) const {
    // jug.position of a collider that rests is parameters.collider/jug/position.
    std::string path = "/" + name;
    std::replace(path.begin(), path.end(), '.', '/');
    for (const VariableGroup& g : groups_)
      if (g.name.ends_with(path))
        file_.fail(place.place, "'" + name + "' is not a variable", "write " + g.name);
    std::vector<std::string> names;
    const std::size_t dot = name.find('.');
    const std::string owner = dot == std::string::npos ? "" : name.substr(0, dot + 1);
    for (const VariableGroup& g : groups_)
      if (g.name.starts_with(owner) && std::find(names.begin(), names.end(), g.name) == names.end())
        names.push_back(g.name);
    if (owner.empty() || names.empty()) {
      names.clear();
      for (const VariableGroup& g : groups_) names.push_back(g.name);
      file_.fail(place.place, "'" + name + "' is not a variable",
                 "write start.NAME, parameters.NAME, controls.NAME or COLLIDER.position; " +
                     suggestion(name, names));
    }
    file_.fail(place.place, "there is no " + name, suggestion(name, names));
  }

  const SceneFile& file_;
  const std::vector<VariableGroup>& groups_;
  const study::Inputs& inputs_;
};

// One sigma is enough: data without one have sigma = 1 then.
bool gives_sigma(const TomlValue& fit) {
  const TomlValue* data = fit.find("data");
  if (!data) return false;
  if (!data->is(TomlValue::Kind::array)) return data->find("sigma") != nullptr;
  return std::any_of(data->items.begin(), data->items.end(),
                     [](const TomlValue& series) { return series.find("sigma") != nullptr; });
}

// Keys of [fit] alone.
void read_fit(const SceneFile& file, const TomlValue& o, double dt, study::Optimize& r) {
  using control::Robust;
  r.method = "levenberg_marquardt";
  r.iterations = 100;
  r.tolerance = 1e-10;
  if (const TomlValue* v = o.find("robust")) {
    const std::string kind = file.choice(*v, "robust loss", {"none", "huber", "cauchy"});
    r.robust = kind == "huber" ? Robust::huber : kind == "cauchy" ? Robust::cauchy : Robust::none;
  }
  r.sigma_given = gives_sigma(o);
  r.robust_width = file.positive_or(o, "robust_width", r.robust_width);
  if (const TomlValue* v = o.find("laplace")) r.laplace = file.boolean(*v, "laplace");
  if (const TomlValue* v = o.find("segment")) {
    if (!(dt > 0)) file.fail(v->place, "equations are not cut into segments", "leave segment out");
    r.segment = std::max<std::int64_t>(1, std::llround(file.positive(*v, "segment") / dt));
  }
  r.gap = file.positive_or(o, "gap", r.gap);
}

}  // namespace

std::optional<study::Optimize> read_optimize(const SceneFile& file, const std::vector<VariableGroup>& groups,
                                             const study::Inputs& inputs, bool has_loss, double dt,
                                             std::int64_t steps, Checkpoints* checkpoints) {
  const TomlValue *found = file.root().find("optimize"), *fit = file.root().find("fit");
  if (!found && !fit) return {};
  if (found && fit)
    file.fail(fit->place, "there is an [optimize] already", "keep one of [optimize] and [fit]");
  const std::string where = fit ? "[fit]" : "[optimize]";
  const TomlValue& o = file.table(fit ? *fit : *found, where);
  std::vector<std::string> known = {"variables", "iterations", "tolerance"};
  if (fit)
    known.insert(known.end(), {"data", "robust", "robust_width", "segment", "gap", "laplace"});
  else
    known.insert(known.end(), {"method", "rate", "decay", "target", "gradient_limit", "gradient_window"});
  file.require_known_keys(o, known, where);
  study::Optimize r;
  if (fit) read_fit(file, o, dt, r);
  if (const TomlValue* v = o.find("method"))
    r.method = file.choice(*v, "method of optimisation", optim::method_names());
  if (const TomlValue* v = o.find("iterations")) r.iterations = int(file.count(*v, "iterations", 1'000'000));
  if (const TomlValue* v = o.find("rate")) r.rate = file.positive(*v, "rate");
  r.decay = file.positive_or(o, "decay", r.decay);
  if (r.decay > 1) file.fail(o.find("decay")->place, "decay must not be above 1");
  r.tolerance = file.positive_or(o, "tolerance", r.tolerance);
  r.target = file.number_or(o, "target", r.target);
  r.gradient_limit = file.positive_or(o, "gradient_limit", r.gradient_limit);
  if (const TomlValue* v = o.find("gradient_window")) {
    if (!checkpoints) file.fail(v->place, "equations have no gradient_window", "leave it out");
    if (v->is(Kind::string)) {
      file.choice(*v, "gradient_window (s, or \"auto\")", {"auto"});
      r.automatic_window = true;
    } else {
      const double window = std::ceil(file.positive(*v, "gradient_window") / dt);
      if (window < double(steps)) *checkpoints = checkpoints->truncated(std::int64_t(window));
    }
  }
  const TomlValue& list =
      file.required(o, "variables", where, "add variables = [{name = \"parameters.NAME\", scale = 0.1}]");
  if (!list.is(Kind::array) || list.items.empty())
    file.fail(list.place, "variables must be an array of names, or of tables with a name",
              "write variables = [\"parameters.g\", {name = \"start.v\", scale = 0.1}]");
  VariableReader reader(file, groups, inputs);
  for (const TomlValue& v : list.items) reader.read(v);
  r.variables = std::move(reader.list);
  if (found && !has_loss)
    file.fail(o.place, "there is no loss to optimise", "add [[loss]], or use [fit] with data");
  return r;
}

}  // namespace costate::io
