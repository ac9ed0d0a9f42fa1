// SceneFile: a TOML file that asks a question, read once, with what the command line changes about it, and
// the single values that its tables are made of. Sections (section.h) and tables (tables.h) read it; every
// mistake is told with its place and what to do.
#pragma once

#include <array>
#include <utility>

#include "costate/core/error.h"
#include "costate/io/recording.h"
#include "costate/io/text/toml_values.h"

namespace costate::io {

// A value given beside the file: {"parameters.g", "1.6"}.
using Setting = std::pair<std::string, std::string>;

class SceneFile : public TomlValues {
 public:
  SceneFile(TomlDocument document, const std::vector<Setting>& settings);

  const TomlValue& root() const { return document_.root(); }
  const std::string& name() const { return document_.name(); }
  const TomlDocument& document() const { return document_; }
  [[noreturn]] void fail(Place place, const std::string& what, const std::string& advice = "") const {
    document_.fail(place, what, advice);
  }
  void require_known_keys(const TomlValue& table, const std::vector<std::string>& known,
                          const std::string& where) const {
    document_.require_known_keys(table, known, where);
  }
  // f(); what it throws is told at this place.
  template <class F>
  auto told_at(Place place, const F& f) const {
    try {
      return f();
    } catch (const Error& error) {
      fail(place, error.message().what, error.message().advice);
    }
  }

  // A table of the file, or an empty one.
  const TomlValue& table_or_empty(const char* name) const;
  const TomlValue& required(const TomlValue& table, const char* key, const std::string& where,
                            const std::string& advice) const;
  // [[name]]; empty where there is none.
  const std::vector<TomlValue>& tables(const char* name, std::size_t most) const;
  // A number, or several.
  std::vector<double> one_or_more(const TomlValue& v, const std::string& what) const;
  // So many numbers, others 0; `size`: all greater than zero, others 1.
  std::array<double, 3> vector(const TomlValue& v, const std::string& what, int dimension,
                               bool size = false) const;
  // The key's number, or what there is without it.
  double number_or(const TomlValue& table, const char* key, double otherwise) const;
  double positive_or(const TomlValue& table, const char* key, double otherwise) const;
  double not_negative_or(const TomlValue& table, const char* key, double otherwise) const;
  std::string string_or(const TomlValue& table, const char* key, const std::string& otherwise) const;
  // Not empty, none of / . * [ ].
  std::string name_of(const TomlValue& table, const std::string& what, const char* example) const;
  // Some of "xyz", as flags.
  std::array<bool, 3> axes(const TomlValue& v, int dimension) const;
  Color color(const TomlValue& v) const;
  // A file named in this one is looked for beside it.
  std::string beside(const std::string& path) const;

 private:
  void apply(const Setting& setting);  // settings.cpp
};

// All of a file of at most kMaxFileSize + 1 bytes. Throws Error.
std::string read_text(const std::string& path);

}  // namespace costate::io
