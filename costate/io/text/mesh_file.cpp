#include "costate/io/text/mesh_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>

#include "costate/core/error.h"

namespace costate::io {
namespace {

constexpr double kLargest = 1e30;

// Vertices by their coordinates.
class Welder {
 public:
  explicit Welder(TriangleMesh& mesh) : mesh_(mesh) {}
  int vertex(const Vec3<double>& p) {
    const auto [at, fresh] = index_.try_emplace({p.x, p.y, p.z}, int(mesh_.vertices.size()));
    if (fresh) mesh_.vertices.push_back(p);
    return at->second;
  }

 private:
  TriangleMesh& mesh_;
  std::map<std::array<double, 3>, int> index_;
};

bool reasonable(double x) { return std::isfinite(x) && std::abs(x) <= kLargest; }
bool reasonable(const Vec3<double>& p) { return reasonable(p.x) && reasonable(p.y) && reasonable(p.z); }

// Words of a text, line by line.
class Lines {
 public:
  Lines(const std::string& text, const std::string& path) : text_(text), path_(path) {}

  // The words of the next line that has any.
  bool next(std::vector<std::string_view>& words) {
    words.clear();
    while (at_ < text_.size() && words.empty()) {
      ++line_;
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view rest = std::string_view(text_).substr(at_, end - at_);
      rest = rest.substr(0, rest.find('#'));
      at_ = end + 1;
      while (true) {
        const std::size_t begin = rest.find_first_not_of(" \t\r");
        if (begin == std::string_view::npos) break;
        const std::size_t length = std::min(rest.find_first_of(" \t\r", begin), rest.size()) - begin;
        words.push_back(rest.substr(begin, length));
        rest.remove_prefix(begin + length);
      }
    }
    return !words.empty();
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error({what, path_ + ":" + std::to_string(line_), {}});
  }
  double number(std::string_view word) const {
    if (word.starts_with('+')) word.remove_prefix(1);
    double value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || stop != word.data() + word.size())
      fail("'" + std::string(word.substr(0, 40)) + "' is not a number");
    return value;
  }
  Vec3<double> point(const std::vector<std::string_view>& words, std::size_t first) const {
    if (words.size() < first + 3) fail("a vertex needs three numbers");
    const Vec3<double> p{number(words[first]), number(words[first + 1]), number(words[first + 2])};
    if (!reasonable(p)) fail("a vertex is not finite");
    return p;
  }

