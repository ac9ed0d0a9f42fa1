// costate.soft: soft bodies and cloth, and their meshes, from numbers instead of files.
#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "any_system.h"
#include "arrays.h"
#include "costate/core/text.h"
#include "costate/coupled/carrier.h"
#include "costate/io/model/load_model.h"
#include "costate/io/text/cell_mesh.h"
#include "costate/soft/contact/pair_derivatives.h"
#include "costate/soft/contact/self_contact.h"
#include "costate/soft/laws/law.h"
#include "costate/soft/laws/rod_law.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "dictionary_reader.h"
#include "module.h"
#include "rows.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using SystemHandle = std::shared_ptr<AnySystem>;

template <std::size_t N>
int choice(const std::string& word, const char* what, const char* const (&words)[N]) {
  std::string all;
  for (std::size_t i = 0; i < N; ++i) {
    if (word == words[i]) return int(i);
    all += (all.empty() ? "" : ", ") + std::string(words[i]);
  }
  throw Error({std::string(what) + " = '" + word + "'", {}, "use one of: " + all});
}

std::array<double, 3> three(const ArrayLike& given, const char* what) {
  const std::vector<double> values = to_vector<double>(given, what);
  if (values.size() != 3)
    throw Error(std::string(what) + " has three numbers, not " + std::to_string(values.size()));
  return {values[0], values[1], values[2]};
}

soft::SoftMaterial material_of(nb::handle given, std::size_t index) {
  soft::SoftMaterial m;
  m.name = "material" + std::to_string(index);
  DictionaryReader reader(given, "a material");
  reader.read("name", m.name);
  reader.read("law", m.law);
  std::vector<soft::LawNumber> numbers;
  for (const auto* law : soft::solid_laws())
    if (law->name() == m.law) numbers = law->numbers();
  for (const auto* law : soft::membrane_laws())
    if (law->name() == m.law) numbers = law->numbers();
  for (const auto* law : soft::rod_laws())
    if (law->name() == m.law) numbers = law->numbers();
  for (const soft::LawNumber& n : numbers) {
    double value = n.value;
    reader.read(n.name, value);
    m.numbers[n.name] = value;
  }
  reader.read("per_element", m.per_element);
  reader.read("driven", m.driven);
  reader.read("density", m.density);
  reader.read("viscosity", m.viscosity);
  reader.read("thickness", m.thickness);
  reader.read("warp", m.warp);
  reader.read("bending", m.bending);
  reader.read("bending_viscosity", m.bending_viscosity);
  reader.read("yield_curvature", m.yield_curvature);
  reader.finish();
  return m;
}

soft::Part part_of(nb::handle given, std::size_t index) {
  soft::Part part{.name = "part" + std::to_string(index)};
  std::string cells = soft::kCellNames[0];
  DictionaryReader reader(given, "a part");
  reader.read("name", part.name);
  reader.read("cells", cells);
  part.cells = soft::Cells(choice(cells, "cells", soft::kCellNames));
  reader.read_indices("vertices", std::size_t(soft::kCellVertices[int(part.cells)]), part.vertices);
  reader.read("material", part.material);
  reader.read("pressure", part.pressure);
  reader.read("pressure_driven", part.pressure_driven);
  reader.finish();
  return part;
}

soft::Obstacle obstacle_of(nb::handle given, std::size_t index) {
  soft::Obstacle o{.name = "obstacle" + std::to_string(index)};
  std::string shape = "plane";
  std::vector<double> place(o.place.begin(), o.place.end()), normal(o.normal.begin(), o.normal.end());
  DictionaryReader reader(given, "an obstacle");
  reader.read("name", o.name);
  reader.read("shape", shape);
  reader.read("place", place);
  reader.read("normal", normal);
  reader.read("radius", o.radius);
  reader.read("friction", o.friction);
  reader.finish();
  constexpr const char* kShapes[] = {"plane", "ball"};
  o.shape = soft::Obstacle::Shape(choice(shape, "shape", kShapes));
  if (place.size() != 3 || normal.size() != 3)
    throw Error("place and normal of an obstacle have three numbers");
  std::copy(place.begin(), place.end(), o.place.begin());
  std::copy(normal.begin(), normal.end(), o.normal.begin());
  return o;
}

