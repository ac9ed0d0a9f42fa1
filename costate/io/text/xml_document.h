// XmlElement: what an XML file says, element by element, with the file and line of everything; includes are
// put in place.
//
// The loaders of MJCF and URDF read this tree and never the parser's own types. Text is treated as hostile:
// size, depth, number of elements and of included files are bounded, and a file may not include itself. Every
// mistake is an Error at "robot.xml:12". Tests: tests/io/xml_document_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace costate::io {

inline constexpr std::size_t kMaxXmlSize = std::size_t{16} << 20;
inline constexpr int kMaxXmlElements = 100'000;
inline constexpr int kMaxXmlFiles = 64;

struct XmlPlace {
  std::shared_ptr<const std::string> file;
  int line = 0;
  std::string text() const;  // "robot.xml:12"
};

struct XmlAttribute {
  std::string name, value;
  XmlPlace place;
};

struct XmlElement {
  std::string name;
  std::vector<XmlAttribute> attributes;
  std::vector<XmlElement> children;
  XmlPlace place;

  // The value of an attribute, or null.
  const std::string* find(const std::string& attribute) const;
  std::string where() const { return place.text(); }
};

// The content of a file that a model refers to, by path. Throws Error if there is none such.
using FileReader = std::function<std::string(const std::string& path)>;

// Reads from the disk, at most kMaxMeshSize (mesh_file.h) bytes.
std::string read_model_file(const std::string& path);

// The part of a path before its last '/', with it; empty if there is none.
std::string folder_of(const std::string& path);

// The root element. <include file="..."/> is replaced by the children of the other file's root; paths are
// relative to the folder of the first file.
XmlElement parse_xml(const std::string& text, const std::string& path, const FileReader& files);

}  // namespace costate::io
