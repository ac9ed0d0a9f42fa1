// TomlValues: single values of a TomlDocument, with their checks. Whoever reads a kind of file derives from
// it; `what` names the value in messages.
#pragma once

#include "costate/io/text/toml_document.h"

namespace costate::io {

class TomlValues {
 public:
  explicit TomlValues(TomlDocument document) : document_(std::move(document)) {}

  double number(const TomlValue& v, const std::string& what) const;
  double positive(const TomlValue& v, const std::string& what) const;
  long count(const TomlValue& v, const std::string& what, long largest) const;
  bool boolean(const TomlValue& v, const std::string& what) const;
  const std::string& string(const TomlValue& v, const std::string& what) const;
  std::vector<double> numbers(const TomlValue& v, const std::string& what) const;
  const TomlValue& table(const TomlValue& v, const std::string& what) const;
  const std::string& choice(const TomlValue& v, const std::string& what,
                            const std::vector<std::string>& known) const;

 protected:
  TomlDocument document_;
};

}  // namespace costate::io