SystemHandle bodies(const ArrayLike& rest, const nb::list& parts, const nb::list& materials,
                    const nb::list& holds, const ArrayLike& x, const ArrayLike& v, const ArrayLike& gravity,
                    double drag, const ArrayLike& wind, double wind_drag, bool wind_driven, double dt,
                    const std::string& integrator, double tolerance, int max_iterations,
                    const nb::list& obstacles, const nb::object& contact,
                    const std::optional<std::filesystem::path>& model,
                    const std::optional<std::string>& keyframe) {
  soft::SoftModel m;
  if (keyframe && !model) throw Error({"keyframe without a model", {}, "add model='gripper.xml'"});
  if (model) {
    rigid::Model robot = rigid::load(model->string());
    robot.options.timestep = dt;
    const auto start = keyframe ? rigid::initial_state(robot, *keyframe) : rigid::initial_state(robot);
    m.carrier = coupled::carrier({.model = robot, .initial_state = start});
  }
  m.rest = to_rows(rest, "rest", 3);
  for (nb::handle given : parts) m.parts.push_back(part_of(given, m.parts.size()));
  for (nb::handle given : materials) m.materials.push_back(material_of(given, m.materials.size()));
  for (nb::handle given : holds) {
    soft::Hold hold{.name = "hold" + std::to_string(m.holds.size())};
    DictionaryReader reader(given, "a hold");
    reader.read("name", hold.name);
    reader.read_indices("vertices", 1, hold.vertices);
    reader.read("driven", hold.driven);
    reader.read("turns", hold.turns);
    reader.read("body", hold.body);
    reader.finish();
    m.holds.push_back(hold);
  }
  if (!gravity.is_none()) m.gravity = three(gravity, "gravity");
  if (!wind.is_none()) m.wind = three(wind, "wind");
  m.drag = drag, m.wind_drag = wind_drag, m.wind_driven = wind_driven, m.dt = dt;
  m.integrator = soft::Integrator(choice(integrator, "integrator", soft::kIntegratorNames));
  m.tolerance = tolerance, m.max_iterations = max_iterations;
  for (nb::handle given : obstacles) m.obstacles.push_back(obstacle_of(given, m.obstacles.size()));
  if (!contact.is_none()) {
    DictionaryReader reader(contact, "contact");
    reader.read("self", m.contact.self);
    reader.read("area_weighted", m.contact.area_weighted);
    reader.read("distance", m.contact.distance);
    reader.read("stiffness", m.contact.stiffness);
    reader.read("friction", m.contact.friction);
    reader.read("slip_speed", m.contact.slip_speed);
    reader.finish();
  }
  (void)soft::soft_bodies<double>(m);  // says what is wrong now, not at the first rollout
  const auto given = [](const ArrayLike& a, const char* what) {
    return a.is_none() ? std::vector<double>{} : to_rows(a, what, 3);
  };
  return std::make_shared<AnySystem>(
      "soft_bodies", [m](std::int64_t) { return SystemPtr<double>(soft::soft_bodies<double>(m)); },
      [m](std::int64_t) { return SystemPtr<float>(soft::soft_bodies<float>(m)); },
      soft::soft_state(m, given(x, "x"), given(v, "v")));
}

// (vertices, cells) as lists of rows: numpy.array makes arrays of them.
std::pair<std::vector<std::array<double, 3>>, std::vector<std::vector<int>>> rows(const soft::SoftMesh& mesh,
                                                                                  int nodes) {
  std::pair<std::vector<std::array<double, 3>>, std::vector<std::vector<int>>> r;
  for (std::size_t i = 0; i < mesh.vertices.size(); i += 3)
    r.first.push_back({mesh.vertices[i], mesh.vertices[i + 1], mesh.vertices[i + 2]});
  for (auto at = mesh.cells.begin(); at != mesh.cells.end(); at += nodes)
    r.second.emplace_back(at, at + nodes);
  return r;
}

