// The section of incompressible flow (costate/fluid/flow.h): [flow] says where, with which viscosity, force
// and sides; [[obstacles]] and [[scalars]] what is in it. Numbers per face or cell are numbers, or formulas
// of x, y and z, the place of the face or the middle of the cell. [start] gives the fields in the same way.
// The velocity and the spin of a driven obstacle are controls. A [model] swims: costate/coupled/swimmer.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "costate/ad/executable.h"
#include "costate/core/aligned_buffer.h"
#include "costate/core/text.h"
#include "costate/coupled/swimmer.h"
#include "costate/fluid/flow.h"
#include "costate/fluid/flow_places.h"
#include "costate/fluid/grid/graded.h"
#include "costate/fluid/obstacles/outline.h"
#include "costate/io/scene/section.h"
#include "costate/io/scene/sections/bodies.h"
#include "costate/io/scene/sections/flow_picture.h"
#include "costate/io/text/mesh_file.h"
#include "costate/study/field_quantities.h"

namespace costate::io {
namespace {

constexpr long kMostCells = 4096;  // along one side
constexpr std::int64_t kMostInAll = std::int64_t(1) << 26;
using Vec3 = std::array<double, 3>;
using Places = std::vector<Vec3>;

std::vector<double> at_places(const SceneFile& file, const TomlValue& v, const Places& places) {
  const ad::Executable code(parse_formula(file.document(), v, {{"x", 1}, {"y", 1}, {"z", 1}}));
  AlignedBuffer<std::byte> scratch;
  scratch.reserve(std::int64_t(code.scratch_bytes<double>()));
  std::vector<double> values(places.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    const ad::InputBlock<double> in[] = {{&places[k][0]}, {&places[k][1]}, {&places[k][2]}};
    const ad::OutputBlock<double> out[] = {{&values[k]}};
    code.run<double>(in, out, 1, {scratch.data(), std::size_t(scratch.capacity())});
    if (!std::isfinite(values[k])) file.fail(v.place, "this is not finite at number " + std::to_string(k));
  }
  return values;
}
fluid::CellValues values_of(const SceneFile& file, const TomlValue& v, const char* what,
                            const Places& places) {
  if (v.is(TomlValue::Kind::string)) return at_places(file, v, places);
  return file.number(v, what);
}
template <class Kind>
Kind chosen(const SceneFile& file, const TomlValue& v, const char* what,
            const std::map<std::string, Kind>& kinds) {
  const auto found = kinds.find(file.string(v, what));
  std::string list;
  for (const auto& [name, kind] : kinds) list += (list.empty() ? "" : ", ") + name;
  if (found == kinds.end())
    file.fail(v.place, std::string("there is no ") + what + " '" + v.text + "'", "there is " + list);
  return found->second;
}
std::size_t side_number(const SceneFile& file, Place place, const std::string& name, std::size_t dim) {
  for (std::size_t side = 0; side < 2 * dim; ++side)
    if (name == fluid::kSideNames[side]) return side;
  file.fail(
      place, "there is no side '" + name + "'",
      dim == 2 ? "there is west, east, south, north" : "there is west, east, south, north, bottom, top");
}

// Of the cells along an axis: a number, one per cell, or pairs of a place and how wide cells are there.
void read_width(const SceneFile& file, const TomlValue& v, std::size_t axis, fluid::FlowOptions& o) {
  if (!v.is(TomlValue::Kind::array)) {
    o.width[axis] = file.number(v, "width");
    if (!(o.width[axis] > 0)) file.fail(v.place, "the width of a cell must be positive");
  } else if (!v.items.empty() && v.items[0].is(TomlValue::Kind::array)) {
    std::vector<std::array<double, 2>> at;
    for (const TomlValue& pair : v.items) {
      const auto x = file.vector(pair, "a place and a width", 2);
      at.push_back({x[0], x[1]});
    }
    o.widths[axis] = file.told_at(v.place, [&] { return fluid::graded_widths(at, o.cells[axis]); });
  } else {
    o.widths[axis] = file.numbers(v, "width");
    if (std::int64_t(o.widths[axis].size()) != o.cells[axis])
      file.fail(v.place,
                "an axis of " + std::to_string(o.cells[axis]) + " cells has " +
                    std::to_string(o.widths[axis].size()) + " widths",
                "give one width per cell");
  }
}

void read_cells(const SceneFile& file, const TomlValue& table, fluid::FlowOptions& o) {
  const TomlValue& cells =
      file.required(table, "cells", "[flow]", "add the number of cells: cells = [96, 64], or three numbers");
  const std::size_t dim = file.numbers(cells, "cells").size();
  if (dim != 2 && dim != 3) file.fail(cells.place, "cells are two or three numbers: [96, 64]");
  o.cells.clear();
  std::int64_t all = 1;
  for (const TomlValue& n : cells.items) all *= o.cells.emplace_back(file.count(n, "cells", kMostCells));
  if (all > kMostInAll)
    file.fail(cells.place, "a flow in a file has at most " + std::to_string(kMostInAll) + " cells");
  const TomlValue& width = file.required(table, "width", "[flow]", "add the width of a cell: width = 0.01");
  const bool per_axis = width.is(TomlValue::Kind::array);
  if (per_axis && width.items.size() != dim)
    file.fail(width.place, "the width of a cell is one number, or one per axis");
  for (std::size_t a = 0; a < dim; ++a) read_width(file, per_axis ? width.items[a] : width, a, o);
}

// sides = {west = {velocity = ["4*y*(1 - y)", 0]}, east = "outflow", south = "wall", north = "slip"}
void read_sides(const SceneFile& file, const TomlValue& table, fluid::FlowOptions& o) {
  const TomlValue* sides = table.find("sides");
  using Kind = fluid::Side::Kind;
  const std::map<std::string, Kind> kinds = {{"periodic", Kind::periodic},
                                             {"wall", Kind::velocity},
                                             {"slip", Kind::slip},
                                             {"outflow", Kind::outflow}};
  if (!sides) return;
  file.table(*sides, "sides");
  // Kinds first: where faces lie depends on which axes wrap.
  for (std::size_t i = 0; i < sides->keys.size(); ++i) {
    const TomlValue& v = sides->items[i];
    fluid::Side& side = o.sides[side_number(file, sides->key_places[i], sides->keys[i], o.cells.size())];
    side.kind = v.is(TomlValue::Kind::string) ? chosen(file, v, "kind of side", kinds) : Kind::velocity;
  }
  for (std::size_t i = 0; i < sides->keys.size(); ++i) {
    const TomlValue& v = sides->items[i];
    if (v.is(TomlValue::Kind::string)) continue;
    file.require_known_keys(file.table(v, "a side"), {"velocity"}, "a side");
    const TomlValue& velocity =
        file.required(v, "velocity", "a side", "write west = {velocity = [1.0, 0.0]}");
    if (!velocity.is(TomlValue::Kind::array) || velocity.items.size() != o.cells.size())
      file.fail(velocity.place, "a velocity has a number or a formula per axis");
    const std::size_t number = side_number(file, sides->key_places[i], sides->keys[i], o.cells.size());
    for (std::size_t c = 0; c < o.cells.size(); ++c)
      o.sides[number].velocity[c] =
          values_of(file, velocity.items[c], "velocity", fluid::side_places(o, number, int(c)));
  }
}

// Depths of all cells: outline = [[x, y], ...], spline = control points, mesh = a file, or level = a formula.
std::optional<std::vector<double>> read_depths(const SceneFile& file, const TomlValue& table,
                                               const fluid::FlowOptions& o) {
  const Places places = fluid::cell_places(o);
  const auto points = [&](const TomlValue& v) {
    std::vector<double> numbers;
    if (o.cells.size() != 2) file.fail(v.place, "an outline is for two dimensions", "take a mesh");
    if (!v.is(TomlValue::Kind::array)) file.fail(v.place, "write points: [[0.1, 0.2], [0.3, 0.2], ...]");
    for (const TomlValue& point : v.items) {
      const auto x = file.vector(point, "a point", 2);
      numbers.insert(numbers.end(), {x[0], x[1]});
    }
    return numbers;
  };
  if (const TomlValue* v = table.find("level")) return at_places(file, *v, places);
  if (const TomlValue* v = table.find("outline"))
    return file.told_at(v->place, [&] { return fluid::outline_depths(places, points(*v)); });
  if (const TomlValue* v = table.find("spline"))
    return file.told_at(v->place,
                        [&] { return fluid::outline_depths(places, fluid::spline_corners(points(*v), 8)); });
  const TomlValue* v = table.find("mesh");
  if (!v) return {};
  if (o.cells.size() != 3) file.fail(v->place, "a mesh is for three dimensions", "take an outline");
  return file.told_at(v->place, [&] {
    const std::string path = file.beside(file.string(*v, "mesh"));
    const TriangleMesh mesh = parse_mesh(read_text(path), path);
    std::vector<double> vertices;
    std::vector<std::uint32_t> triangles;
    for (const auto& x : mesh.vertices) vertices.insert(vertices.end(), {x[0], x[1], x[2]});
    for (const auto& f : mesh.faces)
      for (const int corner : f) triangles.push_back(std::uint32_t(corner));
    return fluid::mesh_depths(places, vertices, triangles);
  });
}
// free = {mass = 0.1, inertia = 0.001, gravity = [0, -9.8], spring = [0, 0, 1], damper = ...,
//         axes = [1, 1, 1]}
fluid::Obstacle::Free read_free(const SceneFile& file, const TomlValue& v) {
  file.require_known_keys(file.table(v, "free"), {"mass", "inertia", "gravity", "spring", "damper", "axes"},
                          "free");
  fluid::Obstacle::Free f;
  f.mass = file.not_negative_or(v, "mass", 0), f.inertia = file.not_negative_or(v, "inertia", 0);
  if (const TomlValue* g = v.find("gravity")) {
    const auto gravity = file.vector(*g, "gravity", 2);
    f.gravity = {gravity[0], gravity[1]};
  }
  if (const TomlValue* k = v.find("spring")) f.spring = file.vector(*k, "spring", 3);
  if (const TomlValue* c = v.find("damper")) f.damper = file.vector(*c, "damper", 3);
  if (const TomlValue* a = v.find("axes")) {
    const auto axes = file.vector(*a, "axes", 3);
    for (std::size_t i = 0; i < 3; ++i) f.axes[i] = axes[i] != 0;
  }
  return f;
}

void read_obstacles(const SceneFile& file, fluid::FlowOptions& o, Draft& draft, std::size_t& controls) {
  const int dim = int(o.cells.size());
  using Shape = fluid::Obstacle::Shape;
  for (const TomlValue& table : file.tables("obstacles", 100)) {
    file.require_known_keys(table,
                            {"name", "shape", "center", "size", "angle", "velocity", "spin", "driven",
                             "moves", "mask", "core", "level", "mesh", "free", "rate", "outline", "spline"},
                            "[[obstacles]]");
    fluid::Obstacle b;
    b.name = file.name_of(table, "an obstacle", "disc");
    const auto depths = read_depths(file, table, o);
    if (const TomlValue* v = table.find("shape"); v && !depths)
      b.shape = chosen<Shape>(file, *v, "shape",
                              {{"ball", Shape::ball},
                               {"ellipsoid", Shape::ellipsoid},
                               {"fourier", Shape::fourier},
                               {"box", Shape::box},
                               {"capsule", Shape::capsule}});
    b.center = file.vector(file.required(table, "center", "[[obstacles]]", "add center = [0.5, 0.5]"),
                           "center", dim);
    if (depths)
      b.shape = Shape::level, b.size = *depths;
    else
      b.size =
          file.one_or_more(file.required(table, "size", "[[obstacles]]", "add size = 0.1, a radius"), "size");
    if (const TomlValue* v = table.find("free")) b.free = read_free(file, *v);
    b.angle = file.number_or(table, "angle", 0);
    using Core = fluid::Obstacle::Core;
    if (const TomlValue* v = table.find("core"))
      b.core = chosen<Core>(file, *v, "core",
                            {{"firm", Core::firm}, {"soft", Core::soft}, {"surface", Core::surface}});
    b.mask = file.positive_or(table, "mask", 1);
    if (const TomlValue* v = table.find("velocity")) b.velocity = file.vector(*v, "velocity", dim);
    if (const TomlValue* v = table.find("spin")) {
      if (dim == 2)
        b.spin[2] = file.number(*v, "spin");
      else
        b.spin = file.vector(*v, "spin", 3);
    }
    if (const TomlValue* v = table.find("driven")) b.driven = file.boolean(*v, "driven");
    if (const TomlValue* v = table.find("moves")) b.moves = file.boolean(*v, "moves");
    if (b.driven) {
      for (int a = 0; a < dim; ++a)
        draft.drivable.push_back({.name = b.name + "_" + fluid::kComponents[a], .control = controls++});
      const char* const spins[] = {"_spin_x", "_spin_y", "_spin_z"};
      for (int a = dim == 2 ? 2 : 0; a < 3; ++a)
        draft.drivable.push_back({.name = b.name + (dim == 2 ? "_spin" : spins[a]), .control = controls++});
    }
    o.obstacles.push_back(b);
  }
}

void read_scalars(const SceneFile& file, fluid::FlowOptions& o) {
  for (const TomlValue& table : file.tables("scalars", 8)) {
    file.require_known_keys(
        table, {"name", "diffusivity", "buoyancy", "source", "sides", "carried", "mix_norm"}, "[[scalars]]");
    fluid::Scalar s;
    s.name = file.name_of(table, "a scalar", "smoke");
    s.diffusivity = file.not_negative_or(table, "diffusivity", s.diffusivity);
    using Carried = fluid::Scalar::Carried;
    if (const TomlValue* v = table.find("carried"))
      s.carried = chosen<Carried>(file, *v, "way to carry a scalar",
                                  {{"central", Carried::central},
                                   {"limited", Carried::limited},
                                   {"semi_lagrangian", Carried::semi_lagrangian},
                                   {"mac_cormack", Carried::mac_cormack}});
    if (const TomlValue* v = table.find("buoyancy"))
      s.buoyancy = file.vector(*v, "buoyancy", int(o.cells.size()));
    if (const TomlValue* v = table.find("source"))
      s.source = values_of(file, *v, "source", fluid::cell_places(o));
    if (const TomlValue* v = table.find("mix_norm")) s.mix_norm = file.boolean(*v, "mix_norm");
    const TomlValue* sides = table.find("sides");
    for (std::size_t i = 0; sides && i < file.table(*sides, "sides").keys.size(); ++i) {
      const std::size_t side = side_number(file, sides->key_places[i], sides->keys[i], o.cells.size());
      s.sides[side] = values_of(file, sides->items[i], "a value", fluid::side_places(o, side, -1));
    }
    o.scalars.push_back(s);
  }
}

// places = [[0.1, 0.2], ...], or a lattice of count = [8, 4] points from one corner to the other.
std::vector<double> tracer_places(const SceneFile& file, const TomlValue& table, int dim) {
  std::vector<double> places;
  const auto add = [&](const Vec3& x) { places.insert(places.end(), x.begin(), x.begin() + dim); };
  if (const TomlValue* v = table.find("places")) {
    if (!v->is(TomlValue::Kind::array) || v->items.empty())
      file.fail(v->place, "write places: [[0.1, 0.2], [0.3, 0.2], ...]");
    for (const TomlValue& place : v->items) add(file.vector(place, "a place", dim));
    return places;
  }
  const auto corner = [&](const char* key) {
    return file.vector(file.required(table, key, "[[tracers]]",
                                     "add places = [[0.1, 0.2], ...], or a lattice: from = [0.1, 0.1], "
                                     "to = [0.9, 0.9], count = [8, 8]"),
                       key, dim);
  };
  const Vec3 from = corner("from"), to = corner("to");
  const TomlValue& count = file.required(table, "count", "[[tracers]]", "add count = [8, 8]");
  if (!count.is(TomlValue::Kind::array) || int(count.items.size()) != dim)
    file.fail(count.place, "count is a number of points along each axis");
  std::array<std::int64_t, 3> n = {1, 1, 1};
  for (std::size_t a = 0; a < std::size_t(dim); ++a) n[a] = file.count(count.items[a], "count", 1024);
  if (n[0] * n[1] * n[2] > 1 << 20) file.fail(count.place, "a file has at most 1048576 tracers");
  for (std::int64_t k = 0; k < n[2]; ++k)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t i = 0; i < n[0]; ++i) {
        const std::array<std::int64_t, 3> at = {i, j, k};
        Vec3 x{};
        for (std::size_t a = 0; a < 3; ++a)
          x[a] = n[a] == 1 ? (from[a] + to[a]) / 2
                           : from[a] + (to[a] - from[a]) * double(at[a]) / double(n[a] - 1);
        add(x);
      }
  return places;
}
// name, rate, takes = {A = 1, B = 2}, makes = {C = 1}
void read_reactions(const SceneFile& file, fluid::FlowOptions& o) {
  const auto counts = [&](const TomlValue& table, const char* key) {
    std::vector<int> of(o.scalars.size(), 0);
    const TomlValue* v = table.find(key);
    for (std::size_t i = 0; v && i < file.table(*v, key).keys.size(); ++i) {
      const auto s = std::ranges::find(o.scalars, v->keys[i], &fluid::Scalar::name);
      if (s == o.scalars.end())
        file.fail(v->key_places[i], "there is no scalar '" + v->keys[i] + "'", "add it to [[scalars]]");
      of[std::size_t(s - o.scalars.begin())] = int(file.count(v->items[i], key, 8));
    }
    return of;
  };
  for (const TomlValue& table : file.tables("reactions", 16)) {
    file.require_known_keys(table, {"name", "rate", "takes", "makes"}, "[[reactions]]");
    o.reactions.push_back({.name = file.name_of(table, "a reaction", "reaction"),
                           .rate = file.number_or(table, "rate", 1),
                           .takes = counts(table, "takes"),
                           .makes = counts(table, "makes")});
  }
}
void read_tracers(const SceneFile& file, fluid::FlowOptions& o) {
  const int dim = int(o.cells.size());
  for (const TomlValue& table : file.tables("tracers", 100)) {
    file.require_known_keys(table, {"name", "places", "from", "to", "count"}, "[[tracers]]");
    o.tracers.push_back({.name = file.name_of(table, "tracers", "dye"),
                         .count = std::int64_t(tracer_places(file, table, dim).size()) / dim});
  }
}
// name, place, minus: another place, of which the difference is told.
void read_probes(const SceneFile& file, fluid::FlowOptions& o) {
  const int dim = int(o.cells.size());
  for (const TomlValue& table : file.tables("probes", 1000)) {
    file.require_known_keys(table, {"name", "place", "minus"}, "[[probes]]");
    fluid::Probe p{.name = file.name_of(table, "a probe", "probe")};
    p.place =
        file.vector(file.required(table, "place", "[[probes]]", "add place = [0.5, 0.5]"), "place", dim);
    if (const TomlValue* v = table.find("minus")) p.minus = file.vector(*v, "minus", dim);
    o.probes.push_back(p);
  }
}
// Where tracers begin, and that losses may look at them as points.
std::vector<study::RowGroup> start_tracers(const SceneFile& file, const fluid::FlowOptions& o,
                                           study::Setup& setup) {
  std::vector<study::RowGroup> groups;
  const auto tables = file.tables("tracers", 100);
  for (std::size_t t = 0; t < o.tracers.size(); ++t) {
    const Field& field = setup.signature.find(Role::state, o.tracers[t].name);
    std::ranges::copy(tracer_places(file, tables[t], int(o.cells.size())),
                      setup.inputs.x0.begin() + std::ptrdiff_t(field.offset));
    study::RowGroup group{.name = field.name,
                          .dimension = int(o.cells.size()),
                          .offset = field.offset,
                          .rows = std::vector<std::int64_t>(std::size_t(o.tracers[t].count))};
    std::iota(group.rows.begin(), group.rows.end(), 0);
    groups.push_back(std::move(group));
  }
  return groups;
}

// What [start] says about the fluid.
std::vector<std::string> start_fields(const fluid::FlowOptions& o) {
  std::vector<std::string> fields;
  for (std::size_t c = 0; c < o.cells.size(); ++c) fields.emplace_back(fluid::kComponents[c]);
  for (const fluid::Scalar& s : o.scalars) fields.push_back(s.name);
  return fields;
}
// A model that swims: file, density of the fluid, which of its geoms the fluid sees, their masks.
std::optional<BodiesPart> read_swimmer(const SceneFile& file, fluid::FlowOptions& o) {
  const TomlValue* table = file.root().find("model");
  if (!table) return {};
  const BodiesPart part =
      read_bodies_part(file, false, {.model = {"density", "geoms", "mask"}, .start = start_fields(o)});
  coupled::Swimmer swimmer{.model = *part.model, .options = part.options, .initial_state = part.x0};
  swimmer.density = file.not_negative_or(*table, "density", swimmer.density);
  swimmer.mask = file.positive_or(*table, "mask", 1);
  if (const TomlValue* v = table->find("geoms"))
    for (const TomlValue& name : v->items) swimmer.geoms.push_back(file.string(name, "a geom"));
  file.told_at(table->place, [&] {
    coupled::put_into(o, swimmer);
    return 0;
  });
  return part;
}

void read_start(const SceneFile& file, const fluid::FlowOptions& o, study::Setup& setup) {
  const TomlValue& start = file.table_or_empty("start");
  const std::vector<std::string> fields = start_fields(o);
  if (!o.linkage) file.require_known_keys(start, fields, "[start]");
  setup.inputs.x0.assign(std::size_t(setup.signature.states()), 0.0);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const TomlValue* v = start.find(fields[f]);
    if (!v) continue;
    const Places places = f < o.cells.size() ? fluid::face_places(o, int(f)) : fluid::cell_places(o);
    const fluid::CellValues values = values_of(file, *v, fields[f].c_str(), places);
    const auto at = std::size_t(setup.signature.find(Role::state, fields[f]).offset);
    for (std::size_t k = 0; k < places.size(); ++k)
      setup.inputs.x0[at + k] = values.values[values.values.size() == 1 ? 0 : k];
  }
}

