#include "costate/io/text/toml_values.h"

#include <algorithm>
#include <cmath>

#include "costate/core/names.h"

namespace costate::io {

using Kind = TomlValue::Kind;

double TomlValues::number(const TomlValue& v, const std::string& what) const {
  if (!v.is(Kind::number)) document_.fail(v.place, what + " must be a number, not " + v.description());
  if (!std::isfinite(v.number)) document_.fail(v.place, what + " is not a finite number");
  return v.number;
}

double TomlValues::positive(const TomlValue& v, const std::string& what) const {
  if (!(number(v, what) > 0)) document_.fail(v.place, what + " must be greater than zero");
  return v.number;
}

long TomlValues::count(const TomlValue& v, const std::string& what, long largest) const {
  const double n = number(v, what);
  if (n != std::floor(n) || n < 1 || n > double(largest))
    document_.fail(v.place, what + " must be a whole number from 1 to " + std::to_string(largest));
  return long(n);
}

bool TomlValues::boolean(const TomlValue& v, const std::string& what) const {
  if (!v.is(Kind::boolean)) document_.fail(v.place, what + " must be true or false, not " + v.description());
  return v.number != 0;
}

const std::string& TomlValues::string(const TomlValue& v, const std::string& what) const {
  if (!v.is(Kind::string)) document_.fail(v.place, what + " must be a string, not " + v.description());
  return v.text;
}

std::vector<double> TomlValues::numbers(const TomlValue& v, const std::string& what) const {
  if (!v.is(Kind::array))
    document_.fail(v.place, what + " must be an array of numbers, not " + v.description());
  std::vector<double> values;
  for (std::size_t i = 0; i < v.items.size(); ++i)
    values.push_back(number(v.items[i], what + "[" + std::to_string(i) + "]"));
  return values;
}

const TomlValue& TomlValues::table(const TomlValue& v, const std::string& what) const {
  if (!v.is(Kind::table)) document_.fail(v.place, what + " must be a table, not " + v.description());
  return v;
}

const std::string& TomlValues::choice(const TomlValue& v, const std::string& what,
                                      const std::vector<std::string>& known) const {
  const std::string& chosen = string(v, what);
  if (std::find(known.begin(), known.end(), chosen) == known.end()) {
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    const std::string near = nearest_name(chosen, known);
    document_.fail(v.place, "there is no " + what + " '" + chosen + "'",
                   (near.empty() ? "" : "did you mean '" + near + "'? ") + ("choose one of: " + list));
  }
  return chosen;
}

}  // namespace costate::io