constexpr std::pair<const char*, std::vector<int> io::CellMesh::*> kFileCells[] = {
    {"triangles", &io::CellMesh::triangles},
    {"tetrahedra", &io::CellMesh::tetrahedra},
    {"quadratic_tetrahedra", &io::CellMesh::quadratic_tetrahedra},
    {"hexahedra", &io::CellMesh::hexahedra}};
constexpr std::size_t kFileNodes[] = {3, 4, 10, 8};

nb::dict read_mesh(const std::string& path) {
  const io::CellMesh mesh = io::read_cells(path);
  std::vector<double> vertices;
  for (const auto& p : mesh.vertices) vertices.insert(vertices.end(), {p.x, p.y, p.z});
  nb::dict found;
  found["vertices"] = to_numpy(std::move(vertices), {mesh.vertices.size(), 3});
  for (std::size_t k = 0; k < 4; ++k) {
    const std::vector<int>& cells = mesh.*kFileCells[k].second;
    if (cells.empty()) continue;
    std::vector<std::int64_t> all(cells.begin(), cells.end());
    found[kFileCells[k].first] = to_numpy(std::move(all), {cells.size() / kFileNodes[k], kFileNodes[k]});
  }
  return found;
}
void write_mesh(const std::string& path, const ArrayLike& vertices, const ArrayLike& cells,
                const std::string& kind) {
  io::CellMesh mesh;
  const std::vector<double> x = to_rows(vertices, "vertices", 3);
  for (std::size_t i = 0; i + 2 < x.size(); i += 3) mesh.vertices.push_back({x[i], x[i + 1], x[i + 2]});
  constexpr const char* kKinds[] = {"triangles", "tetrahedra", "quadratic_tetrahedra", "hexahedra"};
  const int k = choice(kind, "kind", kKinds);
  const std::vector<int> all = to_indices(cells, kKinds[k], kFileNodes[k]);
  for (const int i : all)
    if (i < 0 || std::size_t(i) >= mesh.vertices.size())
      throw Error("a cell names vertex " + std::to_string(i) + ", but there are " +
                  std::to_string(mesh.vertices.size()));
  mesh.*kFileCells[k].second = all;
  io::write_cells(mesh, path);
}

struct GivenPair {
  soft::TouchingPair pair;
  soft::Four x;
  soft::PairNumbers<double> numbers;
};
soft::Four four(const ArrayLike& points, const char* what) {
  const std::vector<double> given = to_vector<double>(points, what);
  if (given.size() != 12) throw Error(std::string(what) + " of a pair are four points of three numbers");
  return soft::four({{0, 1, 2, 3}, false, soft::Closest::face}, given.data());
}
GivenPair given_pair(const ArrayLike& points, bool edges, double distance, double stiffness,
                     double parallel) {
  GivenPair r{
      {{0, 1, 2, 3}, edges, soft::Closest::face}, four(points, "points"), {stiffness, distance, parallel}};
  r.pair.kind = soft::closest_of(edges, r.x.x);
  return r;
}
nb::dict contact_pair(const ArrayLike& points, bool edges, double distance, double stiffness,
                      double parallel) {
  const GivenPair at = given_pair(points, edges, distance, stiffness, parallel);
  const auto state = soft::pair_state(edges, at.pair.kind, at.x.x, parallel);
  Vec3<double> g[4];
  soft::pair_gradient(edges, at.pair.kind, at.x.x, at.numbers, g);
  std::vector<double> gradient, H(144);
  for (const auto& v : g) gradient.insert(gradient.end(), {v.x, v.y, v.z});
  soft::pair_matrix(at.pair, at.x, at.numbers, false, H.data());
  nb::dict found;
  found["distance"] = state.d;
  found["weights"] = to_numpy(std::vector<double>(state.w, state.w + 4));
  found["energy"] = soft::pair_energy(edges, at.pair.kind, at.x.x, at.numbers);
  found["gradient"] = to_numpy(std::move(gradient), {4, 3});
  found["hessian"] = to_numpy(std::move(H), {12, 12});
  found["normal_force"] = soft::pair_lag(edges, at.pair.kind, at.x.x, at.numbers).force;
  return found;
}
Array contact_friction(const ArrayLike& points, const ArrayLike& moved, double friction, double slip,
                       bool edges, double distance, double stiffness, double parallel) {
  const GivenPair at = given_pair(points, edges, distance, stiffness, parallel);
  const auto lag = soft::pair_lag(edges, at.pair.kind, at.x.x, at.numbers);
  const Vec3<double> u = soft::pair_slip(lag, four(moved, "displacements").x);
  const double k = -friction * lag.force * soft::slip(norm(u), slip).over;
  std::vector<double> force;
  for (const double w : lag.w) force.insert(force.end(), {k * w * u.x, k * w * u.y, k * w * u.z});
  return to_numpy(std::move(force), {4, 3});
}

