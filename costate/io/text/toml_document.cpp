#include "costate/io/text/toml_document.h"

// The parser asserts what some wrong files break: "[=]" is one. Its asserts throw here, whatever the build
// type, and such a file is a mistake like any other.
#undef NDEBUG
namespace costate::io {
namespace {
struct ParserIsLost {};
[[noreturn]] void parser_is_lost() { throw ParserIsLost{}; }
}  // namespace
}  // namespace costate::io
#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : ::costate::io::parser_is_lost())
#define TOML_HEADER_ONLY 1
#define TOML_MAX_NESTED_VALUES 64
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>

#include "costate/ad/program.h"
#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate::io {
namespace {

constexpr int kMaxDepth = TOML_MAX_NESTED_VALUES;

Place place_of(const toml::source_region& region) {
  return {int(region.begin.line), int(region.begin.column)};
}

// Where in a text places are. Asked for in their order, as a reader meets them, all of them cost one pass.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  // The end of the text where there is no such place.
  std::size_t offset(Place place) {
    if (place.line < line_ || (place.line == line_ && place.column < column_)) *this = Cursor(text_);
    while (at_ < text_.size() && (line_ < place.line || (line_ == place.line && column_ < place.column))) {
      const bool end_of_line = text_[at_++] == '\n';
      while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80)
        ++at_;  // rest of a character
      if (end_of_line)
        ++line_, column_ = 1;
      else
        ++column_;
    }
    return at_;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

// Steps over the opening quotes of a string.
void find_text(std::string_view file, Cursor& cursor, TomlValue& value) {
  std::size_t at = cursor.offset(value.place);
  const std::string_view rest = file.substr(at);
  const bool triple = rest.starts_with("\"\"\"") || rest.starts_with("'''");
  value.text_place = value.place;
  value.text_place.column += triple ? 3 : 1;
  at = std::min(at + (triple ? 3u : 1u), file.size());
  if (triple && at < file.size() && (file[at] == '\n' || file.substr(at, 2) == "\r\n")) {
    at += file[at] == '\n' ? 1 : 2;
    value.text_place = {value.place.line + 1, 1};
  }
  value.text_is_verbatim = file.substr(at).starts_with(value.text);
}

// Dotted keys nest tables without brackets, which the parser does not count: a.a.a.a. ... = 1. The depth of
// what it builds, and tears down recursively, is bounded here. Returns where it is exceeded, or npos.
std::size_t too_many_dots(std::string_view text) {
  int dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::string_view triple = text.substr(i, 3);
      const bool multi_line = triple.size() == 3 && triple[1] == c && triple[2] == c;
      i += multi_line ? 3 : 1;
      while (i < text.size()) {
        if (multi_line ? text.substr(i, 3) == triple : text[i] == c || text[i] == '\n') break;
        if (text[i] == '\\' && c == '"' && i + 1 < text.size() && text[i + 1] != '\n') ++i;
        ++i;
      }
      if (i >= text.size()) break;
      if (multi_line) i += 2;
      if (text[i] == '\n') --i;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '.') {
      if (++dots > kMaxDepth) return i;
    } else if (c == '\n' || c == ',' || c == '=' || c == '{') {
      dots = 0;
    }
  }
  return std::string_view::npos;
}

// Length of the UTF-8 character that begins at `at`; 0: there is none.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  std::size_t length = 0;
  if (first < 0x80) length = 1;
  if (first >= 0xC2 && first < 0xE0) length = 2;
  if (first >= 0xE0 && first < 0xF0) length = 3;
  if (first >= 0xF0 && first < 0xF5) length = 4;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// The text with '@' for every character beyond ASCII, so that columns stay. The parser's tables of such
// characters run off their end outside strings (undefined behaviour on an umlaut); inside strings
// restore_text puts them back. Sets `wrong` to the first byte that is not UTF-8, or npos.
std::string ascii_only(std::string_view text, std::size_t* wrong) {
  std::string ascii;
  ascii.reserve(text.size());
  *wrong = std::string_view::npos;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    if (length == 0) {
      *wrong = i;
      return ascii;
    }
    ascii += length == 1 ? text[i] : '@';
    i += length;
  }
  return ascii;
}

// As many characters of the file as the value has, from the place where its text begins.
void restore_text(std::string_view file, std::size_t at, TomlValue& value) {
  std::size_t end = at;
  for (std::size_t i = 0; i < value.text.size() && end < file.size(); ++i) end += character_length(file, end);
  value.text = file.substr(at, end - at);
}

Place place_at(std::string_view text, std::size_t offset) {
  Place place{1, 1};
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n')
      ++place.line, place.column = 1;
    else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80)
      ++place.column;
  }
  return place;
}

