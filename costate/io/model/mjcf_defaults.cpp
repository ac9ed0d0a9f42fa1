#include "costate/io/model/mjcf_defaults.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "costate/io/text/xml_attributes.h"

namespace costate::io {
namespace {

constexpr std::array kActuators{"general",     "motor",  "position", "velocity",
                                "intvelocity", "damper", "cylinder", "muscle"};
// Kinds that are not simulated may stand in a default class: what they share with others is everybody's.
constexpr std::array kOtherActuators{"adhesion", "pid", "orientation", "dcmotor"};
// What these are for an actuator does not depend on its kind.
constexpr std::array kSharedByActuators{"ctrllimited", "ctrlrange", "forcelimited", "forcerange",
                                        "actlimited",  "actrange",  "gear",         "group",
                                        "lengthrange", "user",      "cranklength",  "delay",
                                        "nsample",     "interp",    "armature",     "damping"};
constexpr std::array kOrientations{"quat", "axisangle", "xyaxes", "zaxis", "euler"};
constexpr std::array kArrays{"solref",         "solimp",   "solreflimit", "solimplimit", "solreffriction",
                             "solimpfriction", "friction", "size",        "gear",        "gainprm",
                             "biasprm",        "dynprm",   "fluidcoef"};

template <class List>
bool is_in(const List& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The default class section that an element takes its attributes from.
std::string kind_of(const std::string& element) {
  if (element == "connect" || element == "weld") return "equality";
  if (element == "fixed" || element == "spatial") return "tendon";
  return element;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// `own` over `base`.
void override_with(std::vector<XmlAttribute>& base, const std::vector<XmlAttribute>& own) {
  const bool turns =
      std::any_of(own.begin(), own.end(), [](const auto& a) { return is_in(kOrientations, a.name); });
  if (turns) std::erase_if(base, [](const auto& a) { return is_in(kOrientations, a.name); });
  for (const XmlAttribute& a : own) {
    // Two ways to say the same: the later one counts.
    const std::string other = a.name == "kv" ? "dampratio" : a.name == "dampratio" ? "kv" : "";
    std::erase_if(base, [&](const auto& b) { return b.name == other; });
    const auto same = std::find_if(base.begin(), base.end(), [&](const auto& b) { return b.name == a.name; });
    if (same == base.end()) {
      base.push_back(a);
      continue;
    }
    XmlAttribute merged = a;
    if (is_in(kArrays, a.name)) {
      const std::vector<std::string> before = words_of(same->value), now = words_of(a.value);
      for (std::size_t i = now.size(); i < before.size(); ++i) merged.value += " " + before[i];
    }
    *same = std::move(merged);
  }
}

}  // namespace

bool is_mjcf_actuator(const std::string& element) { return is_in(kActuators, element); }
bool is_other_mjcf_actuator(const std::string& element) { return is_in(kOtherActuators, element); }

void MjcfDefaults::require(const std::string& name, const XmlPlace& place) const {
  if (classes_.count(name)) return;
  std::vector<std::string> known;
  for (const auto& [key, attributes] : classes_) known.push_back(key);
  throw Error({"there is no default class '" + name + "'", place.text(), xml_suggestion(name, known)});
}

void MjcfDefaults::read(const XmlElement& section, const Check& check) {
  const std::string* const name = section.find("class");
  read_class(section, name ? *name : "main", classes_["main"], check);
  if (name && *name != "main")
    classes_["main"] = classes_[*name];  // the top class is everybody's, whatever its name
}

void MjcfDefaults::read_class(const XmlElement& e, const std::string& name, Class own, const Check& check) {
  for (const XmlElement& child : e.children) {
    if (child.name == "default") continue;
    check(child);
    if (!is_mjcf_actuator(child.name) && !is_other_mjcf_actuator(child.name)) {
      override_with(own.attributes[child.name], child.attributes);
      continue;
    }
    std::vector<XmlAttribute> shared, gains;
    for (const XmlAttribute& a : child.attributes)
      (is_in(kSharedByActuators, a.name) ? shared : gains).push_back(a);
    override_with(own.attributes["actuator"], shared);
    if (child.name == "general" && gains.empty()) continue;
    if (child.name != own.actuator) own.gains.clear();
    own.actuator = child.name;
    override_with(own.gains, gains);
  }
  classes_[name] = own;
  for (const XmlElement& child : e.children) {
    if (child.name != "default") continue;
    const std::string* const nested = child.find("class");
    if (!nested || nested->empty()) throw Error({"a nested <default> needs a class", child.where(), {}});
    if (classes_.count(*nested))
      throw Error({"there are two default classes '" + *nested + "'", child.where(), {}});
    for (const XmlAttribute& a : child.attributes) {
      if (a.name != "class") throw Error({"<default> has no attribute '" + a.name + "'", a.place.text(), {}});
    }
    Class inherited = own;
    inherited.parent = name;
    read_class(child, *nested, std::move(inherited), check);
  }
}

const MjcfDefaults::Class& MjcfDefaults::class_of(const XmlElement& element,
                                                  const std::string& child_class) const {
  const std::string* const own_class = element.find("class");
  if (own_class) require(*own_class, element.place);
  return classes_.at(own_class ? *own_class : child_class.empty() ? std::string("main") : child_class);
}

std::vector<XmlAttribute> MjcfDefaults::merged(const XmlElement& element,
                                               const std::string& child_class) const {
  const Class* at = &class_of(element, child_class);
  const bool actuator = is_mjcf_actuator(element.name);
  std::vector<XmlAttribute> result;
  const auto shared = at->attributes.find(actuator ? std::string("actuator") : kind_of(element.name));
  if (shared != at->attributes.end()) result = shared->second;
  if (actuator) {
    while (at->actuator != element.name && !at->parent.empty()) at = &classes_.at(at->parent);
    if (at->actuator == element.name) override_with(result, at->gains);
  }
  override_with(result, element.attributes);
  std::erase_if(result, [](const auto& a) { return a.name == "class"; });
  return result;
}

XmlElement MjcfDefaults::actuator_gains(const XmlElement& element, const std::string& child_class) const {
  const Class& own = class_of(element, child_class);
  return {own.actuator, own.gains, {}, element.place};
}

}  // namespace costate::io
