#include <charconv>

#include "costate/ad/builder.h"
#include "costate/ad/parse.h"
#include "costate/io/scene/tables.h"

namespace costate::io {

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

std::string written(const TomlValue& formula) {
  if (formula.is(TomlValue::Kind::string)) return formula.text;
  std::string text = std::to_string(formula.number);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text + "0" : text;
}

}  // namespace costate::io
