// The section of soft bodies and cloth (costate/soft/soft_system.h): [soft] for all of them, [[materials]],
// [[parts]] made of them, [[holds]] of vertices, [[obstacles]] and [contact]. A driven hold NAME has the
// controls NAME_x, NAME_y, NAME_z, its velocity, and one that turns NAME_spin_x, ...; a driven number of a
// material NAME_contraction, a driven pressure NAME_pressure, a driven wind wind_x, wind_y, wind_z. With
// [model] parts and holds ride on its bodies, [start] is the model's, and its actuators are controls.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "costate/core/text.h"
#include "costate/coupled/carrier.h"
#include "costate/io/scene/section.h"
#include "costate/io/scene/sections/bodies.h"
#include "costate/io/scene/sections/soft_picture.h"
#include "costate/io/text/cell_mesh.h"
#include "costate/soft/laws/law.h"
#include "costate/soft/laws/rod_law.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/mesh/voxels.h"
#include "costate/soft/soft_system.h"
#include "costate/study/field_quantities.h"

namespace costate::io {
namespace {

constexpr std::size_t kMost = 256;
constexpr std::int64_t kMostCells = 1000;  // along a side

struct SoftReader {
  const SceneFile& file;
  const TomlValue& t;  // [soft]
  soft::SoftModel model = {};
  std::vector<double> v = {};
  std::vector<int> first = {};  // vertex of each part
  std::vector<DrawnSurface> surfaces = {};
  std::vector<Drivable> drivable = {};
  std::optional<BodiesPart> robot = {};

  std::size_t choice(const TomlValue& table, const char* key, std::span<const char* const> words,
                     std::size_t otherwise) const {
    const TomlValue* value = table.find(key);
    if (!value) return otherwise;
    const std::string word = file.string(*value, key);
    std::vector<std::string> all(words.begin(), words.end());
    const auto at = std::find(all.begin(), all.end(), word);
    if (at == all.end())
      file.fail(value->place, std::string("unknown ") + key + " '" + word + "'", suggestion(word, all));
    return std::size_t(at - all.begin());
  }
  std::array<double, 3> vector_or(const TomlValue& table, const char* key,
                                  std::array<double, 3> otherwise) const {
    const TomlValue* value = table.find(key);
    return value ? file.vector(*value, key, 3) : otherwise;
  }
  bool flag(const TomlValue& table, const char* key) const {
    const TomlValue* value = table.find(key);
    return value && file.boolean(*value, key);
  }

