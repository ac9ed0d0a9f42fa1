#include <algorithm>
#include <charconv>

#include "costate/io/problem_reader.h"

namespace costate::io {

// "parameters.k": every element of k; "parameters.k[1]": one. "controls.u": every value over time.
std::vector<Input> ProblemReader::input(const std::string& name, Place place) const {
  using Of = Input::Of;
  const std::string prefix = name.substr(0, name.find('.') + 1);
  if (prefix != "parameters." && prefix != "state." && prefix != "controls.")
    document_.fail(place, "'" + name + "' is neither a parameter nor a state nor a control",
                   "write \"parameters.NAME\", \"state.NAME\" or \"controls.NAME\"");
  const Of of = prefix == "state." ? Of::state : prefix == "parameters." ? Of::parameter : Of::control;
  const std::vector<Variable>& all = of == Of::state       ? problem_.states
                                     : of == Of::parameter ? problem_.parameters
                                                           : problem_.controls;
  const int stride = of == Of::control ? int(problem_.controls.size()) : 1;
  std::string base = name.substr(prefix.size());
  int element = -1;
  if (const std::size_t bracket = base.find('['); bracket != std::string::npos && base.ends_with(']')) {
    const char* const end = base.data() + base.size() - 1;
    const auto parsed = std::from_chars(base.data() + bracket + 1, end, element);
    if (parsed.ec != std::errc() || parsed.ptr != end || element < 0)
      document_.fail(place, "an index is a whole number such as 0");
    base.resize(bracket);
  }
  std::vector<std::string> names;
  for (const Variable& v : all) {
    names.push_back(v.name);
    if (v.name != base) continue;
    if (element >= v.size || (element >= 0 && !v.array))
      document_.fail(place,
                     v.array ? "'" + base + "' has " + std::to_string(v.size) + " elements, numbered from 0"
                             : "'" + base + "' is not an array");
    std::vector<Input> inputs;
    for (int i = 0; i < v.size; ++i) {
      if (element < 0 || element == i)
        inputs.push_back({.name = prefix + v.element(i), .of = of, .index = v.offset + i * stride});
    }
    return inputs;
  }
  document_.fail(place, "there is no " + prefix + base, suggestion(base, names));
}

std::vector<Input> ProblemReader::inputs(const TomlValue& names) const {
  if (!names.is(TomlValue::Kind::array) || names.items.empty())
    document_.fail(names.place, "variables must be an array of names",
                   "write variables = [\"parameters.g\", \"state.v\"]");
  std::vector<Input> all;
  for (const TomlValue& name : names.items) {
    for (Input& one : input(string(name, "a variable"), name.place)) {
      for (const Input& other : all) {
        if (other.name == one.name) document_.fail(name.place, "'" + one.name + "' is given twice");
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

// bounds."parameters.g" = [low, high], or the same with bounds.parameters.g.
void ProblemReader::read_bounds(const TomlValue& bounds, const std::string& prefix,
                                std::vector<Input>& variables) const {
  for (std::size_t i = 0; i < bounds.keys.size(); ++i) {
    const std::string name = prefix + bounds.keys[i];
    const TomlValue& v = bounds.items[i];
    if (v.is(TomlValue::Kind::table) && (name == "parameters" || name == "state" || name == "controls")) {
      read_bounds(v, name + ".", variables);
      continue;
    }
    if (!v.is(TomlValue::Kind::array) || v.items.size() != 2)
      document_.fail(v.place, "bounds are two numbers: [lowest, highest]");
    double ends[2];
    for (int k = 0; k < 2; ++k) {
      const TomlValue& end = v.items[std::size_t(k)];
      if (!end.is(TomlValue::Kind::number) || end.number != end.number)
        document_.fail(end.place, "a bound must be a number, or inf or -inf for none");
      ends[k] = end.number;
    }
    if (!(ends[0] <= ends[1])) document_.fail(v.place, "the lower bound is above the upper one");
    for (const Input& bounded : input(name, bounds.key_places[i])) {
      const auto at = std::find_if(variables.begin(), variables.end(),
                                   [&](const Input& x) { return x.name == bounded.name; });
      if (at == variables.end())
        document_.fail(bounds.key_places[i],
                       "'" + bounded.name + "' has bounds but is not among the variables");
      at->lower = ends[0];
      at->upper = ends[1];
    }
  }
}

void ProblemReader::read_optimize() {
  const TomlValue* found = root_.find("optimize");
  if (!found) return;
  const TomlValue& o = table(*found, "optimize");
  document_.require_known_keys(o, {"variables", "method", "iterations", "rate", "tolerance", "bounds"},
                               "[optimize]");
  Optimize& optimize = problem_.optimize.emplace();
  const TomlValue* names = o.find("variables");
  if (!names) document_.fail(o.place, "[optimize] has no variables", "add variables = [\"parameters.g\"]");
  optimize.variables = inputs(*names);
  if (const TomlValue* v = o.find("method"))
    optimize.method = choice(*v, "method of optimisation", {"lbfgs", "adam", "gradient_descent", "cma_es"});
  if (const TomlValue* v = o.find("iterations"))
    optimize.iterations = int(count(*v, "iterations", 1'000'000));
  if (const TomlValue* v = o.find("rate")) optimize.rate = positive(*v, "rate");
  if (const TomlValue* v = o.find("tolerance")) optimize.tolerance = positive(*v, "tolerance");
  if (const TomlValue* v = o.find("bounds")) read_bounds(table(*v, "bounds"), "", optimize.variables);
  if (!problem_.has_loss())
    document_.fail(o.place, "there is no loss to optimise", "add a table [loss], or use [fit] with data");
}

Series ProblemReader::read_series(const TomlValue& v) const {
  document_.require_known_keys(v, {"t", "value", "measured", "sigma"}, "data");
  for (const char* key : {"t", "value", "measured"}) {
    if (!v.find(key))
      document_.fail(v.place, std::string("data have no '") + key + "'",
                     "write data = {t = [...], value = \"x\", measured = [...]}");
  }
  Series series;
  series.t = numbers(*v.find("t"), "t");
  check_times(*v.find("t"), series.t);
  series.value = function(*v.find("value"));
  series.text = v.find("value")->text;
  series.measured = numbers(*v.find("measured"), "measured");
  if (series.t.empty()) document_.fail(v.find("t")->place, "data need at least one time");
  if (series.measured.size() != series.t.size())
    document_.fail(v.find("measured")->place, "there are " + std::to_string(series.measured.size()) +
                                                  " measured values for " + std::to_string(series.t.size()) +
                                                  " times");
  if (const TomlValue* sigma = v.find("sigma")) series.sigma = positive(*sigma, "sigma");
  return series;
}

void ProblemReader::read_fit() {
  const TomlValue* found = root_.find("fit");
  if (!found) return;
  const TomlValue& f = table(*found, "fit");
  document_.require_known_keys(f, {"variables", "data", "iterations", "tolerance", "bounds"}, "[fit]");
  if (problem_.optimize)
    document_.fail(f.place, "there is an [optimize] already", "keep one of [optimize] and [fit]");
  Fit& fit = problem_.fit.emplace();
  const TomlValue *names = f.find("variables"), *data = f.find("data");
  if (!names) document_.fail(f.place, "[fit] has no variables", "add variables = [\"parameters.g\"]");
  if (!data)
    document_.fail(f.place, "[fit] has no data", "add data = {t = [...], value = \"x\", measured = [...]}");
  fit.variables = inputs(*names);
  if (data->is(TomlValue::Kind::array)) {
    for (const TomlValue& series : data->items) fit.data.push_back(read_series(table(series, "data")));
  } else {
    fit.data.push_back(read_series(table(*data, "data")));
  }
  if (fit.data.empty()) document_.fail(data->place, "there are no data");
  if (const TomlValue* v = f.find("iterations")) fit.iterations = int(count(*v, "iterations", 1'000'000));
  if (const TomlValue* v = f.find("tolerance")) fit.tolerance = positive(*v, "tolerance");
  if (const TomlValue* v = f.find("bounds")) read_bounds(table(*v, "bounds"), "", fit.variables);
}

}  // namespace costate::io
