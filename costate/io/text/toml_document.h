// TomlDocument: what a TOML file says, in the order in which it says it, with the place of every key and
// value.
//
// The rest of the io layer reads this tree and never the parser's own types: tables keep their order, values
// know where their text begins (so that a column inside a quoted formula can be named), and every mistake
// becomes one message:
//
//   ball.toml:9:6: unknown name 'vv'
//     h = "vv"
//          ^
//     did you mean 'v'?
//
// Text is treated as hostile: its size and its nesting are bounded. Tests: tests/io/toml_document_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace costate::io {

inline constexpr std::size_t kMaxFileSize = std::size_t{1} << 20;

// Counted from 1; columns count characters. Line 0: nowhere in particular; below 0: beside the file
// (TomlDocument::place_beside).
struct Place {
  int line = 0, column = 0;
};

struct TomlValue {
  enum class Kind { string, number, boolean, date, array, table };
  Kind kind = Kind::table;
  Place place;
  std::string text;               // of a string
  Place text_place;               // of its first character
  bool text_is_verbatim = true;   // false: escapes, so places inside the text are not known
  double number = 0;              // of a number; of a boolean 0 or 1
  bool whole = false;             // the number was written as an integer
  std::vector<std::string> keys;  // of a table
  std::vector<Place> key_places;  // of a table
  std::vector<TomlValue> items;   // of an array or table

  bool is(Kind k) const { return kind == k; }
  // The value of a key, or null.
  const TomlValue* find(std::string_view key) const;
  TomlValue* find(std::string_view key);
  // What it is, for messages: "a string", "an array".
  const char* description() const;
};

class TomlDocument {
 public:
  // Throws Error with the place of the mistake if the text is not TOML. `name` is the file's, for messages.
  TomlDocument(std::string text, std::string name);

  const std::string& name() const { return name_; }
  const TomlValue& root() const { return root_; }
  TomlValue& root() { return root_; }

  // A place for values that were given beside the file: mistakes in them are told as those of `source`.
  Place place_beside(std::string source);

  // An Error that shows the line of the file with a caret under the place.
  [[noreturn]] void fail(Place place, const std::string& what, const std::string& advice = "") const;

  // Every key of the table must be among `known`; else an Error with the nearest of them.
  void require_known_keys(const TomlValue& table, const std::vector<std::string>& known,
                          const std::string& where) const;

 private:
  std::string_view line(int number) const;

  std::string text_, name_;
  std::vector<std::string> beside_;
  TomlValue root_;
};

// What NAME=TEXT on a command line means: a number, a boolean, an array of such, "[1, 2]", or else a string.
TomlValue setting_value(std::string_view text);

// "did you mean 'x'?", or a list of what there is.
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace costate::io
