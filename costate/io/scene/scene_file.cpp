#include "costate/io/scene/scene_file.h"

#include <charconv>
#include <fstream>

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error({"there is no such file, or it cannot be read", path, ""});
  std::string text(kMaxFileSize + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (file.bad() || (file.gcount() == 0 && !file.eof()))
    throw Error({"this is not a file that can be read", path, ""});
  text.resize(file.gcount());
  return text;
}

SceneFile::SceneFile(TomlDocument document, const std::vector<Setting>& settings)
    : TomlValues(std::move(document)) {
  for (const Setting& setting : settings) apply(setting);
}

const TomlValue& SceneFile::table_or_empty(const char* name) const {
  static const TomlValue kEmpty;
  const TomlValue* found = root().find(name);
  return found ? table(*found, name) : kEmpty;
}

const TomlValue& SceneFile::required(const TomlValue& t, const char* key, const std::string& where,
                                     const std::string& advice) const {
  const TomlValue* found = t.find(key);
  if (!found) fail(t.place, where + " has no '" + key + "'", advice);
  return *found;
}

const std::vector<TomlValue>& SceneFile::tables(const char* name, std::size_t most) const {
  static const std::vector<TomlValue> kNone;
  const TomlValue* found = root().find(name);
  if (!found) return kNone;
  if (!found->is(Kind::array))
    fail(found->place, std::string(name) + " must be an array of tables",
         std::string("write [[") + name + "]]");
  if (found->items.size() > most)
    fail(found->place, "there are more than " + std::to_string(most) + " tables [[" + name + "]]");
  for (const TomlValue& item : found->items) table(item, std::string("each of ") + name);
  return found->items;
}

std::vector<double> SceneFile::one_or_more(const TomlValue& v, const std::string& what) const {
  return v.is(Kind::number) ? std::vector<double>{number(v, what)} : numbers(v, what);
}

std::array<double, 3> SceneFile::vector(const TomlValue& v, const std::string& what, int dimension,
                                        bool size) const {
  const std::vector<double> list = numbers(v, what);
  if (int(list.size()) != dimension)
    fail(v.place, what + " must be " + std::to_string(dimension) + " numbers");
  std::array<double, 3> r = {0, 0, size ? 1.0 : 0.0};
  for (std::size_t i = 0; i < list.size(); ++i) {
    r[i] = list[i];
    if (size && !(r[i] > 0)) fail(v.items[i].place, what + " must be greater than zero");
  }
  return r;
}

double SceneFile::number_or(const TomlValue& table, const char* key, double otherwise) const {
  const TomlValue* v = table.find(key);
  return v ? number(*v, key) : otherwise;
}
double SceneFile::positive_or(const TomlValue& table, const char* key, double otherwise) const {
  const TomlValue* v = table.find(key);
  return v ? positive(*v, key) : otherwise;
}
double SceneFile::not_negative_or(const TomlValue& table, const char* key, double otherwise) const {
  const TomlValue* v = table.find(key);
  if (v && number(*v, key) < 0) fail(v->place, std::string(key) + " must not be negative");
  return v ? v->number : otherwise;
}
std::string SceneFile::string_or(const TomlValue& table, const char* key,
                                 const std::string& otherwise) const {
  const TomlValue* v = table.find(key);
  return v ? string(*v, key) : otherwise;
}

std::string SceneFile::name_of(const TomlValue& v, const std::string& what, const char* example) const {
  const TomlValue& given = required(v, "name", "this " + what, std::string("add name = \"") + example + "\"");
  const std::string& name = string(given, "name");
  if (name.empty() || name.find_first_of("/.*[]") != std::string::npos)
    fail(given.place, "a name must not be empty and has none of / . * [ ]");
  return name;
}

std::array<bool, 3> SceneFile::axes(const TomlValue& v, int dimension) const {
  const std::string& text = string(v, "axes");
  const std::string all = std::string("xyz").substr(0, std::size_t(dimension));
  if (text.empty() || text.find_first_not_of(all) != std::string::npos)
    fail(v.place, "axes are some of \"" + all + "\"");
  std::array<bool, 3> wanted = {};
  for (std::size_t a = 0; a < 3; ++a) wanted[a] = text.find("xyz"[a]) != std::string::npos;
  return wanted;
}

Color SceneFile::color(const TomlValue& v) const {
  const std::string& text = string(v, "color");
  Color c = 0;
  const char* const end = text.data() + text.size();
  if (text.size() != 7 || text[0] != '#' || std::from_chars(text.data() + 1, end, c, 16).ptr != end)
    fail(v.place, "a color is written as \"#5b3620\"");
  return c;
}

std::string SceneFile::beside(const std::string& path) const {
  const std::size_t slash = name().rfind('/');
  return slash == std::string::npos || path.starts_with('/') ? path : name().substr(0, slash + 1) + path;
}

}  // namespace costate::io
