// Meshes and height fields. A mesh is moved to its centre of mass and turned to its principal axes (largest
// moment first); the geoms that show it take up the difference in their frames. Its convex hull is what
// collides.
#include <algorithm>
#include <cmath>
#include <set>

#include "costate/rigid/compile/compile_hull.h"
#include "costate/rigid/compile/compile_inertia.h"
#include "costate/rigid/compile/compile_stages.h"

namespace costate::rigid::stages {
namespace {

constexpr double kTinyVolume = 1e-14;

void check_faces(const MeshSpec& s, const std::string& who) {
  for (const Vector& v : s.vertices) {
    if (!std::isfinite(v.x) || !std::isfinite(v.y) || !std::isfinite(v.z))
      fail(who, "a vertex is not finite", s.where);
  }
  for (const auto& f : s.faces) {
    for (const int i : f) {
      if (i < 0 || std::size_t(i) >= s.vertices.size())
        fail(who, "a face refers to vertex " + std::to_string(i) + " of " + std::to_string(s.vertices.size()),
             s.where);
    }
  }
}

// Neighbours agree about which side is out: no edge is gone along twice in the same direction.
bool is_oriented(const std::vector<std::array<int, 3>>& faces) {
  std::set<std::pair<int, int>> edges;
  for (const auto& f : faces) {
    for (std::size_t k = 0; k < 3; ++k) {
      if (!edges.insert({f[k], f[(k + 1) % 3]}).second) return false;
    }
  }
  return true;
}

// The aligned frame: columns of the principal axes, largest moment first, right handed.
Rotation principal_frame(const Sym3<double>& inertia) {
  const PrincipalInertia p = principal_inertia(inertia);
  if (p.moments[2] - p.moments[0] <= 1e-9 * p.moments[2]) return {1, 0, 0, 0};
  const Vector x = p.axes.column(2), y = p.axes.column(1), z = cross(x, y);
  return from_matrix({{{x.x, y.x, z.x}, {x.y, y.y, z.y}, {x.z, y.z, z.z}}});
}

// What meshes are for, from the geoms that show them.
struct Use {
  bool collides = false, gives_mass = false;
};
void collect_uses(const CompilerSpec& rules, const BodySpec& body,
                  std::unordered_map<std::string, Use>& uses) {
  const bool infers =
      rules.inertia_from_geom == CompilerSpec::InertiaFromGeom::always ||
      (rules.inertia_from_geom == CompilerSpec::InertiaFromGeom::if_missing && !body.inertial);
  for (const GeomSpec& g : body.geoms) {
    if (g.type != GeomType::mesh) continue;
    Use& use = uses[g.mesh];
    use.collides = use.collides || g.contype != 0 || g.conaffinity != 0;
    use.gives_mass =
        use.gives_mass || (infers && body.name != "world" && g.group >= rules.inertia_group_range[0] &&
                           g.group <= rules.inertia_group_range[1] && g.mass.value_or(g.density) > 0);
  }
  for (const BodySpec& child : body.children) collect_uses(rules, child, uses);
}

}  // namespace

CompiledMesh compile_mesh(const MeshSpec& s, bool collides, bool gives_mass, Mesh& mesh) {
  const std::string who = title("mesh", s);
  check_faces(s, who);
  std::vector<std::array<int, 3>> hull;
  if (s.faces.empty() || collides || s.inertia == MeshInertia::convex) {
    try {
      hull = convex_hull(s.vertices);
    } catch (const Error& error) {
      fail(who, error.message().what, s.where, error.message().advice);
    }
  }
  const std::vector<std::array<int, 3>>& faces = s.faces.empty() ? hull : s.faces;
  if (s.inertia == MeshInertia::exact && !is_oriented(faces))
    fail(who, "its faces disagree about which side is out, so it has no exact inertia", s.where,
         "use inertia=\"convex\"");
  const MassProperties solid = s.inertia == MeshInertia::shell
                                   ? shell_of(s.vertices, faces)
                                   : solid_of(s.vertices, s.inertia == MeshInertia::convex ? hull : faces,
                                              s.inertia == MeshInertia::legacy);

  CompiledMesh compiled{.pos = {0, 0, 0}, .quat = {1, 0, 0, 0}, .volume = 0, .inertia = Sym3<double>::zero()};
  if (solid.mass > kTinyVolume) {
    compiled.pos = solid.center;
    compiled.quat = principal_frame(solid.inertia);
    compiled.volume = solid.mass;
    compiled.inertia = congruence(transpose(to_matrix(compiled.quat)), solid.inertia);
  } else if (gives_mass) {
    fail(who,
         solid.mass < 0 ? "its volume is negative: its faces look inward"
                        : "it has no volume to give a body mass",
         s.where, "give the body an inertial element, or the geom mass=\"0\"");
  }

  mesh.name = s.name;
  mesh.faces = faces;
  for (const Vector& v : s.vertices)
    mesh.vertices.push_back(to_array(rotate_back(compiled.quat, v - compiled.pos)));
  std::vector<int> number(s.vertices.size(), -1);  // of a vertex in the hull
  for (auto& f : hull) {
    for (int& i : f) {
      int& n = number[i];
      if (n < 0) {
        n = int(mesh.hull_vertices.size());
        mesh.hull_vertices.push_back(mesh.vertices[i]);
      }
      i = n;
    }
  }
  mesh.hull_faces = std::move(hull);
  return compiled;
}

FittedShape fit_shape(GeomType type, const CompiledMesh& compiled, const Mesh& mesh, bool around_box) {
  Double3 low = mesh.vertices.front(), high = low, half;
  for (std::size_t i = 0; i < 3; ++i) {
    for (const Double3& v : mesh.vertices) {
      low[i] = std::min(low[i], v[i]);
      high[i] = std::max(high[i], v[i]);
    }
  }
  if (around_box) {
    for (std::size_t i = 0; i < 3; ++i) half[i] = (high[i] - low[i]) / 2;
  } else {  // of the box with the same mass and principal moments
    const double moments[3] = {compiled.inertia.xx, compiled.inertia.yy, compiled.inertia.zz};
    const double sum = moments[0] + moments[1] + moments[2];
    for (std::size_t i = 0; i < 3; ++i)
      half[i] = 0.5 * std::sqrt(std::max(0.0, 6 * (sum - 2 * moments[i]) / compiled.volume));
  }
  FittedShape fit{{0, 0, 0}, half};
  if (around_box) fit.center = {(high[0] + low[0]) / 2, (high[1] + low[1]) / 2, (high[2] + low[2]) / 2};
  const double radius = around_box ? std::max(half[0], half[1]) : (half[0] + half[1]) / 2;
  switch (type) {
    case GeomType::sphere:
      fit.size = {around_box ? std::max(radius, half[2]) : (half[0] + half[1] + half[2]) / 3, 0, 0};
      break;
    case GeomType::cylinder:
      fit.size = {radius, half[2], 0};
      break;
    case GeomType::capsule:
      fit.size = {radius, around_box ? half[2] - radius : std::max(0.0, half[2] - radius / 2), 0};
      break;
    default:
      break;
  }
  return fit;
}

void compile_assets(Compilation& c, std::vector<CompiledMesh>& meshes) {
  std::unordered_map<std::string, Use> uses;
  collect_uses(c.spec.compiler, c.spec.world, uses);
  for (const MeshSpec& s : c.spec.meshes) {
    c.meshes.add(s.name, int(c.model.meshes.size()), s.where);
    const Use use = uses[s.name];
    meshes.push_back(compile_mesh(s, use.collides, use.gives_mass, c.model.meshes.emplace_back()));
  }
  for (const HeightFieldSpec& s : c.spec.hfields) {
    const std::string who = title("hfield", s);
    if (s.rows < 2 || s.columns < 2) fail(who, "needs at least two rows and two columns", s.where);
    if (s.elevation.size() != std::size_t(s.rows) * std::size_t(s.columns))
      fail(who, "has " + std::to_string(s.elevation.size()) + " elevations instead of rows x columns",
           s.where);
    for (const double size : s.size) {
      if (!(size > 0)) fail(who, "its four sizes must be positive", s.where);
    }
    c.hfields.add(s.name, int(c.model.heightfields.size()), s.where);
    Heightfield h{.name = s.name, .rows = s.rows, .columns = s.columns, .size = s.size, .data = s.elevation};
    const auto [low, high] = std::minmax_element(h.data.begin(), h.data.end());
    const double base = *low, span = *high - *low;
    for (double& z : h.data) z = span > 0 ? (z - base) / span : z - base;
    c.model.heightfields.push_back(std::move(h));
  }
}

}  // namespace costate::rigid::stages
