#include "costate/io/text/xml_document.h"

#include <tinyxml2.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "costate/core/error.h"
#include "costate/io/text/mesh_file.h"

namespace costate::io {
namespace {

// What the parser's error numbers mean to somebody who writes XML.
const char* meaning(tinyxml2::XMLError error) {
  switch (error) {
    case tinyxml2::XML_ERROR_MISMATCHED_ELEMENT:
      return "an element is not closed, or closed by another name";
    case tinyxml2::XML_ERROR_PARSING_ATTRIBUTE:
      return "an attribute is not written as name=\"value\", or is there twice";
    case tinyxml2::XML_ERROR_PARSING_ELEMENT:
      return "an element is not written as <name ...>";
    case tinyxml2::XML_ERROR_PARSING_COMMENT:
      return "a comment is not closed";
    case tinyxml2::XML_ERROR_PARSING_CDATA:
      return "a CDATA section is not closed";
    case tinyxml2::XML_ERROR_PARSING_TEXT:
      return "text stands where no element is open, or its element is not closed";
    case tinyxml2::XML_ERROR_PARSING_DECLARATION:
      return "a declaration is not closed, or is not at the beginning";
    case tinyxml2::XML_ERROR_PARSING_UNKNOWN:
      return "something that begins with <! is not closed";
    case tinyxml2::XML_ERROR_EMPTY_DOCUMENT:
      return "there is no element in the file";
    case tinyxml2::XML_ELEMENT_DEPTH_EXCEEDED:
      return "elements are nested too deeply";
    default:
      return "it is not XML";
  }
}

class TreeReader {
 public:
  TreeReader(const FileReader& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  XmlElement root(const std::string& text, const std::string& path, const XmlPlace& from) {
    const auto file = std::make_shared<const std::string>(path);
    if (!seen_.insert(path).second)
      throw Error(
          {"the file '" + path + "' is included twice", from.text(), "a file may be included only once"});
    if (int(seen_.size()) > kMaxXmlFiles) throw Error({"too many files are included", from.text(), {}});
    if (text.size() > kMaxXmlSize)
      throw Error({"the file is larger than " + std::to_string(kMaxXmlSize >> 20) + " MiB", path, {}});
    // The parser stops at a zero byte and would take the beginning for the whole.
    if (text.find('\0') != std::string::npos)
      throw Error({"the file is not text: it has a zero byte", path, {}});
    tinyxml2::XMLDocument document;
    const tinyxml2::XMLError error = document.Parse(text.data(), text.size());
    if (error != tinyxml2::XML_SUCCESS)
      throw Error({meaning(error), XmlPlace{file, document.ErrorLineNum()}.text(), {}});
    const tinyxml2::XMLElement* const top = document.RootElement();
    if (!top) throw Error({"there is no element in the file", path, {}});
    if (const tinyxml2::XMLElement* const second = top->NextSiblingElement())
      throw Error({"a second root element <" + std::string(second->Name()) + ">",
                   XmlPlace{file, second->GetLineNum()}.text(), "a file has one root"});
    return element(*top, file);
  }

 private:
  XmlElement element(const tinyxml2::XMLElement& e, const std::shared_ptr<const std::string>& file) {
    XmlElement result;
    result.name = e.Name();
    result.place = {file, e.GetLineNum()};
    if (++count_ > kMaxXmlElements) throw Error({"there are too many elements", result.where(), {}});
    for (const tinyxml2::XMLAttribute* a = e.FirstAttribute(); a; a = a->Next()) {
      result.attributes.push_back({a->Name(), a->Value(), {file, a->GetLineNum()}});
    }
    for (const tinyxml2::XMLElement* child = e.FirstChildElement(); child;
         child = child->NextSiblingElement()) {
      if (std::string_view(child->Name()) == "include")
        include(*child, file, result);
      else
        result.children.push_back(element(*child, file));
    }
    return result;
  }

  void include(const tinyxml2::XMLElement& e, const std::shared_ptr<const std::string>& file,
               XmlElement& into) {
    const XmlPlace place{file, e.GetLineNum()};
    const char* const name = e.Attribute("file");
    if (!name || !*name)
      throw Error({"<include> needs the name of a file", place.text(), "write file=\"other.xml\""});
    const std::string path = name[0] == '/' ? std::string(name) : folder_ + name;
    std::string text;
    try {
      text = files_(path);
    } catch (const Error& error) {
      throw Error({error.message().what, place.text(), error.message().advice});
    }
    XmlElement other = root(text, path, place);
    for (XmlElement& child : other.children) into.children.push_back(std::move(child));
  }

  const FileReader& files_;
  std::string folder_;
  std::set<std::string> seen_;
  int count_ = 0;
};

}  // namespace

std::string XmlPlace::text() const {
  if (!file) return {};
  return line > 0 ? *file + ":" + std::to_string(line) : *file;
}

const std::string* XmlElement::find(const std::string& attribute) const {
  for (const XmlAttribute& a : attributes) {
    if (a.name == attribute) return &a.value;
  }
  return nullptr;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

std::string read_model_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = in ? std::streamoff(in.tellg()) : -1;
  if (size < 0 || size == std::numeric_limits<std::streamoff>::max())
    throw Error({"cannot read the file '" + path + "'", path, {}});
  if (std::size_t(size) > kMaxMeshSize)
    throw Error({"the file is larger than " + std::to_string(kMaxMeshSize >> 20) + " MiB", path, {}});
  std::string text(std::size_t(size), '\0');
  in.seekg(0);
  if (!in.read(text.data(), size)) throw Error({"cannot read the file '" + path + "'", path, {}});
  return text;
}

XmlElement parse_xml(const std::string& text, const std::string& path, const FileReader& files) {
  return TreeReader(files, folder_of(path)).root(text, path, {});
}

}  // namespace costate::io
