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
#include "costate/io/scene/sections/soft_shapes.h"
#include "costate/io/scene/sections/soft_values.h"
#include "costate/soft/laws/law.h"
#include "costate/soft/laws/rod_law.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/study/field_quantities.h"

namespace costate::io {
namespace {

constexpr std::size_t kMost = 256;

struct SoftReader {
  const SceneFile& file;
  const TomlValue& t;  // [soft]
  soft::SoftModel model = {};
  std::vector<double> v = {};
  std::vector<int> first = {};  // vertex of each part
  std::vector<DrawnSurface> surfaces = {};
  std::vector<Drivable> drivable = {};
  std::optional<BodiesPart> robot = {};

  void world() {
    model.gravity = vector_or(file, t, "gravity", model.gravity);
    model.drag = file.not_negative_or(t, "drag", 0);
    model.wind = vector_or(file, t, "wind", {0, 0, 0});
    model.wind_drag = file.not_negative_or(t, "wind_drag", 0);
    model.wind_driven = flag(file, t, "wind_driven");
    model.integrator = soft::Integrator(choice(file, t, "integrator", soft::kIntegratorNames, 0));
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
          "name",      "law",     "per_element",       "driven",          "density", "viscosity",
          "thickness", "bending", "bending_viscosity", "yield_curvature", "warp"};
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
      to.per_element = flag(file, m, "per_element");
      to.density = file.not_negative_or(m, "density", to.density);
      to.driven = file.string_or(m, "driven", "");
      to.viscosity = file.not_negative_or(m, "viscosity", 0);
      to.thickness = file.positive_or(m, "thickness", to.thickness);
      to.warp = vector_or(file, m, "warp", to.warp);
      to.bending = file.not_negative_or(m, "bending", 0);
      to.bending_viscosity = file.not_negative_or(m, "bending_viscosity", 0);
      to.yield_curvature = file.not_negative_or(m, "yield_curvature", 0);
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

  std::size_t part_of(const TomlValue& name) const {
    std::vector<std::string> names;
    for (const soft::Part& part : model.parts) names.push_back(part.name);
    const auto at = std::find(names.begin(), names.end(), file.string(name, "part"));
    if (at == names.end())
      file.fail(name.place, "there is no part '" + name.text + "'", suggestion(name.text, names));
    return std::size_t(at - names.begin());
  }
  // A second material in the cells of another part, or in those whose middle lies in a box: fibres, muscles.
  void over(const TomlValue& p, const std::string& name) {
    file.require_known_keys(p, {"name", "over", "material", "low", "high"},
                            "[[parts]] that lies over another one");
    soft::Part part = model.parts[part_of(*p.find("over"))];
    part.name = name, part.material = material_of(p);
    part.pressure = 0, part.pressure_driven = false;
    constexpr double kFar = 1e300;
    const auto low = vector_or(file, p, "low", {-kFar, -kFar, -kFar}),
               high = vector_or(file, p, "high", {kFar, kFar, kFar});
    const auto nodes = std::size_t(soft::kCellVertices[int(part.cells)]);
    std::vector<int> inside;
    for (std::size_t c = 0; c < part.vertices.size(); c += nodes) {
      bool in = true;
      for (std::size_t d = 0; d < 3; ++d) {
        double middle = 0;
        for (std::size_t a = 0; a < nodes; ++a)
          middle += model.rest[3 * std::size_t(part.vertices[c + a]) + d] / double(nodes);
        in = in && middle >= low[d] && middle <= high[d];
      }
      if (in) inside.insert(inside.end(), &part.vertices[c], &part.vertices[c] + nodes);
    }
    if (inside.empty()) file.fail(p.place, "no cell of this part has its middle between low and high");
    part.vertices = inside;
    first.push_back(model.vertices());
    model.parts.push_back(part);
  }

  void parts() {
    constexpr Color kColors[] = {0xd98b5f, 0x4f86c6, 0x6aa56a, 0xb06fb5, 0xc9a13b};
    for (const TomlValue& p : file.tables("parts", kMost)) {
      const std::string name = file.name_of(p, "part", "flag");
      if (p.find("over")) {
        over(p, name);
        continue;
      }
      file.require_known_keys(p, {"name",     "shape",           "cells",    "size",   "count",   "origin",
                                  "plane",    "material",        "velocity", "color",  "file",    "scale",
                                  "radius",   "radii",           "obstacle", "driven", "turns",   "over",
                                  "pressure", "pressure_driven", "points",   "along",  "towards", "beside",
                                  "closed",   "depth",           "body",     "boxes"},
                              "[[parts]]");
      const auto [kind, mesh] = soft_shape(file, p);
      const bool obstacle = flag(file, p, "obstacle");
      first.push_back(soft::add_part(model, name, kind, mesh, obstacle ? -1 : material_of(p),
                                     vector_or(file, p, "origin", {0, 0, 0})));
      if (obstacle) {
        soft::Hold hold{name, {}, flag(file, p, "driven"), flag(file, p, "turns"), body_of(p)};
        for (int i = first.back(); i < model.vertices(); ++i) hold.vertices.push_back(i);
        model.holds.push_back(hold);
      } else if (p.find("driven") || p.find("turns") || p.find("body")) {
        file.fail(p.place, "driven, turns and body are keys of obstacles",
                  "add obstacle = true, or a table [[holds]]");
      }
      model.parts.back().pressure = file.number_or(p, "pressure", 0);
      model.parts.back().pressure_driven = flag(file, p, "pressure_driven");
      const auto velocity = vector_or(file, p, "velocity", {0, 0, 0});
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
      soft::Hold hold{
          file.name_of(h, "hold", "corner"), {}, flag(file, h, "driven"), flag(file, h, "turns"), body_of(h)};
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
        const auto low = vector_or(file, h, "low", {-kFar, -kFar, -kFar}),
                   high = vector_or(file, h, "high", {kFar, kFar, kFar});
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
      to.shape = soft::Obstacle::Shape(choice(file, o, "shape", kShapes, 0));
      to.place = vector_or(file, o, "place", to.place);
      to.normal = vector_or(file, o, "normal", to.normal);
      to.radius = file.positive_or(o, "radius", to.radius);
      to.friction = file.not_negative_or(o, "friction", 0);
      model.obstacles.push_back(to);
    }
    const TomlValue& c = file.table_or_empty("contact");
    file.require_known_keys(c, {"self", "distance", "stiffness", "friction", "slip_speed", "area_weighted"},
                            "[contact]");
    model.contact.self = flag(file, c, "self");
    model.contact.area_weighted = flag(file, c, "area_weighted");
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
