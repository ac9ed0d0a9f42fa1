// Default classes of MJCF: attributes that elements of a class have unless they say otherwise.
//
// A class starts from its parent's attributes; an element takes those of its own class, or of the nearest body's childclass.
// Merging happens on the text of attributes, so an element and its defaults are read by the same code. An array that is
// written shorter than its default keeps the default's other numbers. All actuator elements of a class share limits, gears
// and the like; gains belong to the one kind of actuator that they were written for.
// Tests: tests/io/mjcf_test.cpp.
#pragma once

#include <functional>
#include <map>

#include "costate/io/xml_document.h"

namespace costate::io {

class MjcfDefaults {
 public:
  // Reads an element of a class as if it were in the model, so that mistakes in it are found even if no element uses it.
  using Check = std::function<void(const XmlElement& element)>;

  void read(const XmlElement& section, const Check& check);

  // What an element says together with what its class says.
  std::vector<XmlAttribute> merged(const XmlElement& element, const std::string& child_class) const;

  // Throws Error at `place` if there is no such class.
  void require(const std::string& name, const XmlPlace& place) const;

 private:
  using Attributes = std::map<std::string, std::vector<XmlAttribute>>;  // kind of element -> attributes
  void read_class(const XmlElement& e, const std::string& name, const Attributes& inherited,
                  const Check& check);

  std::map<std::string, Attributes> classes_{{"main", {}}};
};

// Whether an element of this name is an actuator that this loader knows.
bool is_mjcf_actuator(const std::string& element);

}  // namespace costate::io