// All pairs of a surface that touch.
nb::dict contact_surface(const ArrayLike& rest, const ArrayLike& triangles, const ArrayLike& x,
                         double distance, double stiffness, bool area_weighted) {
  std::vector<double> p = to_rows(rest, "rest", 3);
  const std::size_t n3 = p.size();
  const std::vector<double> z = x.is_none() ? p : to_rows(x, "x", 3);
  if (z.size() != n3) throw Error("x and rest have as many vertices");
  const std::vector<int> faces = to_indices(triangles, "triangles", 3);
  for (const int v : faces)
    if (v < 0 || 3 * std::size_t(v) >= n3)
      throw Error("a triangle names vertex " + std::to_string(v) + ", but there are " +
                  std::to_string(n3 / 3));
  const soft::ContactAreas areas(int(n3 / 3), faces, {});
  std::vector<double> of(std::size_t(areas.count())), gradient(n3, 0.0);
  areas.of(p.data(), of.data());
  p.insert(p.end(), {stiffness, distance, 0, 1, 1});  // no friction
  const auto k = std::int64_t(n3);
  const soft::SelfContact contact(std::vector<char>(n3 / 3, 1), faces, {}, {p.data(), n3}, distance,
                                  {0, k, k + 1, k + 2, k + 3, k + 4}, area_weighted ? &areas : nullptr);
  soft::SelfContact::Scratch s;
  soft::At at{z.data(), z.data(), z.data(), p.data(), nullptr, 0, nullptr};
  at.areas = of.data();
  contact.find(z.data(), nullptr, p.data(), s);
  nb::dict found;
  found["energy"] = contact.energy(at, s);
  contact.residual(at, gradient.data(), s);
  found["pairs"] = s.touching.size();
  found["gradient"] = to_numpy(std::move(gradient), {n3 / 3, 3});
  return found;
}