// The parser's words, without its own names for things.
std::string plain(std::string_view description, bool at_end_of_line) {
  if (at_end_of_line && description.find("unescaped control characters") != std::string_view::npos)
    return "this string is not closed at the end of the line";
  description = description.substr(0, description.find(" (TOML_"));
  constexpr std::string_view kPrefix = "Error while parsing ";
  if (!description.starts_with(kPrefix)) return std::string(description);
  const std::size_t colon = description.find(": ");
  return "this is not TOML: " +
         std::string(description.substr(colon == std::string_view::npos ? 0 : colon + 2));
}

bool gets_lost_in(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (const ParserIsLost&) {
    return true;
  } catch (const toml::parse_error&) {
  }
  return false;
}

// The first line with which the parser gets lost: it reads from the start, so every longer text loses it too.
int line_that_loses_the_parser(std::string_view text) {
  std::vector<std::size_t> ends;  // of the lines
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ends.push_back(i + 1);
  }
  ends.push_back(text.size());
  const auto first = std::partition_point(
      ends.begin(), ends.end() - 1, [&](std::size_t end) { return !gets_lost_in(text.substr(0, end)); });
  return int(first - ends.begin()) + 1;
}

class Converter {
 public:
  Converter(const TomlDocument& document, std::string_view ascii, std::string_view original)
      : document_(document), text_(ascii), original_(original), cursor_(ascii), original_cursor_(original) {}

  TomlValue convert(const toml::node& node, int depth = 0) {
    TomlValue v;
    v.place = place_of(node.source());
    if (depth > kMaxDepth)
      document_.fail(v.place, "values are nested more than " + std::to_string(kMaxDepth) + " deep");
    using Kind = TomlValue::Kind;
    if (const auto* string = node.as_string()) {
      v.kind = Kind::string;
      v.text = string->get();
      find_text(text_, cursor_, v);
      if (v.text_is_verbatim && v.text.find('@') != std::string::npos)
        restore_text(original_, original_cursor_.offset(v.text_place), v);
    } else if (const auto* integer = node.as_integer()) {
      v.kind = Kind::number;
      v.number = double(integer->get());
      v.whole = true;
    } else if (const auto* real = node.as_floating_point()) {
      v.kind = Kind::number;
      v.number = real->get();
    } else if (const auto* boolean = node.as_boolean()) {
      v.kind = Kind::boolean;
      v.number = boolean->get();
    } else if (const auto* array = node.as_array()) {
      v.kind = Kind::array;
      for (const toml::node& item : *array) v.items.push_back(convert(item, depth + 1));
    } else if (const auto* table = node.as_table()) {
      convert_table(*table, v, depth);
    } else {
      v.kind = Kind::date;
    }
    return v;
  }

 private:
  // The parser sorts keys by name; users order them with care.
  void convert_table(const toml::table& table, TomlValue& v, int depth) {
    std::vector<std::pair<const toml::key*, const toml::node*>> entries;
    for (auto&& [key, value] : table) entries.emplace_back(&key, &value);
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      const auto &x = a.first->source().begin, &y = b.first->source().begin;
      return x.line != y.line ? x.line < y.line : x.column < y.column;
    });
    for (const auto& [key, value] : entries) {
      v.keys.emplace_back(key->str());
      v.key_places.push_back(place_of(key->source()));
      v.items.push_back(convert(*value, depth + 1));
    }
  }

  const TomlDocument& document_;
  std::string_view text_, original_;
  Cursor cursor_, original_cursor_;
};

}  // namespace

const TomlValue* TomlValue::find(std::string_view key) const {
  const auto at = std::find(keys.begin(), keys.end(), key);
  return at == keys.end() ? nullptr : &items[at - keys.begin()];
}

TomlValue* TomlValue::find(std::string_view key) {
  return const_cast<TomlValue*>(static_cast<const TomlValue*>(this)->find(key));
}

const char* TomlValue::description() const {
  switch (kind) {
    case Kind::string:
      return "a string";
    case Kind::number:
      return "a number";
    case Kind::boolean:
      return "true or false";
    case Kind::date:
      return "a date or time";
    case Kind::array:
      return "an array";
    case Kind::table:
      return "a table";
  }
  return "";
}

