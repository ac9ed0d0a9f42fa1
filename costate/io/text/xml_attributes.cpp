#include "costate/io/text/xml_attributes.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "costate/core/names.h"

namespace costate::io {
namespace {

constexpr double kLargest = 1e30;
constexpr const char* kSpace = " \t\r\n";

std::string counted(std::size_t at_least, std::size_t at_most) {
  if (at_least == at_most) return std::to_string(at_most) + (at_most == 1 ? " number" : " numbers");
  return std::to_string(at_least) + " to " + std::to_string(at_most) + " numbers";
}

}  // namespace

std::string xml_suggestion(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known);
  if (!near.empty()) return "did you mean '" + near + "'?";
  if (known.empty() || known.size() > 12) return {};
  std::string list = "there is ";
  for (std::size_t i = 0; i < known.size(); ++i) list += (i ? ", " : "") + known[i];
  return list;
}

XmlAttributes::XmlAttributes(const XmlElement& element, std::vector<XmlAttribute> attributes)
    : element_(element), attributes_(std::move(attributes)), taken_(attributes_.size(), false) {}

const XmlAttribute* XmlAttributes::find(const char* name) const {
  for (const XmlAttribute& a : attributes_) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

const XmlAttribute* XmlAttributes::take(const char* name) {
  known_.emplace_back(name);
  const XmlAttribute* const a = find(name);
  if (a) taken_[a - attributes_.data()] = true;
  return a;
}

bool XmlAttributes::has(const char* name) const { return find(name) != nullptr; }
bool XmlAttributes::is_blank(const char* name) const {
  const XmlAttribute* const a = find(name);
  return a && a->value.find_first_not_of(kSpace) == std::string::npos;
}

void XmlAttributes::read(const char* name, std::string& value) {
  if (const XmlAttribute* const a = take(name)) value = a->value;
}

std::vector<double> XmlAttributes::numbers(const char* name, std::size_t at_least, std::size_t at_most) {
  std::vector<double> values;
  const XmlAttribute* const a = take(name);
  if (!a) return values;
  const std::string& text = a->value;
  std::size_t at = text.find_first_not_of(kSpace);
  while (at != std::string::npos) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    const std::size_t sign = text[at] == '+' ? 1 : 0;
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data() + at + sign, text.data() + end, value);
    if ((error != std::errc() && error != std::errc::result_out_of_range) || stop != text.data() + end)
      fail_at(name, "'" + text.substr(at, std::min<std::size_t>(end - at, 40)) + "' is not a number");
    if (error == std::errc::result_out_of_range || !std::isfinite(value) || std::abs(value) > kLargest)
      fail_at(name,
              "'" + text.substr(at, std::min<std::size_t>(end - at, 40)) + "' is too large or not finite");
    if (values.size() == at_most) fail_at(name, "has more than " + counted(at_most, at_most));
    values.push_back(value);
    at = text.find_first_not_of(kSpace, end);
  }
  if (values.size() < at_least)
    fail_at(name, "has " + std::to_string(values.size()) + " instead of " + counted(at_least, at_most));
  return values;
}

std::vector<double> XmlAttributes::numbers_then_zeros(const char* name, std::size_t kept,
                                                      std::size_t at_most) {
  std::vector<double> values = numbers(name, 1, at_most);
  for (std::size_t i = kept; i < values.size(); ++i) {
    if (values[i] != 0)
      fail_at(name, "number " + std::to_string(i + 1) + " is not supported",
              "only the first " + counted(kept, kept) + " are");
  }
  values.resize(std::min(values.size(), kept));
  return values;
}

void XmlAttributes::read(const char* name, double& value) {
  const std::vector<double> v = numbers(name, 1, 1);
  if (!v.empty()) value = v[0];
}
void XmlAttributes::read(const char* name, std::optional<double>& value) {
  const std::vector<double> v = numbers(name, 1, 1);
  if (!v.empty()) value = v[0];
}
void XmlAttributes::read(const char* name, int& value) {
  const std::vector<double> v = numbers(name, 1, 1);
  if (v.empty()) return;
  if (v[0] != std::floor(v[0]) || std::abs(v[0]) > 1e9) fail_at(name, "must be a whole number");
  value = int(v[0]);
}
void XmlAttributes::read(const char* name, Vec3<double>& value) {
  const std::vector<double> v = numbers(name, 3, 3);
  if (!v.empty()) value = {v[0], v[1], v[2]};
}
void XmlAttributes::read(const char* name, bool& value) {
  choose(name, value, {{"false", false}, {"true", true}});
}
void XmlAttributes::read(const char* name, std::optional<bool>& value) {
  choose<std::optional<bool>>(name, value, {{"false", false}, {"true", true}, {"auto", std::nullopt}});
}

std::string XmlAttributes::required(const char* name) {
  const XmlAttribute* const a = take(name);
  if (!a || a->value.empty()) fail("needs an attribute '" + std::string(name) + "'");
  return a->value;
}

void XmlAttributes::ignore(std::initializer_list<const char*> names) {
  for (const char* const name : names) take(name);
}

void XmlAttributes::refuse(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (has(name)) fail_at(name, "is not supported");
  }
}

void XmlAttributes::finish() const {
  for (std::size_t i = 0; i < attributes_.size(); ++i) {
    if (taken_[i]) continue;
    const XmlAttribute& a = attributes_[i];
    throw Error({"<" + element_.name + "> has no attribute '" + a.name + "'", a.place.text(),
                 xml_suggestion(a.name, known_)});
  }
}

void XmlAttributes::fail(const std::string& what, const std::string& advice) const {
  throw Error({"<" + element_.name + "> " + what, where(), advice});
}

void XmlAttributes::fail_at(const char* name, const std::string& what, const std::string& advice) const {
  const XmlAttribute* const a = find(name);
  throw Error({"attribute '" + std::string(name) + "' of <" + element_.name + "> " + what,
               a ? a->place.text() : where(), advice});
}

void XmlAttributes::fail_choice(const char* name, const std::string& text,
                                const std::vector<std::string>& words) const {
  fail_at(name, "cannot be '" + text + "'", xml_suggestion(text, words));
}

}  // namespace costate::io