void bind_bodies(nb::module_& s) {
  s.def(
      "bodies", &bodies, "rest"_a, "parts"_a, "materials"_a, nb::kw_only(), "holds"_a = nb::list(),
      "x"_a = nb::none(), "v"_a = nb::none(), "gravity"_a = nb::none(), "drag"_a = 0.0, "wind"_a = nb::none(),
      "wind_drag"_a = 0.0, "wind_driven"_a = false, "dt"_a = 0.01, "integrator"_a = "euler",
      "tolerance"_a = 1e-9, "max_iterations"_a = 100, "obstacles"_a = nb::list(), "contact"_a = nb::none(),
      "model"_a = nb::none(), "keyframe"_a = nb::none(),
      "Soft bodies and cloth: implicit steps with exact derivatives.\n\n"
      "rest        (vertices, 3), the shape without stress; x, v: where the bodies start, how fast\n"
      "parts       [{'name': 'flag', 'cells': 'triangles', 'vertices': (cells, 3), 'material': 0}, ...]; "
      "cells: "
      "tetrahedra,\n"
      "            quadratic_tetrahedra, hexahedra, triangles, rods\n"
      "materials   [{'name': 'cotton', 'law': 'stvk', 'E': 1e5, 'nu': 0.3, 'density': 0.2, 'thickness': "
      "1e-3, "
      "'bending': 1e-5}, ...];\n"
      "            'yield_curvature': 30 makes triangles keep creases where they are bent further\n"
      "            laws of solids: neo_hookean, neo_hookean_j, neo_hookean_simple, neo_hookean_stable, "
      "fixed_corotated,\n"
      "            corotated, arap, stvk, hencky, mooney_rivlin (c1, c2, bulk), fung (c, b1, b2, bulk); of "
      "triangles: "
      "stvk,\n"
      "            neo_hookean, arap, limited (limit, stiffness), orthotropic (E1, E2, nu, G) and "
      "baraff_witkin "
      "(stretch_u, stretch_v, shear) along\n            'warp'; of rods: rod (E, nu, a, b), rod_stiffness. "
      "fibre (k1, k2) and muscle (stiffness, "
      "contraction) lie along (ax, ay, az), "
      "in cells that\n            another part has too. density is per volume, of triangles per area, of "
      "rods per length; "
      "'driven': "
      "'contraction' makes a number\n            a control as well\n"
      "holds       [{'name': 'corner', 'vertices': [0, 5], 'driven': True, 'turns': True}, ...]: driven ones "
      "have a velocity\n            as a control, turning ones a spin. A part with 'material': -1 is an "
      "obstacle: "
      "all its vertices are held\n"
      "obstacles   [{'name': 'floor', 'shape': 'plane', 'place': [0, 0, 0], 'normal': [0, 0, 1], 'friction': "
      "0.3}, "
      "...]; or\n"
      "            'shape': 'ball' with a 'radius'\n"
      "contact     {'self': True, 'distance': 1e-3, 'stiffness': 1e4, 'friction': 0.3, 'slip_speed': 0.01,\n"
      "            'area_weighted': True}: barriers count by their area, and stiffness is in Pa/m\n"
      "integrator  'euler', 'bdf2', 'midpoint', or 'still': a step goes to the state of rest\n"
      "tolerance   of the residual of a step, relative to the forces: about the error of a gradient\n"
      "model       a file of rigid bodies (MJCF, URDF), which starts at `keyframe`: a hold with 'body': "
      "'finger' "
      "rides on\n            that body, which feels what it feels\n\n"
      "state 'x', 'v'; control 'hold/<name>/velocity', 'drive/wind'; parameters 'rest', 'gravity', "
      "'material/<name>/E', "
      "...");
}