 private:
  const std::string& text_;
  const std::string& path_;
  std::size_t at_ = 0;
  int line_ = 0;
};

TriangleMesh text_stl(const std::string& text, const std::string& path) {
  TriangleMesh mesh;
  Welder welder(mesh);
  Lines lines(text, path);
  std::vector<std::string_view> words;
  std::vector<int> corners;
  while (lines.next(words)) {
    if (words[0] == "vertex") {
      corners.push_back(welder.vertex(lines.point(words, 1)));
    } else if (words[0] == "endfacet") {
      if (corners.size() != 3)
        lines.fail("a facet has " + std::to_string(corners.size()) + " vertices instead of 3");
      mesh.faces.push_back({corners[0], corners[1], corners[2]});
      corners.clear();
    } else if (words[0] != "solid" && words[0] != "facet" && words[0] != "outer" && words[0] != "endloop" &&
               words[0] != "endsolid") {
      lines.fail("'" + std::string(words[0].substr(0, 40)) + "' is not part of an STL file");
    }
  }
  return mesh;
}

std::uint32_t little_endian(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  return value;
}

float little_endian_float(const char* bytes) {
  const std::uint32_t bits = little_endian(bytes);
  float value;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

constexpr std::size_t kStlHeader = 84, kStlFacet = 50;

bool is_binary_stl(const std::string& content) {
  return content.size() >= kStlHeader &&
         content.size() == kStlHeader + kStlFacet * std::size_t(little_endian(content.data() + 80));
}

TriangleMesh binary_stl(const std::string& content, const std::string& path) {
  TriangleMesh mesh;
  Welder welder(mesh);
  const std::uint32_t count = little_endian(content.data() + 80);
  for (std::uint32_t f = 0; f < count; ++f) {
    const char* const facet = content.data() + kStlHeader + kStlFacet * std::size_t(f);
    std::array<int, 3> corners;
    for (std::size_t v = 0; v < 3; ++v) {
      float xyz[3];
      for (std::size_t k = 0; k < 3; ++k) xyz[k] = little_endian_float(facet + 12 * (v + 1) + 4 * k);
      const Vec3<double> p{xyz[0], xyz[1], xyz[2]};
      if (!reasonable(p)) throw Error({"vertex of facet " + std::to_string(f) + " is not finite", path, {}});
      corners[v] = welder.vertex(p);
    }
    mesh.faces.push_back(corners);
  }
  return mesh;
}

// MuJoCo's own: the numbers of vertices, normals, texture coordinates and faces, then these; all of four
// bytes.
TriangleMesh msh(const std::string& content, const std::string& path) {
  constexpr std::size_t kHeader = 16, kNumber = 4;
  if (content.size() < kHeader) throw Error({"the file ends within its header", path, {}});
  const auto count = [&](int i) { return std::size_t(little_endian(content.data() + kNumber * i)); };
  const std::size_t vertices = count(0), before_faces = 3 * vertices + 3 * count(1) + 2 * count(2),
                    faces = count(3), size = kHeader + kNumber * (before_faces + 3 * faces);
  if (content.size() != size)
    throw Error({"the header speaks of " + std::to_string(size) + " bytes, but there are " +
                     std::to_string(content.size()),
                 path,
                 {}});
  TriangleMesh mesh;
  Welder welder(mesh);
  std::vector<int> number;  // of the file's vertices among ours
  const char* at = content.data() + kHeader;
  for (std::size_t i = 0; i < vertices; ++i, at += 3 * kNumber) {
    const Vec3<double> p{little_endian_float(at), little_endian_float(at + kNumber),
                         little_endian_float(at + 2 * kNumber)};
    if (!reasonable(p)) throw Error({"vertex " + std::to_string(i) + " is not finite", path, {}});
    number.push_back(welder.vertex(p));
  }
  at = content.data() + kHeader + kNumber * before_faces;
  for (std::size_t f = 0; f < faces; ++f) {
    std::array<int, 3> corners;
    for (int& corner : corners) {
      const std::uint32_t index = little_endian(at);
      if (index >= vertices)
        throw Error(
            {"face " + std::to_string(f) + ": there is no vertex " + std::to_string(index), path, {}});
      corner = number[index];
      at += kNumber;
    }
    mesh.faces.push_back(corners);
  }
  return mesh;
}

// A polygon as triangles: a quadrilateral along its shorter diagonal, others as a fan.
void cut(TriangleMesh& mesh, std::vector<int>& corners) {
  const auto length = [&](std::size_t a, std::size_t b) {
    return squared_norm(mesh.vertices[corners[a]] - mesh.vertices[corners[b]]);
  };
  if (corners.size() == 4 && length(1, 3) <= length(0, 2))
    std::rotate(corners.begin(), corners.begin() + 1, corners.end());
  for (std::size_t k = 2; k < corners.size(); ++k)
    mesh.faces.push_back({corners[0], corners[k - 1], corners[k]});
}

TriangleMesh obj(const std::string& text, const std::string& path) {
  TriangleMesh mesh;
  Welder welder(mesh);
  std::vector<int> number;  // of the file's vertices among ours
  Lines lines(text, path);
  std::vector<std::string_view> words;
  std::vector<int> corners;
  while (lines.next(words)) {
    if (words[0] == "v") {
      number.push_back(welder.vertex(lines.point(words, 1)));
    } else if (words[0] == "f") {
      corners.clear();
      for (std::size_t w = 1; w < words.size(); ++w) {
        const double index = lines.number(words[w].substr(0, words[w].find('/')));
        const double from_start =
            index < 0 ? double(number.size()) + index : index - 1;  // -1 is the last vertex
        if (!(from_start >= 0 && from_start < double(number.size())) || from_start != std::floor(from_start))
          lines.fail("there is no vertex " + std::string(words[w].substr(0, 40)));
        corners.push_back(number[from_start]);
      }
      if (corners.size() < 3) lines.fail("a face needs three vertices");
      cut(mesh, corners);
    }
    // Normals, texture, groups, materials and lines have no mass and no volume.
  }
  return mesh;
}

}  // namespace

TriangleMesh parse_mesh(const std::string& content, const std::string& path) {
  std::string ending = path.substr(std::min(path.rfind('.'), path.size()));
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (content.size() > kMaxMeshSize) throw Error({"the file is too large", path, {}});
  TriangleMesh mesh;
  if (ending == ".stl") {
    mesh = is_binary_stl(content) ? binary_stl(content, path) : text_stl(content, path);
  } else if (ending == ".obj") {
    mesh = obj(content, path);
  } else if (ending == ".msh") {
    mesh = msh(content, path);
  } else {
    throw Error({"meshes of kind '" + ending + "' cannot be read", path, "convert it to STL or OBJ"});
  }
  // A face with two equal corners is a line: it bounds nothing.
  std::erase_if(mesh.faces, [](const auto& f) { return f[0] == f[1] || f[1] == f[2] || f[2] == f[0]; });
  if (mesh.faces.empty()) throw Error({"there are no triangles in the file", path, {}});
  return mesh;
}

}  // namespace costate::io