// rate = [u, v, spin], with which a body that the flow moves begins.
void read_rates(const SceneFile& file, study::Setup& setup) {
  for (const TomlValue& table : file.tables("obstacles", 100)) {
    const TomlValue* v = table.find("rate");
    if (!v) continue;
    if (!table.find("free"))
      file.fail(v->place, "a rate is what a free body begins with",
                "add free = {mass = ...}, or take velocity");
    const auto rate = file.vector(*v, "rate", 3);
    const auto name = file.name_of(table, "an obstacle", "disc");
    std::ranges::copy(rate, setup.inputs.x0.begin() +
                                std::ptrdiff_t(setup.signature.find(Role::state, name + "/rate").offset));
  }
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

Draft read_flow(const SceneFile& file) {
  const TomlValue& table = file.table(*file.root().find("flow"), "flow");
  file.require_known_keys(table,
                          {"cells", "width", "viscosity", "implicit", "resistance", "smagorinsky", "force",
                           "scheme", "limited", "sides", "pressure", "dissipation", "show"},
                          "[flow]");
  fluid::FlowOptions o;
  Draft draft;
  study::Setup& setup = draft.setup;
  read_cells(file, table, o);
  read_sides(file, table, o);
  if (const TomlValue* v = table.find("viscosity"))
    o.viscosity = values_of(file, *v, "viscosity", fluid::cell_places(o));
  if (const TomlValue* v = table.find("force")) o.force = file.vector(*v, "force", int(o.cells.size()));
  if (const TomlValue* v = table.find("scheme"))
    o.scheme = chosen<fluid::Scheme>(file, *v, "scheme",
                                     {{"rk3", fluid::Scheme::rk3},
                                      {"euler", fluid::Scheme::euler},
                                      {"semi_lagrangian", fluid::Scheme::semi_lagrangian},
                                      {"stokes", fluid::Scheme::stokes}});
  if (const TomlValue* v = table.find("resistance"))
    o.resistance = values_of(file, *v, "resistance", fluid::cell_places(o));
  o.smagorinsky = file.not_negative_or(table, "smagorinsky", 0);
  if (const TomlValue* v = table.find("limited")) o.limited = file.boolean(*v, "limited");
  if (const TomlValue* v = table.find("implicit")) o.implicit = file.boolean(*v, "implicit");
  if (const TomlValue* v = table.find("pressure")) o.pressure = file.boolean(*v, "pressure");
  if (const TomlValue* v = table.find("dissipation")) o.dissipation = file.boolean(*v, "dissipation");
  std::size_t controls = 0;
  read_obstacles(file, o, draft, controls);
  read_scalars(file, o);
  read_reactions(file, o);
  read_tracers(file, o);
  read_probes(file, o);
  const std::optional<BodiesPart> swimmer = read_swimmer(file, o);
  read_run(file, o.dt, 1, setup);
  o.dt = setup.dt;
  setup.signature = file.told_at(table.place, [&] { return fluid::flow<double>(o)->signature(); });
  setup.system = study::any_system([o](auto real) {
    return std::shared_ptr<const System<decltype(real)>>(fluid::flow<decltype(real)>(o));
  });
  read_start(file, o, setup);
  read_rates(file, setup);
  if (swimmer) {
    const auto q = std::size_t(setup.signature.find(Role::state, "model/q").offset);
    std::ranges::copy(swimmer->x0, setup.inputs.x0.begin() + std::ptrdiff_t(q));
    add_bodies(*swimmer, q, controls, draft);
  }
  const auto tracers = start_tracers(file, o, setup);
  std::string size;
  for (const std::int64_t n : o.cells) size += (size.empty() ? "" : " x ") + std::to_string(n);
  setup.headline =
      "a flow in " + size + " cells, " + std::to_string(setup.steps) + " steps of " + number(setup.dt) + " s";
  setup.facts = {{"cells", size}, {"dt", number(setup.dt)}, {"steps", std::to_string(setup.steps)}};
  setup.identity = setup.headline;
  setup.quantities = std::make_shared<study::FieldQuantities>(setup.signature, tracers);
  const std::vector<std::string> shown = FlowPicture::names(o);
  const std::string show = file.string_or(table, "show", shown[0]);
  if (std::ranges::find(shown, show) == shown.end())
    file.fail(table.find("show")->place, "there is no '" + show + "' to show",
              "show " + listed(shown) + (o.pressure ? "" : "; with pressure = true: p"));
  setup.picture = std::make_shared<FlowPicture>(o, setup.signature, show);
  setup.stencil = {.step = 1e-3, .gate = 1e-7};
  draft.dimension = int(o.cells.size());
  return draft;
}

}  // namespace costate::io
