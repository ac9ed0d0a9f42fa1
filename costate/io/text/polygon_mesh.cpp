#include "costate/io/text/polygon_mesh.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "costate/io/text/mesh_lines.h"

namespace costate::io {
namespace {

enum class Kind { i8, u8, i16, u16, i32, u32, f32, f64 };
constexpr std::size_t kSize[] = {1, 1, 2, 2, 4, 4, 4, 8};
constexpr std::pair<const char*, Kind> kNames[] = {
    {"char", Kind::i8},   {"int8", Kind::i8},     {"uchar", Kind::u8},   {"uint8", Kind::u8},
    {"short", Kind::i16}, {"int16", Kind::i16},   {"ushort", Kind::u16}, {"uint16", Kind::u16},
    {"int", Kind::i32},   {"int32", Kind::i32},   {"uint", Kind::u32},   {"uint32", Kind::u32},
    {"float", Kind::f32}, {"float32", Kind::f32}, {"double", Kind::f64}, {"float64", Kind::f64}};

struct Property {
  std::string name;
  Kind kind;
  bool list = false;
  Kind count = Kind::u8;  // of a list
};
struct Element {
  std::string name;
  std::size_t count = 0;
  std::vector<Property> properties = {};
};

// The numbers of the body, one after the other.
class Body {
 public:
  Body(const std::string& content, const std::string& path, std::size_t at, int order)
      : content_(content), path_(path), at_(at), order_(order) {}

  std::size_t left() const { return content_.size() - at_; }
  // Bytes that an element has at least.
  std::size_t least(const Element& e) const {
    std::size_t sum = 0;
    for (const Property& p : e.properties) sum += order_ == 0 ? 2 : kSize[int(p.list ? p.count : p.kind)];
    return std::max<std::size_t>(sum, 1);
  }
  double next(Kind kind) {
    if (order_ == 0) return word();
    const std::size_t size = kSize[int(kind)];
    if (left() < size) fail("the file ends within its numbers");
    unsigned char bytes[8] = {};
    for (std::size_t k = 0; k < size; ++k)
      bytes[order_ > 0 ? k : size - 1 - k] = static_cast<unsigned char>(content_[at_ + k]);
    at_ += size;
    const auto as = [&](auto value) {
      std::memcpy(&value, bytes, sizeof value);
      return double(value);
    };
    switch (kind) {
      case Kind::i8:
        return as(std::int8_t{});
      case Kind::u8:
        return as(std::uint8_t{});
      case Kind::i16:
        return as(std::int16_t{});
      case Kind::u16:
        return as(std::uint16_t{});
      case Kind::i32:
        return as(std::int32_t{});
      case Kind::u32:
        return as(std::uint32_t{});
      case Kind::f32:
        return as(float{});
      case Kind::f64:
        return as(double{});
    }
    return 0;
  }
  [[noreturn]] void fail(const std::string& what) const { throw Error({what, path_, {}}); }

 private:
  double word() {
    const std::size_t begin = content_.find_first_not_of(" \t\r\n", at_);
    if (begin == std::string::npos) fail("the file ends within its numbers");
    const std::size_t end = std::min(content_.find_first_of(" \t\r\n", begin), content_.size());
    double value = 0;
    const auto [stop, error] = std::from_chars(content_.data() + begin, content_.data() + end, value);
    if (error != std::errc() || stop != content_.data() + end)
      fail("'" + content_.substr(begin, std::min<std::size_t>(end - begin, 40)) + "' is not a number");
    at_ = end;
    return value;
  }

