#include "costate/io/scene/sections/scope.h"

#include <algorithm>

#include "costate/ad/derivative_rules.h"
#include "costate/ad/parse.h"
#include "costate/core/error.h"
#include "costate/io/scene/tables.h"

namespace costate::io {
namespace {

constexpr int kMaxElements = 4096;  // of states, of parameters

bool is_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && name.size() <= 64 && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// Whether formulas use the name for a function. (e is a constant of formulas that a file may take for
// itself.)
bool is_function(const std::string& name) {
  if (name == "e") return false;
  try {
    ad::parse_equations(name + " = 0", {}, {});
    return false;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

Scope::Scope(const TomlDocument& document, const std::vector<Declared>& states,
             const std::vector<Declared>& parameters, const std::vector<Declared>& controls)
    : document_(document) {
  fields_.push_back({"t", 1});
  for (const Declared& v : states) {
    check_new_name(v.name, v.place);
    fields_.push_back({v.name, v.size});
    states_ += v.size;
    if (states_ > kMaxElements)
      document_.fail(v.place, "there are more than " + std::to_string(kMaxElements) + " states");
  }
  for (const Declared& v : parameters) {
    check_new_name(v.name, v.place);
    fields_.push_back({v.name, v.size});
    parameters_ += v.size;
    if (parameters_ > kMaxElements)
      document_.fail(v.place, "there are more than " + std::to_string(kMaxElements) + " parameters");
  }
  for (const Declared& v : controls) {
    check_new_name(v.name, v.place);
    fields_.push_back({v.name, 1});
    if (++parameters_ > kMaxElements)
      document_.fail(v.place,
                     "there are more than " + std::to_string(kMaxElements) + " parameters and controls");
  }
}

void Scope::check_new_name(const std::string& name, Place place) {
  if (!is_name(name))
    document_.fail(place, "'" + name.substr(0, 64) + "' cannot be a name in formulas",
                   "use letters, digits and _, and begin with a letter");
  if (name == "t") document_.fail(place, "'t' is the time", "choose another name");
  if (is_function(name))
    document_.fail(place, "'" + name + "' is a function or constant of formulas", "choose another name");
  for (const ad::Field& field : fields_) {
    if (field.name == name)
      document_.fail(place, "the name '" + name + "' is given twice", "choose another name for one");
  }
}

ad::Program Scope::parse(const TomlValue& formula, const std::vector<ad::Field>& fields) const {
  return parse_formula(document_, formula, fields);
}

void Scope::define(const std::string& name, Place place, const TomlValue& formulas) {
  check_new_name(name, place);
  Definition definition;
  const bool array = formulas.is(TomlValue::Kind::array);
  if (array && formulas.items.empty())
    document_.fail(formulas.place, "'" + name + "' is an array without elements");
  if (array && formulas.items.size() > std::size_t(kMaxElements))
    document_.fail(formulas.place, "this array is too long");
  for (std::size_t i = 0; i < (array ? formulas.items.size() : 1); ++i)
    definition.elements.push_back(parse(array ? formulas.items[i] : formulas, fields_));
  fields_.push_back({name, int(definition.elements.size())});
  definitions_.push_back(std::move(definition));
}

ad::Program Scope::assemble(const std::vector<const TomlValue*>& formulas, const std::string& extra,
                            bool states_by_default) const {
  ad::Builder builder;
  std::vector<ad::Id> known;  // elements of fields_
  const auto take = [&](ad::Id first, int count) {
    for (int i = 0; i < count; ++i) known.push_back(first + i);
  };
  take(builder.input_field("t", 1), 1);
  const ad::Id x = builder.input_field("x", states_);
  take(x, states_);
  const ad::Id p = builder.input_field("p", parameters_ + (extra.empty() ? 0 : 1));
  take(p, parameters_);
  for (const Definition& definition : definitions_) {
    std::vector<ad::Id> elements;
    for (const ad::Program& element : definition.elements)
      elements.push_back(ad::splice(builder, element, known));
    known.insert(known.end(), elements.begin(), elements.end());
  }
  std::vector<ad::Field> fields = fields_;
  if (!extra.empty()) {
    fields.push_back({extra, 1});
    known.push_back(p + parameters_);
  }
  std::vector<ad::Id> values;
  for (std::size_t i = 0; i < formulas.size(); ++i) {
    values.push_back(!formulas[i] && states_by_default
                         ? x + ad::Id(i)
                         : ad::splice(builder, parse(*formulas[i], fields), known));
  }
  builder.output_field("y", values);
  return builder.finish();
}

ad::Program Scope::program(const std::vector<const TomlValue*>& formulas, const std::string& extra) const {
  return assemble(formulas, extra, false);
}

ad::Program Scope::jump(const std::vector<const TomlValue*>& formulas) const {
  return assemble(formulas, "", true);
}

}  // namespace costate::io
