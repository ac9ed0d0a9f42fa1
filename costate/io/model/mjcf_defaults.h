// Default classes of MJCF: attributes that elements of a class have unless they say otherwise.
//
// A class starts from its parent's attributes; an element takes those of its own class, or of the nearest
// body's childclass. Merging happens on the text of attributes, so an element and its defaults are read by
// the same code. An array that is written shorter than its default keeps the default's other numbers.
//
// A class has one actuator default. All kinds of actuator take limits, gears and the like from it; gains only
// the kind that it was last written for, and other kinds take theirs from the nearest class above that was
// written for them. <general> takes the gains of any kind, which is why the kind can be asked for.
// Tests: tests/io/mjcf_test.cpp.
#pragma once

#include <functional>
#include <map>

#include "costate/io/text/xml_document.h"

namespace costate::io {

class MjcfDefaults {
 public:
  // Reads an element of a class as if it were in the model, so that mistakes in it are found even if no
  // element uses it.
  using Check = std::function<void(const XmlElement& element)>;

  void read(const XmlElement& section, const Check& check);

  // What an element says together with what its class says.
  std::vector<XmlAttribute> merged(const XmlElement& element, const std::string& child_class) const;

  // The gains that <general> elements of a class start from, as an element of the kind that they were written
  // for; its name is empty if there are none.
  XmlElement actuator_gains(const XmlElement& element, const std::string& child_class) const;

  // Throws Error at `place` if there is no such class.
  void require(const std::string& name, const XmlPlace& place) const;

 private:
  struct Class {
    std::map<std::string, std::vector<XmlAttribute>> attributes = {};  // by kind of element
    std::string actuator = {};                                         // kind that the gains are for
    std::vector<XmlAttribute> gains = {};
    std::string parent = {};
  };
  void read_class(const XmlElement& e, const std::string& name, Class own, const Check& check);
  // The class that an element belongs to.
  const Class& class_of(const XmlElement& element, const std::string& child_class) const;

  std::map<std::string, Class> classes_{{"main", {}}};
};

// Whether an element of this name is an actuator that this loader knows.
bool is_mjcf_actuator(const std::string& element);
// Whether it is one that the loader refuses, except in a default class that no such actuator uses.
bool is_other_mjcf_actuator(const std::string& element);

}  // namespace costate::io
