// XmlAttributes: reads the attributes of one element, and knows at the end which of them nobody asked for.
//
//   XmlAttributes a(element);
//   a.read("damping", joint.damping);
//   a.choose("type", joint.type, {{"hinge", JointType::hinge}, {"slide", JointType::slide}});
//   a.ignore({"rgba", "material"});          // has no physics
//   a.refuse({"springyield"});               // has, but not here: an error
//   a.finish();                              // what is left is unknown: an error with the nearest known name
//
// A value is left as it was where its attribute is missing. Numbers are finite and at most 1e30, so that
// their products stay finite too. Tests: tests/io/xml_document_test.cpp.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/quat.h"
#include "costate/io/text/xml_document.h"

namespace costate::io {

class XmlAttributes {
 public:
  explicit XmlAttributes(const XmlElement& element) : XmlAttributes(element, element.attributes) {}
  // With other attributes than those written in the element: defaults.
  XmlAttributes(const XmlElement& element, std::vector<XmlAttribute> attributes);

  const XmlElement& element() const { return element_; }
  // Place of the element.
  std::string where() const { return element_.where(); }
  bool has(const char* name) const;
  bool is_blank(const char* name) const;  // there, with nothing in it

  void read(const char* name, std::string& value);
  void read(const char* name, double& value);
  void read(const char* name, int& value);
  void read(const char* name, bool& value);                 // true, false
  void read(const char* name, std::optional<bool>& value);  // true, false, auto
  void read(const char* name, std::optional<double>& value);
  void read(const char* name, Vec3<double>& value);
  template <std::size_t N>
  void read(const char* name, std::array<double, N>& value) {
    const std::vector<double> numbers = this->numbers(name, N, N);
    for (std::size_t i = 0; i < numbers.size(); ++i) value[i] = numbers[i];
  }
  template <std::size_t N>
  void read(const char* name, std::optional<std::array<double, N>>& value) {
    if (!has(name)) return;
    std::array<double, N> numbers{};
    read(name, numbers);
    value = numbers;
  }
  // Several of them: names and values in turn.
  template <class First, class Second, class... Rest>
  void read(const char* name, First& value, const char* next, Second& second, Rest&&... rest) {
    read(name, value);
    read(next, second, rest...);
  }
  // The first few of the numbers may be given.
  template <std::size_t N>
  void read_some(const char* name, std::array<double, N>& value) {
    const std::vector<double> numbers = this->numbers(name, 1, N);
    for (std::size_t i = 0; i < numbers.size(); ++i) value[i] = numbers[i];
  }
  // Empty if the attribute is missing.
  std::vector<double> numbers(const char* name, std::size_t at_least, std::size_t at_most);
  // The first `kept` numbers; a number beyond them must be zero.
  std::vector<double> numbers_then_zeros(const char* name, std::size_t kept, std::size_t at_most);

  template <class Value>
  void choose(const char* name, Value& value, std::initializer_list<std::pair<const char*, Value>> choices) {
    std::string text;
    read(name, text);
    if (text.empty() && !has(name)) return;
    for (const auto& [word, meaning] : choices) {
      if (text == word) {
        value = meaning;
        return;
      }
    }
    std::vector<std::string> words;
    for (const auto& choice : choices) words.push_back(choice.first);
    fail_choice(name, text, words);
  }

  // The value of an attribute that must be there.
  std::string required(const char* name);

  void ignore(std::initializer_list<const char*> names);
  void refuse(std::initializer_list<const char*> names);
  void finish() const;

  [[noreturn]] void fail(const std::string& what, const std::string& advice = "") const;
  [[noreturn]] void fail_at(const char* name, const std::string& what, const std::string& advice = "") const;

 private:
  const XmlAttribute* take(const char* name);
  const XmlAttribute* find(const char* name) const;
  [[noreturn]] void fail_choice(const char* name, const std::string& text,
                                const std::vector<std::string>& words) const;

  const XmlElement& element_;
  std::vector<XmlAttribute> attributes_;
  std::vector<bool> taken_;
  std::vector<std::string> known_;
};

// "did you mean 'x'?", or the list of what there is if it is short.
std::string xml_suggestion(const std::string& name, const std::vector<std::string>& known);

}  // namespace costate::io