TomlDocument::TomlDocument(std::string text, std::string name)
    : text_(std::move(text)), name_(std::move(name)) {
  if (text_.size() > kMaxFileSize) {
    throw Error({"the file has " + std::to_string(text_.size()) + " bytes; the limit is " +
                     std::to_string(kMaxFileSize),
                 name_, ""});
  }
  if (text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);  // byte order mark
  std::size_t wrong = 0;
  const std::string ascii = ascii_only(text_, &wrong);
  if (wrong != std::string_view::npos)
    fail(place_at(text_, wrong), "this is not UTF-8", "save the file as UTF-8");
  if (const std::size_t at = too_many_dots(ascii); at != std::string_view::npos)
    fail(place_at(ascii, at), "a key has more than " + std::to_string(kMaxDepth) + " parts");
  try {
    const toml::table table = toml::parse(ascii);
    root_ = Converter(*this, ascii, text_).convert(table);
  } catch (const ParserIsLost&) {
    fail({line_that_loses_the_parser(ascii), 1}, "this is not TOML",
         "a table begins with [name], a value with name =");
  } catch (const toml::parse_error& error) {
    const Place place = place_of(error.source());
    const std::size_t at = Cursor(ascii).offset(place);
    // A letter or a sign where a value should be is mostly a formula or a name.
    const std::string_view said = error.description();
    const bool bare = said.find("value type") != std::string_view::npos ||
                      said.find("sign") != std::string_view::npos ||
                      said.find("expected a comment") != std::string_view::npos;
    fail(place, plain(said, at >= ascii.size() || ascii[at] == '\n' || ascii[at] == '\r'),
         bare ? "formulas and names stand in quotes: x = \"-k*x\"; units are not written" : "");
  }
}

std::string_view TomlDocument::line(int number) const {
  std::string_view rest = text_;
  for (int i = 1; i < number; ++i) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  return rest.substr(0, rest.find('\n'));
}

Place TomlDocument::place_beside(std::string source) {
  beside_.push_back(std::move(source));
  return {-int(beside_.size()), 0};
}

void TomlDocument::fail(Place place, const std::string& what, const std::string& advice) const {
  if (place.line < 0) throw Error({what, beside_[std::size_t(-place.line) - 1], advice});
  if (place.line == 0) throw Error({what, name_, advice});
  constexpr std::size_t kShown = 60;  // characters either side of the caret
  const std::string_view whole = line(place.line);
  const std::size_t at = Cursor(whole).offset({1, place.column});
  std::size_t from = at > kShown ? at - kShown : 0;
  while (from < at && (static_cast<unsigned char>(whole[from]) & 0xC0) == 0x80)
    ++from;  // start of a character
  std::size_t to = std::min(whole.size(), at + kShown);
  while (to < whole.size() && (static_cast<unsigned char>(whole[to]) & 0xC0) == 0x80) ++to;
  std::string shown(whole.substr(from, to - from));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = c == '\t' ? ' ' : '?';
  }
  std::size_t indent = 0;
  for (std::size_t i = from; i < at; ++i) indent += (static_cast<unsigned char>(whole[i]) & 0xC0) != 0x80;
  while (!shown.empty() && (shown.back() == ' ' || shown.back() == '?') && whole.ends_with('\r'))
    shown.pop_back();
  throw Error({what + "\n  " + shown + "\n  " + std::string(indent, ' ') + "^",
               name_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column), advice});
}

void TomlDocument::require_known_keys(const TomlValue& table, const std::vector<std::string>& known,
                                      const std::string& where) const {
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    if (std::find(known.begin(), known.end(), table.keys[i]) != known.end()) continue;
    fail(table.key_places[i], "unknown key '" + table.keys[i] + "' in " + where,
         suggestion(table.keys[i], known));
  }
}

TomlValue setting_value(std::string_view text) {
  const auto trimmed = [](std::string_view t) {
    while (!t.empty() && t.front() == ' ') t.remove_prefix(1);
    while (!t.empty() && t.back() == ' ') t.remove_suffix(1);
    return t;
  };
  text = trimmed(text);
  TomlValue value;
  value.text = text;
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    value.kind = TomlValue::Kind::array;
    std::string_view rest = trimmed(text.substr(1, text.size() - 2));
    while (!rest.empty()) {
      std::size_t comma = 0;
      for (int depth = 0; comma < rest.size() && (depth > 0 || rest[comma] != ','); ++comma)
        depth += rest[comma] == '[' ? 1 : rest[comma] == ']' ? -1 : 0;
      value.items.push_back(setting_value(rest.substr(0, comma)));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return value;
  }
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    value.kind = TomlValue::Kind::string;
    value.text = text.substr(1, text.size() - 2);
    return value;
  }
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value.number);
  if (error == std::errc() && stop == text.data() + text.size()) {
    value.kind = TomlValue::Kind::number;
    value.whole = text.find_first_not_of("+-0123456789") == std::string_view::npos;
  } else {
    value.kind = text == "true" || text == "false" ? TomlValue::Kind::boolean : TomlValue::Kind::string;
    value.number = text == "true";
  }
  return value;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known);
  if (!near.empty()) return "did you mean '" + near + "'?";
  std::string list;
  for (std::size_t i = 0; i < known.size() && i < 12; ++i) list += (i ? ", " : "") + known[i];
  if (known.size() > 12) list += ", ...";
  return list.empty() ? "" : "there is: " + list;
}

}  // namespace costate::io
