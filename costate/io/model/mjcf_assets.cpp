// <asset>: meshes and height fields. Textures, materials and skins have no physics.
#include <algorithm>

#include "costate/io/model/mjcf_reader.h"
#include "costate/io/text/mesh_file.h"

namespace costate::io {
namespace {

constexpr std::size_t kMaxInline = 3'000'000;  // numbers in one attribute

// "meshes/foot.stl" -> "foot"
std::string stem(const std::string& file) {
  const std::string name = file.substr(folder_of(file).size());
  return name.substr(0, name.rfind('.'));
}

std::string joined(const std::string& folder, const std::string& file) {
  if (folder.empty() || file.starts_with('/')) return file;
  return folder.ends_with('/') ? folder + file : folder + "/" + file;
}

}  // namespace

std::string MjcfReader::asset_path(const std::string& file) const {
  const std::string name = strip_path_ ? file.substr(folder_of(file).size()) : file;
  const std::string local = joined(mesh_folder_.empty() ? asset_folder_ : mesh_folder_, name);
  return local.starts_with('/') ? local : folder_of(path_) + local;
}

void MjcfReader::asset(const XmlElement& e) {
  XmlAttributes(e).finish();
  for (const XmlElement& child : e.children) {
    if (child.name == "mesh")
      mesh(child);
    else if (child.name == "hfield")
      hfield(child);
    else if (child.name != "texture" && child.name != "material" && child.name != "skin")
      fail_unknown_element(child, "asset", {"mesh", "hfield", "texture", "material", "skin"}, {"model"});
  }
}

void MjcfReader::mesh_attributes(XmlAttributes& a, rigid::Vector& scale, rigid::MeshInertia& inertia) {
  a.read("scale", scale);
  a.choose("inertia", inertia,
           {{"legacy", rigid::MeshInertia::legacy},
            {"convex", rigid::MeshInertia::convex},
            {"exact", rigid::MeshInertia::exact},
            {"shell", rigid::MeshInertia::shell}});
  int most = -1;
  a.read("maxhullvert", most);
  if (most != -1)
    spec_.warnings.push_back(a.where() +
                             ": maxhullvert is not done: the hull has as many vertices as it needs");
}

void MjcfReader::mesh(const XmlElement& e) {
  XmlAttributes a = with_defaults(e);
  rigid::MeshSpec mesh;
  mesh.where = e.where();
  rigid::Vector scale{1, 1, 1}, refpos{0, 0, 0};
  std::array<double, 4> refquat{1, 0, 0, 0};
  std::string file;
  mesh_attributes(a, scale, mesh.inertia);
  a.read("name", mesh.name);
  a.read("file", file);
  a.read("refpos", refpos);
  a.read("refquat", refquat);
  const std::vector<double> vertices = a.numbers("vertex", 12, kMaxInline);
  const std::vector<double> faces = a.numbers("face", 3, kMaxInline);
  a.refuse({"builtin", "params"});
  a.ignore({"normal", "texcoord", "smoothnormal", "content_type", "material"});
  a.finish();
  for (const XmlElement& child : e.children) fail_unknown_element(child, "mesh", {}, {"plugin"});
  if (file.empty() == vertices.empty()) a.fail("needs either a file or vertices");
  if (!file.empty()) {
    if (mesh.name.empty()) mesh.name = stem(file);
    const std::string path = asset_path(file);
    std::string content;
    try {
      content = files_(path);
    } catch (const Error& error) {
      throw Error({error.message().what, e.where(), error.message().advice});
    }
    TriangleMesh triangles = parse_mesh(content, path);
    mesh.vertices = std::move(triangles.vertices);
    mesh.faces = std::move(triangles.faces);
  } else {
    if (vertices.size() % 3 != 0) a.fail_at("vertex", "needs three numbers per vertex");
    if (faces.size() % 3 != 0) a.fail_at("face", "needs three indices per face");
    for (std::size_t i = 0; i < vertices.size(); i += 3)
      mesh.vertices.push_back({vertices[i], vertices[i + 1], vertices[i + 2]});
    for (std::size_t i = 0; i < faces.size(); i += 3) {
      for (std::size_t k = i; k < i + 3; ++k) {
        if (faces[k] < 0 || faces[k] >= double(mesh.vertices.size()) || faces[k] != double(int(faces[k])))
          a.fail_at("face", "refers to a vertex that there is not");
      }
      mesh.faces.push_back({int(faces[i]), int(faces[i + 1]), int(faces[i + 2])});
    }
  }
  const rigid::Rotation turn{refquat[0], refquat[1], refquat[2], refquat[3]};
  if (!(dot(turn, turn) > 1e-28)) a.fail_at("refquat", "is zero");
  for (rigid::Vector& v : mesh.vertices) {
    v = rotate_back(normalized(turn), v - refpos);
    v = {v.x * scale.x, v.y * scale.y, v.z * scale.z};
  }
  if (scale.x * scale.y * scale.z < 0) {  // a mirror turns faces inside out
    for (auto& f : mesh.faces) std::swap(f[1], f[2]);
  }
  spec_.add(std::move(mesh));
}

void MjcfReader::hfield(const XmlElement& e) {
  XmlAttributes a(e);
  rigid::HeightFieldSpec field;
  field.where = e.where();
  a.read("name", field.name);
  a.read("size", field.size);
  a.read("nrow", field.rows);
  a.read("ncol", field.columns);
  field.elevation = a.numbers("elevation", 1, kMaxInline);
  if (a.has("file"))
    a.fail_at("file", "is not supported", "write the elevations into the attribute elevation");
  a.ignore({"content_type"});
  a.finish();
  if (field.rows < 2 || field.columns < 2 || field.rows > 10'000 || field.columns > 10'000)
    a.fail("needs nrow and ncol from 2 to 10000");
  const std::size_t cells = std::size_t(field.rows) * std::size_t(field.columns);
  if (cells > kMaxInline) a.fail("has too many cells");
  if (field.elevation.empty()) field.elevation.assign(cells, 0.0);
  if (field.elevation.size() != cells) a.fail_at("elevation", "needs nrow x ncol numbers");
  // The file lists rows as one sees them on a map, the field from small y to large.
  for (int low = 0, high = field.rows - 1; low < high; ++low, --high) {
    const auto row = [&](int r) { return field.elevation.begin() + std::ptrdiff_t(r) * field.columns; };
    std::swap_ranges(row(low), row(low) + field.columns, row(high));
  }
  spec_.add(std::move(field));
}

}  // namespace costate::io
