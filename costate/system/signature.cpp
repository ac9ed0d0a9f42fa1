#include "costate/system/signature.h"

#include <algorithm>
#include <numeric>

#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate {

const char* to_string(Role role) {
  switch (role) {
    case Role::state:
      return "state";
    case Role::control:
      return "control";
    case Role::parameter:
      return "parameter";
  }
  return "";
}

Signature& Signature::state(std::string name, std::int64_t size, std::string unit) {
  return add(Role::state, {std::move(name), size, 0, std::move(unit), {}});
}
Signature& Signature::control(std::string name, std::int64_t size, std::string unit) {
  return add(Role::control, {std::move(name), size, 0, std::move(unit), {}});
}
Signature& Signature::parameter(std::string name, double value, std::string unit) {
  return add(Role::parameter, {std::move(name), 1, 0, std::move(unit), {value}});
}
Signature& Signature::parameter(std::string name, std::vector<double> values, std::string unit) {
  const auto size = static_cast<std::int64_t>(values.size());
  return add(Role::parameter, {std::move(name), size, 0, std::move(unit), std::move(values)});
}
Signature& Signature::parameter_field(std::string name, std::int64_t size, double value, std::string unit) {
  return add(Role::parameter, {std::move(name), size, 0, std::move(unit), {value}});
}

Signature& Signature::add(Role role, Field field) {
  if (field.name.empty()) throw Error(std::string("a ") + to_string(role) + " field needs a name");
  if (field.size < 0) throw Error("field '" + field.name + "' has a negative size");
  if (find_if(role, field.name))
    throw Error(std::string("two ") + to_string(role) + " fields are named '" + field.name + "'");
  field.offset = total(role);
  auto& list = fields_[static_cast<int>(role)];
  if (!field.ranges.empty()) limited_.push_back(list.size());
  position_[static_cast<int>(role)].emplace(field.name, list.size());
  list.push_back(std::move(field));
  return *this;
}

Signature& Signature::add(Role role, const std::vector<Field>& fields) {
  for (const Field& field : fields) add(role, field);
  return *this;
}

Signature& Signature::limit(std::size_t field, const ParameterRange& range) {
  Field& limited = fields_[static_cast<int>(Role::parameter)][field];
  if (limited.ranges.empty()) limited_.push_back(field);
  limited.ranges.push_back(range);
  return *this;
}

Signature& Signature::limit(std::string_view name, const ParameterRange& range) {
  const auto& all = fields(Role::parameter);
  if (name.find_first_of("*?") == std::string_view::npos)
    return limit(std::size_t(&find(Role::parameter, name) - all.data()), range);
  for (std::size_t f = 0; f < all.size(); ++f)
    if (glob_match(name, all[f].name)) limit(f, range);
  return *this;
}

std::int64_t Signature::total(Role role) const {
  const auto& list = fields(role);
  return list.empty() ? 0 : list.back().offset + list.back().size;
}

const Field* Signature::find_if(Role role, std::string_view name) const {
  const auto& positions = position_[static_cast<int>(role)];
  const auto at = positions.find(name);
  return at == positions.end() ? nullptr : &fields(role)[at->second];
}

namespace {

std::vector<std::string> names_of(const std::vector<Field>& fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.name);
  return names;
}

std::string choose_from(std::string_view name, const std::vector<Field>& fields) {
  if (fields.empty()) return "there is none of that kind";
  std::string text = "did you mean ";
  const char* separator = "";
  for (const std::string& miss : nearest_names(name, names_of(fields))) {
    text += separator + ("'" + miss + "'");
    separator = ", ";
  }
  return text + "?";
}

// Names in files may have slashes of their own ("left/hand"), which a single star does not cross.
std::string advise(const std::string& glob, const std::vector<Field>& fields) {
  std::string wide;
  for (const char c : glob) wide += c == '*' && !wide.ends_with('*') ? "**" : std::string(c != '*', c);
  for (const Field& field : fields) {
    if (glob_match(wide, field.name))
      return "did you mean '" + wide + "'? there is '" + field.name + "', and * stops at a slash";
  }
  return choose_from(glob, fields);
}

}  // namespace

const Field& Signature::find(Role role, std::string_view name) const {
  if (const Field* field = find_if(role, name)) return *field;
  throw Error({"no " + std::string(to_string(role)) + " is named '" + std::string(name) + "'",
               {},
               choose_from(name, fields(role))});
}

std::vector<bool> Signature::match(Role role, const std::vector<std::string>& globs) const {
  const auto& list = fields(role);
  std::vector<bool> chosen(list.size(), false);
  for (const std::string& glob : globs) {
    bool found = glob == "**";  // "everything" may be nothing
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!glob_match(glob, list[i].name)) continue;
      chosen[i] = true;
      found = true;
    }
    if (!found) {
      throw Error({"no " + std::string(to_string(role)) + " matches '" + glob + "'", {}, advise(glob, list)});
    }
  }
  return chosen;
}

std::string Signature::describe(Role role, std::int64_t index) const {
  for (const Field& field : fields(role)) {
    if (index < field.offset || index >= field.offset + field.size) continue;
    return field.size == 1 ? field.name : field.name + "[" + std::to_string(index - field.offset) + "]";
  }
  return std::string(to_string(role)) + "[" + std::to_string(index) + "]";
}

std::string Signature::to_text() const {
  std::string text;
  for (Role role : {Role::state, Role::control, Role::parameter}) {
    for (const Field& field : fields(role)) {
      text += std::string(to_string(role)) + "  " + field.name;
      if (field.size != 1) text += "[" + std::to_string(field.size) + "]";
      if (!field.unit.empty()) text += "  " + field.unit;
      text += "\n";
    }
  }
  return text;
}

bool same_fields(const Signature& a, const Signature& b, Role role) {
  const auto& x = a.fields(role);
  const auto& y = b.fields(role);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const Field& f, const Field& g) { return f.name == g.name && f.size == g.size; });
}

bool glob_match(std::string_view pattern, std::string_view text) {
  // Dynamic programme over the pattern, linear space: hostile patterns cost |pattern| * |text|, never more.
  std::vector<char> reach(text.size() + 1, 0), next(text.size() + 1, 0);
  reach[0] = 1;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::fill(next.begin(), next.end(), 0);
    if (pattern[i] == '*') {
      const bool deep = i + 1 < pattern.size() && pattern[i + 1] == '*';
      if (deep) ++i;
      char open = 0;
      for (std::size_t j = 0; j <= text.size(); ++j) {
        if (j > 0 && !deep && text[j - 1] == '/') open = 0;
        open = static_cast<char>(open | reach[j]);
        next[j] = open;
      }
    } else {
      for (std::size_t j = 0; j < text.size(); ++j) {
        if (reach[j] && (pattern[i] == '?' || pattern[i] == text[j])) next[j + 1] = 1;
      }
    }
    std::swap(reach, next);
  }
  return reach[text.size()] != 0;
}

}  // namespace costate
