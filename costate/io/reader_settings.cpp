#include <charconv>
#include <cmath>

#include "costate/core/error.h"
#include "costate/io/problem_reader.h"

namespace costate::io {

using Kind = TomlValue::Kind;

// What the user wrote on a command line takes the place of what the file says.
void ProblemReader::apply(const Setting& setting) {
  const std::string &path = setting.first, &text = setting.second;
  const std::string where = "--set " + path + "=" + text;
  const auto wrong = [&](const std::string& what, const std::string& advice) {
    throw Error({what, where, advice});
  };
  const std::size_t dot = path.find('.');
  const std::string section = path.substr(0, dot);
  if (dot == std::string::npos ||
      (section != "state" && section != "parameters" && section != "controls" && section != "solve"))
    wrong("'" + path + "' names nothing that can be set",
          "write state.NAME, parameters.NAME, controls.NAME[0] or solve.KEY");
  std::string key = path.substr(dot + 1), index;
  if (const std::size_t bracket = key.find('['); bracket != std::string::npos && key.ends_with(']')) {
    index = key.substr(bracket + 1, key.size() - bracket - 2);
    key.resize(bracket);
  }

  TomlValue value = setting_value(text);
  const auto must_be_a_number = [&](const TomlValue& v) {
    if (v.is(Kind::number) && !std::isfinite(v.number)) wrong("the value is not a finite number", "");
    if (!v.is(Kind::number) && section != "solve")
      wrong("'" + v.text + "' is not a number", "write " + path + "=1.5");
  };
  if (value.is(Kind::array)) {
    for (const TomlValue& item : value.items) must_be_a_number(item);
  } else {
    must_be_a_number(value);
  }

  TomlValue* const table = document_.root().find(section);
  if (!table || !table->is(Kind::table)) wrong("the file has no [" + section + "]", "");
  TomlValue* target = table->find(key);
  if (!target && section == "solve") {
    table->keys.push_back(key);
    table->key_places.push_back({});
    table->items.push_back(value);
    return;
  }
  if (!target) wrong("there is no " + section + "." + key, suggestion(key, table->keys));
  if (section == "controls" && target->is(Kind::table)) {
    target = target->find("values");
    if (!target) wrong("the control has no values", "");
  }
  const bool whole_array = index.empty() && value.is(Kind::array) && target->is(Kind::array);
  if (whole_array && section != "solve" && value.items.size() != target->items.size())
    wrong(key + " is an array of " + std::to_string(target->items.size()) + " elements, not of " +
              std::to_string(value.items.size()),
          "");
  if (!whole_array && (!index.empty() || target->is(Kind::array))) {
    std::size_t i = 0;
    const auto parsed = std::from_chars(index.data(), index.data() + index.size(), i);
    if (index.empty() || parsed.ec != std::errc() || parsed.ptr != index.data() + index.size() ||
        !target->is(Kind::array) || i >= target->items.size())
      wrong(target->is(Kind::array)
                ? key + " is an array of " + std::to_string(target->items.size()) + " elements"
                : key + " is not an array",
            target->is(Kind::array) ? "write " + section + "." + key + "[0]=..." : "leave the index out");
    target = &target->items[i];
  }
  if (value.is(Kind::array) && !target->is(Kind::array) && section != "solve")
    wrong(key + " is one number", "write " + path + "=1.5");
  value.place = target->place;
  for (TomlValue& item : value.items) item.place = target->place;
  *target = value;
}

}  // namespace costate::io
