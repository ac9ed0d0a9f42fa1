#include "costate/io/problem_reader.h"

namespace costate::io {
namespace {

constexpr std::size_t kMaxTable = std::size_t(1) << 22;  // intervals times parameters

}  // namespace

// thrust = [v0, v1, ...], or thrust = {values = [v0, v1, ...], interpolation = "linear"}.
void ProblemReader::read_controls() {
  const TomlValue* found = root_.find("controls");
  if (!found) return;
  const TomlValue& entries = table(*found, "controls");
  if (entries.keys.empty())
    document_.fail(entries.place, "[controls] is empty", "add for instance: thrust = [0.0, 1.0, 0.0]");
  std::vector<std::vector<double>> series;
  std::string kind;  // of the first
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const std::string& name = entries.keys[i];
    const TomlValue* values = &entries.items[i];
    std::string interpolation = "hold";
    if (values->is(TomlValue::Kind::table)) {
      document_.require_known_keys(*values, {"values", "interpolation"}, "the control " + name);
      if (const TomlValue* v = values->find("interpolation"))
        interpolation = choice(*v, "interpolation", {"hold", "linear"});
      if (!values->find("values"))
        document_.fail(values->place, "the control '" + name + "' has no values", "add values = [0.0, 1.0]");
      values = values->find("values");
    }
    series.push_back(numbers(*values, name));
    const std::size_t count = series.back().size(), first = series.front().size();
    if (count == 0) document_.fail(values->place, name + " is an array without elements");
    if (count < 2 && interpolation == "linear")
      document_.fail(values->place, name + " is linear between its values, so it needs at least two");
    if (count != first)
      document_.fail(values->place,
                     "'" + name + "' has " + std::to_string(count) + " values, where '" + entries.keys[0] +
                         "' has " + std::to_string(first),
                     "all controls change at the same times: give them the same number of values");
    if (i == 0) kind = interpolation;
    if (interpolation != kind)
      document_.fail(entries.key_places[i],
                     "'" + name + "' is " + interpolation + ", where '" + entries.keys[0] + "' is " + kind,
                     "all controls have the same interpolation");
    if (count * (problem_.p.size() + 2 * entries.keys.size() + 2) > kMaxTable)
      document_.fail(values->place, "there are too many intervals of controls");
    problem_.controls.push_back({name, int(i), int(count), true, entries.key_places[i]});
  }
  ode::Controls& controls = problem_.options.controls;
  controls.interpolation =
      kind == "linear" ? ode::Controls::Interpolation::linear : ode::Controls::Interpolation::hold;
  for (std::size_t k = 0; k < series[0].size(); ++k) {
    for (const std::vector<double>& values : series) controls.values.push_back(values[k]);
  }
}

}  // namespace costate::io
