// The section of masses and springs (costate/soft/mass_spring.h): [springs] for all of them, [[masses]],
// [[links]] between them, [[planes]] that they cannot pass. A link with a muscle is a control of that name.
#include <algorithm>
#include <cmath>

#include "costate/core/text.h"
#include "costate/io/scene/section.h"
#include "costate/io/scene/sections/links_picture.h"
#include "costate/soft/mass_spring.h"
#include "costate/study/field_quantities.h"

namespace costate::io {
namespace {

constexpr std::size_t kMost = 20'000;

// The tables of the section, one after the other.
struct SpringsReader {
  const SceneFile& file;
  const TomlValue& t;  // [springs]
  soft::MassSpringModel model = {};
  std::vector<std::string> names = {};
  std::vector<double> x = {}, v = {};
  std::vector<Drivable> muscles = {};

  std::vector<double> vector(const TomlValue& value, const char* what) const {
    const std::array<double, 3> list = file.vector(value, what, model.dimensions);
    return std::vector<double>(list.begin(), list.begin() + model.dimensions);
  }

  void world() {
    if (const TomlValue* value = t.find("dimension"))
      model.dimensions = int(file.count(*value, "dimension", 3));
    if (model.dimensions < 2) file.fail(t.find("dimension")->place, "dimension must be 2 or 3");
    if (const TomlValue* value = t.find("gravity")) model.gravity = vector(*value, "gravity");
    model.drag = file.not_negative_or(t, "drag", 0);
  }

  void masses() {
    for (const TomlValue& m : file.tables("masses", kMost)) {
      file.require_known_keys(m, {"name", "position", "velocity", "mass"}, "[[masses]]");
      names.push_back(file.name_of(m, "mass", "a"));
      if (std::count(names.begin(), names.end(), names.back()) > 1)
        file.fail(m.find("name")->place, "there are two masses '" + names.back() + "'");
      model.masses.push_back(file.positive_or(m, "mass", file.positive_or(t, "mass", 1)));
      const auto at =
          vector(file.required(m, "position", "this mass", "add position = [0.0, 1.0]"), "position");
      x.insert(x.end(), at.begin(), at.end());
      const auto moves =
          m.find("velocity") ? vector(*m.find("velocity"), "velocity") : std::vector<double>(at.size(), 0.0);
      v.insert(v.end(), moves.begin(), moves.end());
    }
    if (names.empty()) file.fail(t.place, "there are no masses", "add [[masses]] with a name and a position");
  }

  // The number of a mass by its name.
  int mass(const TomlValue& name) const {
    const auto at = std::find(names.begin(), names.end(), file.string(name, "a mass"));
    if (at == names.end())
      file.fail(name.place, "there is no mass '" + name.text + "'", suggestion(name.text, names));
    return int(at - names.begin());
  }

  int muscle(const TomlValue& name) {
    const auto known = std::find_if(muscles.begin(), muscles.end(),
                                    [&](const Drivable& d) { return d.name == file.string(name, "muscle"); });
    const int number = int(known - muscles.begin());
    if (known == muscles.end()) muscles.push_back({.name = name.text, .control = std::size_t(number)});
    return number;
  }

  void links() {
    for (const TomlValue& link : file.tables("links", kMost)) {
      file.require_known_keys(link, {"between", "rest_length", "stiffness", "damping", "muscle", "strength"},
                              "[[links]]");
      const TomlValue& pair = file.required(link, "between", "this link", "add between = [\"a\", \"b\"]");
      if (!pair.is(TomlValue::Kind::array) || pair.items.size() != 2)
        file.fail(pair.place, "a link is between two masses: [\"a\", \"b\"]");
      soft::Spring s{.a = mass(pair.items[0]), .b = mass(pair.items[1])};
      const int n = model.dimensions;
      double square = 0;
      for (int d = 0; d < n; ++d) square += std::pow(x[s.a * n + d] - x[s.b * n + d], 2);
      s.rest_length = file.positive_or(link, "rest_length", std::sqrt(square));
      s.stiffness = file.positive_or(link, "stiffness", file.positive_or(t, "stiffness", s.stiffness));
      s.damping = file.not_negative_or(link, "damping", file.not_negative_or(t, "damping", 0));
      s.strength = file.number_or(link, "strength", link.find("muscle") ? 0.2 : 0);
      if (const TomlValue* name = link.find("muscle")) s.muscle = muscle(*name);
      model.springs.push_back(s);
    }
  }

  void planes() {
    for (const TomlValue& plane : file.tables("planes", 64)) {
      file.require_known_keys(plane, {"normal", "offset", "friction"}, "[[planes]]");
      model.planes.push_back(
          {vector(file.required(plane, "normal", "this plane", "add normal = [0.0, 1.0]"), "normal"),
           file.number_or(plane, "offset", 0), file.not_negative_or(plane, "friction", 0)});
    }
  }

  std::vector<study::RowGroup> groups() const {
    const auto velocities = std::int64_t(x.size());
    const int n = model.dimensions;
    std::vector<study::RowGroup> all = {{.name = "masses", .dimension = n},
                                        {.name = "masses/velocity", .dimension = n, .offset = velocities}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto row = std::int64_t(i);
      all[0].rows.push_back(row);
      all[1].rows.push_back(row);
      all.push_back({.name = "mass/" + names[i], .dimension = n, .rows = {row}});
      all.push_back(
          {.name = "mass/" + names[i] + "/velocity", .dimension = n, .offset = velocities, .rows = {row}});
    }
    return all;
  }
};

}  // namespace

Draft read_springs(const SceneFile& file) {
  const TomlValue& t = file.table(*file.root().find("springs"), "springs");
  file.require_known_keys(t, {"dimension", "gravity", "drag", "mass", "stiffness", "damping", "size"},
                          "[springs]");
  file.require_known_keys(file.table_or_empty("start"), {}, "[start]");
  SpringsReader reader{file, t};
  reader.world();
  reader.masses();
  reader.links();
  reader.planes();
  Draft draft;
  draft.drivable = reader.muscles;
  soft::MassSpringModel& m = reader.model;
  study::Setup& setup = draft.setup;
  read_run(file, 1e-3, 1, setup);
  m.dt = setup.dt;
  setup.signature = file.told_at(t.place, [&] { return soft::make_system<double>(m)->signature(); });
  setup.system = study::any_system([m](auto real) {
    return std::shared_ptr<const System<decltype(real)>>(soft::make_system<decltype(real)>(m));
  });
  setup.inputs.x0 = reader.x;
  setup.inputs.x0.insert(setup.inputs.x0.end(), reader.v.begin(), reader.v.end());
  const std::string masses = std::to_string(m.masses.size()), links = std::to_string(m.springs.size()),
                    steps = std::to_string(setup.steps);
  setup.headline = masses + " masses, " + links + " links, " + steps + " steps of " + number(setup.dt) + " s";
  setup.facts = {{"masses", masses}, {"links", links}, {"steps", steps}};
  setup.identity = setup.headline;
  setup.quantities = std::make_shared<study::FieldQuantities>(setup.signature, reader.groups());
  LinksDrawing drawing{.dimensions = m.dimensions, .points = int(m.masses.size())};
  for (const soft::Spring& s : m.springs) drawing.links.emplace_back(s.a, s.b);
  drawing.size = file.positive_or(t, "size", 0.02);
  if (!m.planes.empty()) drawing.ground = m.planes[0].offset;
  setup.picture = std::make_shared<LinksPicture>(std::move(drawing));
  setup.stencil = {.step = 1e-5, .gate = 1e-6};
  draft.dimension = m.dimensions;
  return draft;
}

}  // namespace costate::io