  void world() {
    model.gravity = vector_or(t, "gravity", model.gravity);
    model.drag = file.not_negative_or(t, "drag", 0);
    model.wind = vector_or(t, "wind", {0, 0, 0});
    model.wind_drag = file.not_negative_or(t, "wind_drag", 0);
    model.wind_driven = flag(t, "wind_driven");
    model.integrator = soft::Integrator(choice(t, "integrator", soft::kIntegratorNames, 0));
    model.tolerance = file.positive_or(t, "tolerance", model.tolerance);
    if (const TomlValue* most = t.find("max_iterations"))
      model.max_iterations = int(file.count(*most, "max_iterations", 100'000));
  }

  void materials() {
    for (const TomlValue& m : file.tables("materials", kMost)) {
      soft::SoftMaterial to;
      to.name = file.name_of(m, "material", "rubber");
      to.law = file.string_or(m, "law", to.law);
      std::vector<std::string> known = {
          "name",      "law",     "per_element",       "driven", "density", "viscosity",
          "thickness", "bending", "bending_viscosity", "warp"};
      // Numbers of the law, of a solid, a membrane or a rod: which one it is, the parts say.
      std::vector<soft::LawNumber> numbers;
      for (const auto* law : soft::solid_laws())
        if (law->name() == to.law) numbers = law->numbers();
      for (const auto* law : soft::membrane_laws())
        if (law->name() == to.law) numbers = law->numbers();
      for (const auto* law : soft::rod_laws())
        if (law->name() == to.law) numbers = law->numbers();
      for (const soft::LawNumber& n : numbers) {
        known.emplace_back(n.name);
        if (const TomlValue* value = m.find(n.name)) to.numbers[n.name] = file.number(*value, n.name);
      }
      file.require_known_keys(m, known, "[[materials]]");
      to.per_element = flag(m, "per_element");
      to.density = file.not_negative_or(m, "density", to.density);
      to.driven = file.string_or(m, "driven", "");
      to.viscosity = file.not_negative_or(m, "viscosity", 0);
      to.thickness = file.positive_or(m, "thickness", to.thickness);
      to.warp = vector_or(m, "warp", to.warp);
      to.bending = file.not_negative_or(m, "bending", 0);
      to.bending_viscosity = file.not_negative_or(m, "bending_viscosity", 0);
      model.materials.push_back(to);
    }
    if (model.materials.empty())
      file.fail(t.place, "there are no materials", "add [[materials]] with a name");
  }

  int material_of(const TomlValue& part) const {
    const TomlValue* name = part.find("material");
    if (!name && model.materials.size() == 1) return 0;
    const TomlValue& given = file.required(part, "material", "this part", "add material = \"rubber\"");
    std::vector<std::string> names;
    for (const soft::SoftMaterial& m : model.materials) names.push_back(m.name);
    const auto at = std::find(names.begin(), names.end(), file.string(given, "material"));
    if (at == names.end())
      file.fail(given.place, "there is no material '" + given.text + "'", suggestion(given.text, names));
    return int(at - names.begin());
  }

  // The axes that the sides of a cloth lie along: "xy", "xz", ...
  std::array<int, 2> plane_of(const TomlValue& part) const {
    const TomlValue* value = part.find("plane");
    if (!value) return {0, 1};
    const std::string word = file.string(*value, "plane");
    if (word.size() == 2 && word[0] != word[1] && word.find_first_not_of("xyz") == std::string::npos)
      return {word[0] - 'x', word[1] - 'x'};
    file.fail(value->place, "plane = \"" + word + "\"", "name two axes, such as \"xz\"");
  }

  CellMesh cells_of(const TomlValue& path) const {
    try {
      return read_cells(file.beside(file.string(path, "file")));
    } catch (const Error& error) {
      const Error::Message& m = error.message();
      file.fail(path.place, m.where.empty() ? m.what : m.where + ": " + m.what, m.advice);
    }
  }
  // The cells of a file beside the scene, scaled.
  soft::SoftMesh from_file(const TomlValue& part, soft::Cells& kind) const {
    const TomlValue& given = file.required(part, "file", "this part", "add file = \"shirt.obj\"");
    const CellMesh found = cells_of(given);
    const double scale = file.positive_or(part, "scale", 1);
    soft::SoftMesh mesh;
    for (const auto& p : found.vertices)
      mesh.vertices.insert(mesh.vertices.end(), {scale * p.x, scale * p.y, scale * p.z});
    const std::vector<int>* all[] = {&found.tetrahedra, &found.quadratic_tetrahedra, &found.hexahedra,
                                     &found.triangles};
    int kinds = 0;
    for (int k = 0; k < 4; ++k)
      if (!all[k]->empty()) kind = soft::Cells(k), mesh.cells = *all[k], ++kinds;
    if (kinds > 1) file.fail(given.place, "this file has cells of several kinds", "give each kind a file");
    return mesh;
  }

  // A sphere of triangles, or a ball of cubes, `count` of them across.
  soft::SoftMesh ball(const TomlValue& p, soft::Cells& kind) const {
    const TomlValue& radius = file.required(p, "radius", "this part", "add radius = 0.1");
    const TomlValue& count = file.required(p, "count", "this part", "add count = 8: cells along an edge");
    const double r = file.number(radius, "radius");
    if (p.find("cells")) {
      constexpr const char* kCells[] = {"triangles", "hexahedra"};
      if (choice(p, "cells", kCells, 0) == 1) {
        kind = soft::Cells::hexahedra;
        const int across = int(file.count(count, "count", 200));
        return file.told_at(p.place, [&] { return soft::ball_of_cubes(r, across); });
      }
    }
    const int n = int(file.count(count, "count", kMostCells));
    return file.told_at(p.place, [&] { return soft::ball_mesh(r, n); });
  }

  soft::SoftMesh shirt(const TomlValue& p) const {
    const TomlValue& size = file.required(p, "size", "this shirt", "add size = 0.5: its width");
    const TomlValue& count =
        file.required(p, "count", "this shirt", "add count = 4: squares per fifth of its width");
    const double width = file.number(size, "size"), depth = file.positive_or(p, "depth", 0.2 * width);
    const int n = int(file.count(count, "count", kMostCells));
    return file.told_at(p.place, [&] { return soft::shirt_mesh(width, n, depth); });
  }

  std::vector<double> points_of(const TomlValue& given) const {
    std::vector<double> points;
    if (!given.is(TomlValue::Kind::array)) file.fail(given.place, "points is a list of points");
    for (const TomlValue& point : given.items)
      for (const double x : file.vector(point, "points", 3)) points.push_back(x);
    return points;
  }
  soft::SoftMesh tube(const TomlValue& p) const {
    const std::vector<double> points =
        points_of(file.required(p, "points", "this tube", "add points = [[0, 0, 0], [0, 0, 1]]"));
    const TomlValue& given = file.required(p, "radii", "this tube", "add radii = [0.1, 0.2], one per point");
    const TomlValue& count = file.required(p, "count", "this tube", "add count = [16, 10]: around, along");
    if (!given.is(TomlValue::Kind::array)) file.fail(given.place, "radii is a list of numbers");
    if (!count.is(TomlValue::Kind::array) || count.items.size() != 2)
      file.fail(count.place, "count of a tube has two numbers: cells around and cells along");
    std::vector<double> radii;
    for (const TomlValue& r : given.items) radii.push_back(file.number(r, "radii"));
    const int around = int(file.count(count.items[0], "count", kMostCells)),
              along = int(file.count(count.items[1], "count", kMostCells));
    return file.told_at(p.place, [&] { return soft::tube_mesh(points, radii, {around, along}); });
  }

  // A rod through points, or a straight one: size long, in count segments, along an axis.
  soft::SoftMesh rod(const TomlValue& p, soft::Cells& kind) const {
    kind = soft::Cells::rods;
    std::vector<double> points;
    if (const TomlValue* given = p.find("points")) {
      points = points_of(*given);
    } else {
      const TomlValue& size =
          file.required(p, "size", "this rod", "add size = 1.0, or points = [[0, 0, 0], ...]");
      const TomlValue& count = file.required(p, "count", "this rod", "add count = 20: segments");
      const double length = file.number(size, "size");
      const auto segments = file.count(count, "count", kMostCells);
      const auto along = vector_or(p, "along", {1, 0, 0});
      for (std::int64_t i = 0; i <= segments; ++i)
        for (const double d : along) points.push_back(length * double(i) / double(segments) * d);
    }
    const double beside = file.positive_or(p, "beside", 0.5 * soft::first_segment(points));
    const auto towards = vector_or(p, "towards", {0, 0, 1});
    return file.told_at(p.place, [&] { return soft::rod_mesh(points, towards, beside, flag(p, "closed")); });
  }
  // A cloth or a block from numbers.
  soft::SoftMesh procedural(const TomlValue& p, bool cloth, soft::Cells& kind) const {
    const int sides = cloth ? 2 : 3;
    const auto size =
        file.vector(file.required(p, "size", "this part", "add size = [1.0, 1.0]"), "size", sides, true);
    std::array<int, 3> count = {1, 1, 1};
    const TomlValue& counts =
        file.required(p, "count", "this part", "add count = [10, 10]: cells along each side");
    if (!counts.is(TomlValue::Kind::array) || counts.items.size() != std::size_t(sides))
      file.fail(counts.place, "count has a number of cells for each side");
    for (int d = 0; d < sides; ++d)
      count[std::size_t(d)] = int(file.count(counts.items[std::size_t(d)], "count", kMostCells));
    if (!cloth) {
      kind = soft::Cells(choice(p, "cells", std::span(soft::kCellNames, 3), 0));
      return file.told_at(p.place, [&] { return soft::block_mesh(kind, size, count); });
    }
    kind = soft::Cells::triangles;
    soft::SoftMesh mesh = file.told_at(p.place, [&] {
      return soft::cloth_mesh({size[0], size[1]}, {count[0], count[1]});
    });
    const auto axes = plane_of(p);
    for (std::size_t i = 0; i < mesh.vertices.size(); i += 3) {
      double at[3] = {0, 0, 0};
      for (std::size_t d = 0; d < 2; ++d) at[axes[d]] = mesh.vertices[i + d];
      std::copy(at, at + 3, mesh.vertices.begin() + std::ptrdiff_t(i));
    }
    return mesh;
  }

  std::size_t part_of(const TomlValue& name) const {
    std::vector<std::string> names;
    for (const soft::Part& part : model.parts) names.push_back(part.name);
    const auto at = std::find(names.begin(), names.end(), file.string(name, "part"));
    if (at == names.end())
      file.fail(name.place, "there is no part '" + name.text + "'", suggestion(name.text, names));
    return std::size_t(at - names.begin());
  }
  // A second material in the cells of another part: fibres, muscles.
  void over(const TomlValue& p, const std::string& name) {
    file.require_known_keys(p, {"name", "over", "material"}, "[[parts]] that lies over another one");
    soft::Part part = model.parts[part_of(*p.find("over"))];
    part.name = name, part.material = material_of(p);
    part.pressure = 0, part.pressure_driven = false;
    first.push_back(model.vertices());
    model.parts.push_back(part);
  }

  void parts() {
    constexpr const char* kShapes[] = {"cloth", "block", "ball", "file", "rod", "shirt", "tube"};
    constexpr Color kColors[] = {0xd98b5f, 0x4f86c6, 0x6aa56a, 0xb06fb5, 0xc9a13b};
    for (const TomlValue& p : file.tables("parts", kMost)) {
      file.require_known_keys(p, {"name",     "shape",           "cells",    "size",   "count",   "origin",
                                  "plane",    "material",        "velocity", "color",  "file",    "scale",
                                  "radius",   "radii",           "obstacle", "driven", "turns",   "over",
                                  "pressure", "pressure_driven", "points",   "along",  "towards", "beside",
                                  "closed",   "depth",           "body"},
                              "[[parts]]");
      const std::string name = file.name_of(p, "part", "flag");
      if (p.find("over")) {
        over(p, name);
        continue;
      }
      const std::size_t shape = choice(p, "shape", kShapes, p.find("file") ? 3 : 0);
      soft::Cells kind = soft::Cells::triangles;
      const soft::SoftMesh mesh = shape == 6   ? tube(p)
                                  : shape == 5 ? shirt(p)
                                  : shape == 4 ? rod(p, kind)
                                  : shape == 3 ? from_file(p, kind)
                                  : shape == 2 ? ball(p, kind)
                                               : procedural(p, shape == 0, kind);
      const bool obstacle = flag(p, "obstacle");
      first.push_back(soft::add_part(model, name, kind, mesh, obstacle ? -1 : material_of(p),
                                     vector_or(p, "origin", {0, 0, 0})));
      if (obstacle) {
        soft::Hold hold{name, {}, flag(p, "driven"), flag(p, "turns"), body_of(p)};
        for (int i = first.back(); i < model.vertices(); ++i) hold.vertices.push_back(i);
        model.holds.push_back(hold);
      } else if (p.find("driven") || p.find("turns") || p.find("body")) {
        file.fail(p.place, "driven, turns and body are keys of obstacles",
                  "add obstacle = true, or a table [[holds]]");
      }
      model.parts.back().pressure = file.number_or(p, "pressure", 0);
      model.parts.back().pressure_driven = flag(p, "pressure_driven");
      const auto velocity = vector_or(p, "velocity", {0, 0, 0});
      for (std::size_t i = 0; i < mesh.vertices.size(); ++i) v.push_back(velocity[i % 3]);
      const Color color = p.find("color") ? file.color(*p.find("color")) : kColors[surfaces.size() % 5];
      surfaces.push_back({name, color, drawn(model.parts.back())});
    }
    if (model.parts.empty())
      file.fail(t.place, "there are no parts", "add [[parts]] with a name, a shape, size and count");
  }

  // The body of the model that vertices ride on; empty: none.
  std::string body_of(const TomlValue& table) const {
    const TomlValue* name = table.find("body");
    if (!name) return {};
    const std::string& body = file.string(*name, "body");
    if (!robot)
      file.fail(name->place, "there is no model with bodies", "add [model] with file = \"arm.xml\"");
    const std::vector<std::string>& links = model.carrier->links();
    if (std::find(links.begin(), links.end(), body) == links.end())
      file.fail(name->place, "the model has no body '" + body + "'", suggestion(body, links));
    return body;
  }
  void read_model(double dt) {
    const TomlValue* table = file.root().find("model");
    if (!table) return file.require_known_keys(file.table_or_empty("start"), {}, "[start]");
    robot = read_bodies_part(file, false);
    robot->model->options.timestep = dt;
    file.told_at(table->place, [&] {
      model.carrier =
          coupled::carrier({.model = *robot->model, .options = robot->options, .initial_state = robot->x0});
      return 0;
    });
  }

  // Vertices inside a box of rest positions, or given by number.
  void holds() {
    for (const TomlValue& h : file.tables("holds", kMost)) {
      file.require_known_keys(h, {"name", "part", "low", "high", "vertices", "driven", "turns", "body"},
                              "[[holds]]");
      soft::Hold hold{file.name_of(h, "hold", "corner"), {}, flag(h, "driven"), flag(h, "turns"), body_of(h)};
      int begin = 0, end = model.vertices();
      if (const TomlValue* name = h.find("part")) {
        const std::size_t k = part_of(*name);
        begin = first[k], end = k + 1 < first.size() ? first[k + 1] : end;
      }
      if (const TomlValue* list = h.find("vertices")) {
        for (const double i : file.one_or_more(*list, "vertices")) {
          if (i != std::floor(i) || i < 0 || i >= end - begin)
            file.fail(list->place, "there is no vertex " + number(i),
                      "vertices are numbered from 0 to " + std::to_string(end - begin - 1));
          hold.vertices.push_back(begin + int(i));
        }
      } else {
        constexpr double kFar = 1e300;
        const auto low = vector_or(h, "low", {-kFar, -kFar, -kFar}),
                   high = vector_or(h, "high", {kFar, kFar, kFar});
        for (int i = begin; i < end; ++i) {
          bool inside = true;
          for (int d = 0; d < 3; ++d) {
            const double x = model.rest[std::size_t(3 * i + d)];
            inside = inside && x >= low[std::size_t(d)] - 1e-9 && x <= high[std::size_t(d)] + 1e-9;
          }
          if (inside) hold.vertices.push_back(i);
        }
      }
      if (hold.vertices.empty())
        file.fail(h.place, "this hold has no vertices",
                  "give vertices = [0, 5], or low and high of a box that some are in");
      model.holds.push_back(hold);
    }
  }
  void contact() {
    constexpr const char* kShapes[] = {"plane", "ball"};
    for (const TomlValue& o : file.tables("obstacles", kMost)) {
      file.require_known_keys(o, {"name", "shape", "place", "normal", "radius", "friction"}, "[[obstacles]]");
      soft::Obstacle to;
      to.name = file.name_of(o, "obstacle", "floor");
      to.shape = soft::Obstacle::Shape(choice(o, "shape", kShapes, 0));
      to.place = vector_or(o, "place", to.place);
      to.normal = vector_or(o, "normal", to.normal);
      to.radius = file.positive_or(o, "radius", to.radius);
      to.friction = file.not_negative_or(o, "friction", 0);
      model.obstacles.push_back(to);
    }
    const TomlValue& c = file.table_or_empty("contact");
    file.require_known_keys(c, {"self", "distance", "stiffness", "friction", "slip_speed"}, "[contact]");
    model.contact.self = flag(c, "self");
    model.contact.distance = file.positive_or(c, "distance", model.contact.distance);
    model.contact.stiffness = file.positive_or(c, "stiffness", model.contact.stiffness);
    model.contact.friction = file.not_negative_or(c, "friction", 0);
    model.contact.slip_speed = file.positive_or(c, "slip_speed", model.contact.slip_speed);
  }
  // In the order of the system's controls.
  void controls() {
    const auto drive = [&](const std::string& name, bool vector) {
      for (const char* axis : {"_x", "_y", "_z"}) {
        drivable.push_back({.name = vector ? name + axis : name, .control = drivable.size()});
        if (!vector) break;
      }
    };
    for (const soft::SoftMaterial& m : model.materials)
      if (!m.driven.empty()) drive(m.name + "_" + m.driven, false);
    for (const soft::Part& part : model.parts)
      if (part.pressure_driven) drive(part.name + "_pressure", false);
    for (const soft::Hold& hold : model.holds) {
      if (hold.driven) drive(hold.name, true);
      if (hold.turns) drive(hold.name + "_spin", true);
    }
    if (model.wind_driven) drive("wind", true);
  }

  // Its actuators and its start. Where it starts is not a variable: vertices that ride start there too.
  DrawnModel add_model(Draft& draft) const {
    const Signature& all = draft.setup.signature;
    const auto q = std::size_t(all.find(Role::state, "model/q").offset);
    const Field* ctrl = all.find_if(Role::control, "ctrl");
    add_bodies(*robot, q, ctrl ? std::size_t(ctrl->offset) : 0, draft);
    std::erase_if(draft.groups, [](const VariableGroup& g) { return g.name.starts_with("start.position."); });
    draft.setup.facts.insert(draft.setup.facts.end(), {{"model", robot->model_file},
                                                       {"dofs", std::to_string(robot->model->nv)},
                                                       {"actuators", std::to_string(robot->model->nu())}});
    return {robot->model, all, q};
  }

  std::vector<study::RowGroup> groups() const {
    const std::int64_t speeds = std::int64_t(model.rest.size());
    std::vector<study::RowGroup> all = {{.name = "vertices", .dimension = 3},
                                        {.name = "vertices/velocity", .dimension = 3, .offset = speeds}};
    for (int i = 0; i < model.vertices(); ++i) all[0].rows.push_back(i), all[1].rows.push_back(i);
    for (std::size_t k = 0; k < model.parts.size(); ++k) {
      study::RowGroup group{.name = "part/" + model.parts[k].name, .dimension = 3};
      for (int i = first[k]; i < (k + 1 < first.size() ? first[k + 1] : model.vertices()); ++i)
        group.rows.push_back(i);
      if (group.rows.empty()) continue;
      all.push_back(group);
      group.name += "/velocity", group.offset = speeds;
      all.push_back(group);
    }
    return all;
  }
};

}  // namespace

Draft read_soft(const SceneFile& file) {
  const TomlValue& t = file.table(*file.root().find("soft"), "soft");
  file.require_known_keys(t,
                          {"gravity", "drag", "wind", "wind_drag", "wind_driven", "integrator", "tolerance",
                           "max_iterations", "ground"},
                          "[soft]");
  Draft draft;
  study::Setup& setup = draft.setup;
  read_run(file, 0.01, 1, setup);
  SoftReader reader{file, t};
  reader.read_model(setup.dt);
  reader.world();
  reader.materials();
  reader.parts();
  reader.holds();
  reader.contact();
  reader.controls();
  draft.drivable = reader.drivable;
  soft::SoftModel& m = reader.model;
  m.dt = setup.dt;
  setup.signature = file.told_at(t.place, [&] { return soft::soft_bodies<double>(m)->signature(); });
  const auto make = [](const soft::SoftModel& model) {
    return study::any_system([model](auto real) {
      return std::shared_ptr<const System<decltype(real)>>(soft::soft_bodies<decltype(real)>(model));
    });
  };
  setup.system = make(m);
  draft.tighten = [make, m](study::Setup& tight) {
    soft::SoftModel model = m;
    model.tolerance = std::min(model.tolerance, 1e-12);
    tight.system = make(model);
  };
  setup.inputs.x0 = soft::soft_state(m, {}, reader.v);
  std::int64_t cells = 0;
  for (const soft::Part& part : m.parts)
    cells += std::int64_t(part.vertices.size()) / soft::kCellVertices[int(part.cells)];
  const std::string vertices = std::to_string(m.vertices()), count = std::to_string(cells),
                    steps = std::to_string(setup.steps);
  setup.headline =
      vertices + " vertices, " + count + " cells, " + steps + " steps of " + number(setup.dt) + " s";
  setup.facts = {{"vertices", vertices}, {"cells", count}, {"steps", steps}};
  setup.identity = setup.headline;
  setup.quantities = std::make_shared<study::FieldQuantities>(setup.signature, reader.groups());
  DrawnModel drawn;
  if (reader.robot) drawn = reader.add_model(draft);
  double lowest = 0;
  for (std::size_t i = 2; i < m.rest.size(); i += 3) lowest = std::min(lowest, m.rest[i]);
  setup.picture =
      std::make_shared<MeshesPicture>(reader.surfaces, balls(m), file.number_or(t, "ground", lowest), drawn);
  setup.stencil = {.step = 1e-5, .gate = 1e-6};
  draft.dimension = 3;
  draft.up = 2;
  return draft;
}

}  // namespace costate::io