void bind_meshes(nb::module_& s) {
  s.def(
      "cloth_mesh",
      [](std::array<double, 2> size, std::array<int, 2> count) {
        return rows(soft::cloth_mesh(size, count), 3);
      },
      "size"_a, "count"_a,
      "Vertices and triangles of a rectangle with a corner at the origin, in the plane of x and y.");
  s.def(
      "block_mesh",
      [](std::array<double, 3> size, std::array<int, 3> count, const std::string& cells) {
        const auto kind = soft::Cells(choice(cells, "cells", soft::kCellNames));
        return rows(soft::block_mesh(kind, size, count), soft::kCellVertices[int(kind)]);
      },
      "size"_a, "count"_a, "cells"_a = "tetrahedra",
      "Vertices and cells of a block with a corner at the origin.");
  s.def(
      "ball_mesh", [](double radius, int count) { return rows(soft::ball_mesh(radius, count), 3); },
      "radius"_a, "count"_a, "Vertices and triangles of a sphere around the origin: 4 count^2 + 2 vertices.");
  s.def(
      "shirt_mesh",
      [](double width, int count, double depth) { return rows(soft::shirt_mesh(width, count, depth), 3); },
      "width"_a, "count"_a, "depth"_a,
      "Vertices and triangles of a shirt: two panels sewn at shoulders, sides and sleeves, upright, its hem "
      "at "
      "z = 0.\ncount: squares per fifth of the width (4: 1390 vertices); depth: how far each panel bulges.");
  s.def(
      "rod_mesh",
      [](const ArrayLike& points, std::array<double, 3> towards, double beside, bool closed) {
        return rows(soft::rod_mesh(to_rows(points, "points", 3), towards, beside, closed), 3);
      },
      "points"_a, "towards"_a, "beside"_a, "closed"_a = false,
      "Vertices and segments of a rod through points (n, 3): the points first, then a frame point per "
      "segment,\n`beside` from its middle; a segment is (end, end, frame point). The first frame point lies "
      "`towards` that\ndirection, the others follow without a twist.");
  s.def(
      "tube_mesh",
      [](const ArrayLike& points, const std::vector<double>& radii, std::array<int, 2> count) {
        return rows(soft::tube_mesh(to_rows(points, "points", 3), radii, count), 3);
      },
      "points"_a, "radii"_a, "count"_a,
      "Vertices and triangles of a tube along points (n, 3) with a radius at each; 0 at an end closes it.\n"
      "count: cells around, cells along.");
  s.def("read_mesh", &read_mesh, "path"_a,
        "Vertices and cells of a file: {'vertices': (n, 3), and 'triangles', 'tetrahedra',\n"
        "'quadratic_tetrahedra' or 'hexahedra'}. OBJ, PLY, STL; MSH of Gmsh (text, 2.2 and 4.1).");
  s.def("write_mesh", &write_mesh, "path"_a, "vertices"_a, "cells"_a, "kind"_a = "triangles",
        "Cells of one kind to a file: .obj, .ply, .stl (triangles), or .msh of Gmsh (all kinds).");
}

void bind_contact(nb::module_& s) {
  s.def("contact_surface", &contact_surface, "rest"_a, "triangles"_a, "x"_a = nb::none(), nb::kw_only(),
        "distance"_a = 1e-3, "stiffness"_a = 1.0, "area_weighted"_a = false,
        "The barriers of all pairs of a surface that touch at positions x (n, 3): {'energy', 'gradient' (n, "
        "3),\n"
        "'pairs': their number}. rest: the shape without stress, which areas and nearly parallel edges are "
        "of.");
  s.def(
      "contact_pair", &contact_pair, "points"_a, nb::kw_only(), "edges"_a = false, "distance"_a = 1e-3,
      "stiffness"_a = 1.0, "parallel"_a = 0.0,
      "The barrier between a point and a triangle (points: the point, three corners), or between two edges\n"
      "(points: the ends of one, the ends of the other), as contact uses it: {'distance', 'weights',\n"
      "'energy', 'gradient' (4, 3), 'hessian' (12, 12), 'normal_force'}.\n\n"
      "distance    where the barrier begins, m; stiffness: J/m^2\n"
      "parallel    of edges: below this |a x b|^2 the barrier is taken away, m^4; contact takes\n"
      "            1e-3 |a|^2 |b|^2 of the rest shape");
  s.def(
      "contact_friction", &contact_friction, "points"_a, "displacements"_a, "friction"_a, "slip"_a,
      nb::kw_only(), "edges"_a = false, "distance"_a = 1e-3, "stiffness"_a = 1.0, "parallel"_a = 0.0,
      "Forces of friction (4, 3) on the points of a pair that moved by `displacements` in a step that began "
      "at\n`points`. Below a length `slip` (slip_speed dt) friction sticks.");
}

}  // namespace

void bind_soft(nb::module_& m) {
  auto s = m.def_submodule("soft");
  bind_bodies(s);
  bind_meshes(s);
  bind_contact(s);
}

}  // namespace costate::python
