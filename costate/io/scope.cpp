#include "costate/io/scope.h"

#include <algorithm>
#include <charconv>

#include "costate/ad/parse.h"
#include "costate/core/error.h"

namespace costate::io {
namespace {

constexpr int kMaxElements = 4096;  // of states, of parameters

bool is_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && name.size() <= 64 && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// Whether formulas use the name for a function. (e is a constant of formulas that a file may take for itself.)
bool is_function(const std::string& name) {
  if (name == "e") return false;
  try {
    ad::parse_equations(name + " = 0", {}, {});
    return false;
  } catch (const Error&) {
    return true;
  }
}

// Nodes of `program` made again in `builder`, its inputs standing for the given nodes. Returns its first output.
ad::Id splice(ad::Builder& builder, const ad::Program& program, const std::vector<ad::Id>& inputs) {
  std::vector<ad::Id> ids;
  ids.reserve(program.nodes().size());
  const auto moved = [&](ad::Id id) { return id == ad::kNone ? ad::kNone : ids[std::size_t(id)]; };
  for (const ad::Node& n : program.nodes()) {
    if (n.op == ad::Op::input)
      ids.push_back(inputs[std::size_t(n.value)]);
    else if (n.op == ad::Op::constant)
      ids.push_back(builder.constant(n.value));
    else
      ids.push_back(builder.make({n.op, moved(n.a), moved(n.b), moved(n.c), n.value}));
  }
  return moved(program.outputs().front());
}

}  // namespace

Scope::Scope(const TomlDocument& document, const std::vector<Variable>& states,
             const std::vector<Variable>& parameters, const std::vector<Variable>& controls)
    : document_(document) {
  fields_.push_back({"t", 1});
  for (const Variable& v : states) {
    check_new_name(v.name, v.place);
    fields_.push_back({v.name, v.size});
    states_ += v.size;
    if (states_ > kMaxElements)
      document_.fail(v.place, "there are more than " + std::to_string(kMaxElements) + " states");
  }
  for (const Variable& v : parameters) {
    check_new_name(v.name, v.place);
    fields_.push_back({v.name, v.size});
    parameters_ += v.size;
    if (parameters_ > kMaxElements)
      document_.fail(v.place, "there are more than " + std::to_string(kMaxElements) + " parameters");
  }
  for (const Variable& v : controls) {
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

ad::Program parse_formula(const TomlDocument& document, const TomlValue& formula,
                          const std::vector<ad::Field>& fields) {
  if (formula.is(TomlValue::Kind::number)) {
    ad::Builder builder;
    for (const ad::Field& field : fields) builder.input_field(field.name, field.size);
    builder.output_field("value", std::vector<ad::Id>{builder.constant(formula.number)});
    return builder.finish();
  }
  if (!formula.is(TomlValue::Kind::string))
    document.fail(formula.place, std::string("expected a formula in quotes, found ") + formula.description());
  try {
    return ad::parse_expression(formula.text, fields,
                                {"", formula.text_place.line, formula.text_place.column});
  } catch (const Error& error) {
    // The parser says ":line:column" and shows the formula; say it with the file and its line.
    const Error::Message& m = error.message();
    Place place = formula.place;
    if (formula.text_is_verbatim && m.where.starts_with(":")) {
      const char* const end = m.where.data() + m.where.size();
      const char* const colon = std::from_chars(m.where.data() + 1, end, place.line).ptr;
      if (colon != end) std::from_chars(colon + 1, end, place.column);
    }
    document.fail(place, m.what.substr(0, m.what.find('\n')), m.advice);
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
      elements.push_back(splice(builder, element, known));
    known.insert(known.end(), elements.begin(), elements.end());
  }
  std::vector<ad::Field> fields = fields_;
  if (!extra.empty()) {
    fields.push_back({extra, 1});
    known.push_back(p + parameters_);
  }
  std::vector<ad::Id> values;
  for (std::size_t i = 0; i < formulas.size(); ++i) {
    values.push_back(!formulas[i] && states_by_default ? x + ad::Id(i)
                                                       : splice(builder, parse(*formulas[i], fields), known));
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