  const std::string& content_;
  const std::string& path_;
  std::size_t at_;
  int order_;  // of bytes: 1 the last one first, -1 the first one first, 0 text
};

Kind kind_of(const MeshLines& lines, std::string_view word) {
  for (const auto& [name, kind] : kNames)
    if (word == name) return kind;
  lines.fail("'" + std::string(word.substr(0, 40)) + "' is not a kind of number of a PLY file");
}

struct Header {
  int order = 0;
  std::vector<Element> elements = {};
  std::size_t end = 0;
};
Header header_of(const std::string& content, const std::string& path) {
  MeshLines lines(content, path);
  std::vector<std::string_view> words;
  if (!lines.next(words) || words[0] != "ply")
    throw Error({"a PLY file begins with the line 'ply'", path, {}});
  Header h;
  while (true) {
    if (!lines.next(words)) lines.fail("the header has no end: there is no line 'end_header'");
    if (words[0] == "end_header") break;
    if (words[0] == "format" && words.size() >= 2) {
      if (words[1] != "ascii" && words[1] != "binary_little_endian" && words[1] != "binary_big_endian")
        lines.fail("unknown format '" + std::string(words[1].substr(0, 40)) + "'");
      h.order = words[1] == "ascii" ? 0 : words[1] == "binary_little_endian" ? 1 : -1;
    } else if (words[0] == "element" && words.size() >= 3) {
      h.elements.push_back({std::string(words[1]), std::size_t(lines.count(words[2], content.size())), {}});
    } else if (words[0] == "property" && words.size() >= 3) {
      if (h.elements.empty()) lines.fail("a property before the first element");
      Property p{std::string(words.back()), Kind::f32};
      p.list = words[1] == "list";
      if (p.list && words.size() < 5) lines.fail("a list needs a count, a kind and a name");
      p.kind = kind_of(lines, words[p.list ? 3 : 1]);
      if (p.list) p.count = kind_of(lines, words[2]);
      h.elements.back().properties.push_back(p);
    } else if (words[0] != "comment" && words[0] != "obj_info") {
      lines.fail("'" + std::string(words[0].substr(0, 40)) + "' is not part of a PLY header");
    }
  }
  h.end = std::min(lines.offset(), content.size());
  return h;
}

void read_vertex(const Element& e, Body& body, PolygonMesh& mesh) {
  Vec3<double> p{0, 0, 0};
  for (const Property& property : e.properties) {
    if (property.list) body.fail("a vertex with a list");
    const double value = body.next(property.kind);
    if (property.name == "x") p.x = value;
    if (property.name == "y") p.y = value;
    if (property.name == "z") p.z = value;
  }
  if (!reasonable(p)) body.fail("vertex " + std::to_string(mesh.vertices.size()) + " is not finite");
  mesh.vertices.push_back(p);
}

void read_face(const Element& e, std::size_t number, Body& body, PolygonMesh& mesh) {
  for (const Property& property : e.properties) {
    if (!property.list) {
      body.next(property.kind);
      continue;
    }
    const double count = body.next(property.count);
    if (!(count >= 0 && count <= double(body.left()))) body.fail("a list is longer than the file");
    const bool corners = property.name == "vertex_indices" || property.name == "vertex_index";
    if (corners && count < 3) body.fail("face " + std::to_string(number) + " has fewer than three vertices");
    for (std::size_t k = 0; k < std::size_t(count); ++k) {
      const double v = body.next(property.kind);
      if (!corners) continue;
      if (!(v >= 0 && v < double(mesh.vertices.size())) || v != std::floor(v))
        body.fail("face " + std::to_string(number) + ": there is no vertex of that number");
      mesh.corners.push_back(int(v));
    }
    if (corners) mesh.begin.push_back(mesh.corners.size());
  }
}

}  // namespace

PolygonMesh parse_obj(const std::string& text, const std::string& path) {
  PolygonMesh mesh;
  MeshLines lines(text, path);
  std::vector<std::string_view> words;
  while (lines.next(words)) {
    if (words[0] == "v") {
      mesh.vertices.push_back(lines.point(words, 1));
    } else if (words[0] == "f") {
      if (words.size() < 4) lines.fail("a face needs three vertices");
      for (std::size_t w = 1; w < words.size(); ++w) {
        const double index = lines.number(words[w].substr(0, words[w].find('/')));
        const double n = double(mesh.vertices.size()),
                     at = index < 0 ? n + index : index - 1;  // -1: the last
        if (!(at >= 0 && at < n) || at != std::floor(at))
          lines.fail("there is no vertex " + std::string(words[w].substr(0, 40)));
        mesh.corners.push_back(int(at));
      }
      mesh.begin.push_back(mesh.corners.size());
    }
  }
  return mesh;
}

std::vector<std::array<int, 3>> triangles_of(const PolygonMesh& mesh) {
  std::vector<std::array<int, 3>> all;
  std::vector<int> corners;
  for (std::size_t f = 0; f + 1 < mesh.begin.size(); ++f) {
    corners.assign(mesh.corners.begin() + std::ptrdiff_t(mesh.begin[f]),
                   mesh.corners.begin() + std::ptrdiff_t(mesh.begin[f + 1]));
    const auto length = [&](std::size_t a, std::size_t b) {
      return squared_norm(mesh.vertices[std::size_t(corners[a])] - mesh.vertices[std::size_t(corners[b])]);
    };
    if (corners.size() == 4 && length(1, 3) <= length(0, 2))
      std::rotate(corners.begin(), corners.begin() + 1, corners.end());
    for (std::size_t k = 2; k < corners.size(); ++k) all.push_back({corners[0], corners[k - 1], corners[k]});
  }
  return all;
}

PolygonMesh parse_ply(const std::string& content, const std::string& path) {
  const Header h = header_of(content, path);
  Body body(content, path, h.end, h.order);
  PolygonMesh mesh;
  for (const Element& e : h.elements) {
    if (e.count > (body.left() + 1) / body.least(e))
      body.fail("the header speaks of " + std::to_string(e.count) + " times '" + e.name.substr(0, 40) +
                "', more than the file can hold");
    for (std::size_t k = 0; k < e.count; ++k) {
      if (e.name == "vertex") {
        read_vertex(e, body, mesh);
      } else {
        // Other elements are stepped over: their lists are read, and not kept.
        PolygonMesh unused;
        read_face(e, k, body, e.name == "face" ? mesh : unused);
      }
    }
  }
  return mesh;
}

}  // namespace costate::io
