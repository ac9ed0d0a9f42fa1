#include "costate/io/text/mesh_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>

#include "costate/core/error.h"
#include "costate/io/text/mesh_lines.h"
#include "costate/io/text/polygon_mesh.h"

namespace costate::io {
namespace {

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

TriangleMesh text_stl(const std::string& text, const std::string& path) {
  TriangleMesh mesh;
  Welder welder(mesh);
  MeshLines lines(text, path);
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

TriangleMesh welded(const PolygonMesh& file) {
  TriangleMesh mesh;
  Welder welder(mesh);
  std::vector<int> number;  // of the file's vertices among ours
  for (const Vec3<double>& v : file.vertices) number.push_back(welder.vertex(v));
  for (const auto& t : triangles_of(file))
    mesh.faces.push_back({number[std::size_t(t[0])], number[std::size_t(t[1])], number[std::size_t(t[2])]});
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
    mesh = welded(parse_obj(content, path));
  } else if (ending == ".ply") {
    mesh = welded(parse_ply(content, path));
  } else if (ending == ".msh") {
    mesh = msh(content, path);
  } else {
    throw Error({"meshes of kind '" + ending + "' cannot be read", path, "convert it to STL, OBJ or PLY"});
  }
  // A face with two equal corners is a line: it bounds nothing.
  std::erase_if(mesh.faces, [](const auto& f) { return f[0] == f[1] || f[1] == f[2] || f[2] == f[0]; });
  if (mesh.faces.empty()) throw Error({"there are no triangles in the file", path, {}});
  return mesh;
}

}  // namespace costate::io
