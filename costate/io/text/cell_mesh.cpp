#include "costate/io/text/cell_mesh.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "costate/io/text/gmsh_file.h"
#include "costate/io/text/mesh_file.h"
#include "costate/io/text/mesh_lines.h"
#include "costate/io/text/polygon_mesh.h"

namespace costate::io {
namespace {

std::string ending_of(const std::string& path) {
  std::string ending = path.substr(std::min(path.rfind('.'), path.size()));
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = char(c + 32);
  return ending;
}

CellMesh of_polygons(const PolygonMesh& file) {
  CellMesh mesh{.vertices = file.vertices};
  for (const auto& t : triangles_of(file)) mesh.triangles.insert(mesh.triangles.end(), t.begin(), t.end());
  return mesh;
}

CellMesh welded(const TriangleMesh& file) {
  CellMesh mesh{.vertices = file.vertices};
  for (const auto& f : file.faces) mesh.triangles.insert(mesh.triangles.end(), f.begin(), f.end());
  return mesh;
}

// --- what is wrong with a mesh -----------------------------------------------------------------------------

class Checker {
 public:
  Checker(const CellMesh& mesh, const std::string& path) : m_(mesh), path_(path) {}

  void run() const {
    const std::pair<const std::vector<int>*, std::size_t> kinds[] = {
        {&m_.triangles, 3}, {&m_.tetrahedra, 4}, {&m_.quadratic_tetrahedra, 10}, {&m_.hexahedra, 8}};
    const char* names[] = {"triangle", "tetrahedron", "quadratic tetrahedron", "hexahedron"};
    std::vector<char> used(m_.vertices.size(), 0);
    std::size_t cells = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const auto& [list, nodes] = kinds[k];
      cells += list->size();
      for (std::size_t e = 0; e * nodes < list->size(); ++e)
        cell(names[k], e, list->data() + e * nodes, nodes);
      for (const int v : *list) used[std::size_t(v)] = 1;
    }
    if (cells == 0) fail("there are no triangles, tetrahedra or hexahedra in the file", "");
    const auto spare = std::find(used.begin(), used.end(), 0);
    if (spare != used.end())
      fail("vertex " + std::to_string(spare - used.begin()) + " belongs to no cell",
           "it has no mass: remove vertices that nothing uses");
    edges();
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& advice) const {
    throw Error({what, path_, advice});
  }
  void cell(const std::string& name, std::size_t number, const int* v, std::size_t nodes) const {
    const std::string which = name + " " + std::to_string(number);
    for (std::size_t a = 0; a < nodes; ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (v[a] == v[b]) fail(which + " has vertex " + std::to_string(v[a]) + " twice", "remove it");
    const auto at = [&](std::size_t a) { return m_.vertices[std::size_t(v[a])]; };
    const Vec3<double> a = at(1) - at(0), b = at(2) - at(0), n = cross(a, b);
    const double scale = std::max({norm(a), norm(b), norm(at(2) - at(1))});
    if (!(norm(n) > 1e-12 * scale * scale))
      fail(which + " has no area", "remove it, or move its vertices apart");
    if (nodes != 4) return;
    const Vec3<double> c = at(3) - at(0);
    if (!(std::abs(dot(c, n)) > 1e-12 * norm(n) * std::max(scale, norm(c))))
      fail(which + " has no volume", "remove it, or move its vertices apart");
  }
  // Each edge of a surface belongs to two triangles, or to one at its rim.
  void edges() const {
    std::map<std::array<int, 2>, int> seen;
    std::set<std::array<int, 3>> faces;
    for (std::size_t t = 0; t < m_.triangles.size(); t += 3) {
      std::array<int, 3> face = {m_.triangles[t], m_.triangles[t + 1], m_.triangles[t + 2]};
      for (std::size_t k = 0; k < 3; ++k) {
        std::array<int, 2> e = {face[k], face[(k + 1) % 3]};
        if (e[0] > e[1]) std::swap(e[0], e[1]);
        if (++seen[e] > 2)
          fail("the edge of vertices " + std::to_string(e[0]) + " and " + std::to_string(e[1]) +
                   " belongs to three triangles",
               "a surface that branches cannot bend there: cut the mesh at that edge");
      }
      std::sort(face.begin(), face.end());
      if (!faces.insert(face).second)
        fail("triangle " + std::to_string(t / 3) + " is there twice", "remove one of the two");
    }
  }

  const CellMesh& m_;
  const std::string& path_;
};

// --- to a file ---------------------------------------------------------------------------------------------

std::string spaced(const Vec3<double>& p) {
  return shortest(p.x) + ' ' + shortest(p.y) + ' ' + shortest(p.z);
}

std::string format_obj(const CellMesh& mesh) {
  std::string out;
  for (const auto& p : mesh.vertices) out += "v " + spaced(p) + '\n';
  for (std::size_t t = 0; t < mesh.triangles.size(); t += 3) {
    out += 'f';
    for (std::size_t k = 0; k < 3; ++k) out += ' ' + std::to_string(mesh.triangles[t + k] + 1);
    out += '\n';
  }
  return out;
}
std::string format_ply(const CellMesh& mesh) {
  std::string out = "ply\nformat ascii 1.0\nelement vertex " + std::to_string(mesh.vertices.size()) +
                    "\nproperty double x\nproperty double y\nproperty double z\nelement face " +
                    std::to_string(mesh.triangles.size() / 3) +
                    "\nproperty list uchar int vertex_indices\nend_header\n";
  for (const auto& p : mesh.vertices) out += spaced(p) + '\n';
  for (std::size_t t = 0; t < mesh.triangles.size(); t += 3) {
    out += '3';
    for (std::size_t k = 0; k < 3; ++k) out += ' ' + std::to_string(mesh.triangles[t + k]);
    out += '\n';
  }
  return out;
}
std::string format_stl(const CellMesh& mesh) {
  std::string out(80, ' ');
  const auto put = [&](std::uint32_t bits) {
    for (int k = 0; k < 4; ++k) out += char(bits >> (8 * k) & 255);
  };
  const auto point = [&](const Vec3<double>& p) {
    for (const double x : {p.x, p.y, p.z}) put(std::bit_cast<std::uint32_t>(float(x)));
  };
  put(std::uint32_t(mesh.triangles.size() / 3));
  for (std::size_t t = 0; t < mesh.triangles.size(); t += 3) {
    const auto at = [&](std::size_t k) { return mesh.vertices[std::size_t(mesh.triangles[t + k])]; };
    point(normalized(cross(at(1) - at(0), at(2) - at(0))));
    for (std::size_t k = 0; k < 3; ++k) point(at(k));
    out += std::string(2, '\0');
  }
  return out;
}

}  // namespace

CellMesh parse_cells(const std::string& content, const std::string& path) {
  const std::string ending = ending_of(path);
  if (content.size() > kMaxMeshSize) throw Error({"the file is too large", path, {}});
  CellMesh mesh;
  if (ending == ".obj")
    mesh = of_polygons(parse_obj(content, path));
  else if (ending == ".ply")
    mesh = of_polygons(parse_ply(content, path));
  else if (ending == ".msh" && is_gmsh(content))
    mesh = parse_gmsh(content, path);
  else if (ending == ".stl" || ending == ".msh")
    mesh = welded(parse_mesh(content, path));
  else
    throw Error(
        {"meshes of kind '" + ending + "' cannot be read", path, "convert it to OBJ, PLY, STL or MSH"});
  // Gmsh writes the surface of a body beside its inside.
  if (!mesh.tetrahedra.empty() || !mesh.quadratic_tetrahedra.empty() || !mesh.hexahedra.empty())
    mesh.triangles.clear();
  return mesh;
}

CellMesh read_cells(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error({"there is no such file, or it cannot be read", path, {}});
  std::string content;
  char buffer[1 << 16];
  while (file.read(buffer, sizeof buffer), file.gcount() > 0) {
    content.append(buffer, std::size_t(file.gcount()));
    if (content.size() > kMaxMeshSize) throw Error({"the file is too large", path, {}});
  }
  CellMesh mesh = parse_cells(content, path);
  check_cells(mesh, path);
  return mesh;
}

void check_cells(const CellMesh& mesh, const std::string& path) { Checker(mesh, path).run(); }

std::string format_cells(const CellMesh& mesh, const std::string& path) {
  const std::string ending = ending_of(path);
  if (ending == ".msh") return format_gmsh(mesh);
  if (ending != ".obj" && ending != ".ply" && ending != ".stl")
    throw Error({"meshes of kind '" + ending + "' cannot be written", path, "use .obj, .ply, .stl or .msh"});
  if (mesh.triangles.empty())
    throw Error(
        {"a file of kind '" + ending + "' holds triangles, and there are none", path, "write a .msh file"});
  return ending == ".obj" ? format_obj(mesh) : ending == ".ply" ? format_ply(mesh) : format_stl(mesh);
}

void write_cells(const CellMesh& mesh, const std::string& path) {
  const std::string content = format_cells(mesh, path);
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), std::streamsize(content.size()));
  if (!file.flush()) throw Error({"the file cannot be written", path, {}});
}

}  // namespace costate::io
