// costate.grid, costate.soft, costate.mpm: fields on a grid, masses and springs, material points, from
// numbers instead of files.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>

#include "any_system.h"
#include "arrays.h"
#include "costate/grid/cell_equation.h"
#include "costate/grid/equations.h"
#include "costate/mpm/laws/law.h"
#include "costate/mpm/system.h"
#include "costate/soft/mass_spring.h"
#include "dictionary_reader.h"
#include "module.h"
#include "rows.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using SystemHandle = std::shared_ptr<AnySystem>;
using Reader = DictionaryReader;

template <class Make>
SystemHandle any_system(const std::string& name, std::vector<double> initial, const Make& make) {
  return std::make_shared<AnySystem>(
      name, [make](std::int64_t) { return SystemPtr<double>(make.template operator()<double>()); },
      [make](std::int64_t) { return SystemPtr<float>(make.template operator()<float>()); },
      std::move(initial));
}

std::size_t choice(const std::string& word, const char* what, const std::vector<std::string>& words) {
  std::string all;
  std::size_t i = 0;
  for (const std::string& known : words) {
    if (word == known) return i;
    all += (all.empty() ? "" : ", ") + known;
    ++i;
  }
  throw Error({std::string(what) + " = '" + word + "'", {}, "use one of: " + all});
}

// Any equation on a grid; grid.py has a function for each.
SystemHandle grid_system(const std::string& equation, std::int64_t nx, std::int64_t ny, double dx, double dt,
                         const nb::dict& parameters, const nb::dict& sides,
                         const std::vector<std::int64_t>& sources) {
  grid::GridSpec spec{equation, nx, ny, dx, dt, {}, {}, sources};
  for (const auto& [name, values] : parameters) {
    const std::string key = nb::cast<std::string>(name);
    if (const Shape shape = shape_of(as_array<double>(values, key.c_str()));
        shape.size() > 1 && shape != Shape{std::size_t(ny), std::size_t(nx)})
      wrong_shape(key, shape, "(ny, nx) = " + text_of(Shape{std::size_t(ny), std::size_t(nx)}));
    spec.parameters.emplace(key, to_vector<double>(nb::borrow<ArrayLike>(values), key.c_str()));
  }
  for (const auto& [name, side] : sides) {
    const std::string key = nb::cast<std::string>(name);
    std::pair<std::string, double> given{"", 0.0};
    if (!nb::try_cast(side, given.first) && !nb::try_cast(side, given))
      throw Error({"the side '" + key + "' is not understood",
                   {},
                   "give its kind and its value, ('temperature', 20.0), or 'periodic'"});
    spec.sides[key] = given;
  }
  spec = grid::complete(std::move(spec));
  return any_system(equation, {}, [spec]<class Real>() { return grid::make_system<Real>(spec); });
}

// An equation as text.
SystemHandle own_grid(const nb::dict& rates, std::int64_t nx, std::int64_t ny, double dx, double dt,
                      const nb::dict& parameters, const std::vector<std::string>& controls,
                      const nb::dict& sides) {
  grid::CellEquation o{.nx = nx, .ny = ny, .dx = dx, .dt = dt, .fields = {}, .controls = controls};
  for (const auto& [name, rate] : rates) {
    const std::string field = nb::cast<std::string>(nb::str(name));
    if (!nb::isinstance<nb::str>(rate) && !PyNumber_Check(rate.ptr()))
      throw Error(
          {"the rate of '" + field + "' is not text", {}, "write a formula: '0.1*lap_" + field + "'"});
    o.fields.push_back({field, nb::cast<std::string>(nb::str(rate))});
  }
  for (const auto& [name, values] : parameters) {
    const std::string key = nb::cast<std::string>(name);
    if (const Shape shape = shape_of(as_array<double>(values, key.c_str()));
        shape.size() > 1 && shape != Shape{std::size_t(ny), std::size_t(nx)})
      wrong_shape(key, shape, "(ny, nx) = " + text_of(Shape{std::size_t(ny), std::size_t(nx)}));
    o.parameters.push_back({key, to_vector<double>(nb::borrow<ArrayLike>(values), key.c_str())});
  }
  for (const auto& [name, kind] : sides)
    o.sides[choice(nb::cast<std::string>(name), "a side", {"west", "east", "south", "north"})] =
        static_cast<grid::CellEquation::Side>(
            choice(nb::cast<std::string>(kind), "kind of side", {"periodic", "closed", "zero"}));
  (void)grid::cell_equation<double>(o);  // says what is wrong now, not at the first rollout
  return any_system("own equation", {}, [o]<class Real>() { return grid::cell_equation<Real>(o); });
}

SystemHandle mass_spring(const ArrayLike& x, const ArrayLike& masses, const nb::list& springs,
                         const ArrayLike& v, const ArrayLike& gravity, double drag, const nb::list& planes,
                         const std::string& contact, double softening, double dt) {
  const auto positions = as_array<double>(x, "x");
  if (positions.ndim() != 2) throw Error("x is (masses, 2) or (masses, 3)");
  const std::size_t count = positions.shape(0);
  soft::MassSpringModel model;
  model.dimensions = static_cast<int>(positions.shape(1));
  model.masses = to_vector<double>(masses, "masses");
  if (model.masses.size() == 1) model.masses.assign(count, model.masses[0]);
  if (model.masses.size() != count)
    throw Error("there are " + std::to_string(count) + " positions and " +
                std::to_string(model.masses.size()) + " masses");
  for (nb::handle given : springs) {
    soft::Spring spring;
    Reader reader(given, "a spring");
    reader.read("a", spring.a);
    reader.read("b", spring.b);
    reader.read("rest_length", spring.rest_length);
    reader.read("stiffness", spring.stiffness);
    reader.read("damping", spring.damping);
    reader.read("muscle", spring.muscle);
    reader.read("strength", spring.strength);
    reader.finish();
    model.springs.push_back(spring);
  }
  for (nb::handle given : planes) {
    soft::Plane plane;
    Reader reader(given, "a plane");
    reader.read("normal", plane.normal);
    reader.read("offset", plane.offset);
    reader.read("friction", plane.friction);
    reader.finish();
    model.planes.push_back(plane);
  }
  if (!gravity.is_none()) model.gravity = to_vector<double>(gravity, "gravity");
  model.drag = drag;
  model.contact = static_cast<soft::Contact>(choice(contact, "contact", {"split", "end_of_step"}));
  model.softening = softening;
  model.dt = dt;
  std::vector<double> initial(positions.data(), positions.data() + positions.size());
  const std::vector<double> speeds =
      v.is_none() ? std::vector<double>(initial.size()) : to_vector_of(v, "v", shape_of(positions));
  initial.insert(initial.end(), speeds.begin(), speeds.end());
  return any_system("mass_spring", std::move(initial),
                    [model]<class Real>() { return soft::make_system<Real>(model); });
}

mpm::Material material_of(nb::handle given, std::size_t index) {
  mpm::Material m;
  m.name = "material" + std::to_string(index);
  std::string kind = "neo_hookean";
  Reader reader(given, "a material");
  reader.read("name", m.name);
  reader.read("kind", kind);
  std::vector<std::string> kinds;
  for (const mpm::Law* law : mpm::laws()) kinds.push_back(law->name);
  m.kind = static_cast<mpm::MaterialKind>(choice(kind, "kind", kinds));
  const mpm::Law& law = mpm::law_of(m.kind);
  for (const mpm::Number& n : law.numbers) reader.read(n.name, m.*n.value);
  if (law.contracts) reader.read("fibre", m.fibre);
  reader.read("per_particle", m.per_particle);
  reader.finish();
  return m;
}

SystemHandle particles(const ArrayLike& x, const ArrayLike& volume, const nb::list& materials, double dx,
                       const std::vector<int>& nodes, double dt, const ArrayLike& v,
                       const std::vector<int>& material, const std::vector<int>& actuator,
                       const ArrayLike& gravity, const ArrayLike& origin, const std::string& kernel,
                       const std::string& walls, double friction) {
  const auto positions = as_array<double>(x, "x");
  if (positions.ndim() != 2 || positions.shape(1) < 2 || positions.shape(1) > 3)
    throw Error("x is (particles, 2) or (particles, 3)");
  mpm::Model model;
  const std::size_t dimension = positions.shape(1), count = positions.shape(0);
  model.dimension = static_cast<int>(dimension);
  if (nodes.size() != dimension) throw Error("nodes has one number for each dimension");
  std::copy(nodes.begin(), nodes.end(), model.nodes.begin());
  const auto vector = [&](const ArrayLike& given, const char* what, mpm::Vector& to) {
    if (given.is_none()) return;
    const std::vector<double> values = to_vector<double>(given, what);
    if (values.size() != dimension) throw Error(std::string(what) + " has one number for each dimension");
    std::copy(values.begin(), values.end(), to.begin());
  };
  vector(gravity, "gravity", model.gravity);
  vector(origin, "origin", model.origin);
  model.dx = dx;
  model.dt = dt;
  model.kernel = static_cast<mpm::Kernel>(choice(kernel, "kernel", {"quadratic", "cubic"}));
  for (nb::handle given : materials) model.materials.push_back(material_of(given, model.materials.size()));
  model.particles.x.assign(positions.data(), positions.data() + positions.size());
  if (count == 0) throw Error({"there are no particles", {}, "x is (particles, 2) or (particles, 3)"});
  model.particles.v =
      v.is_none() ? std::vector<double>(positions.size()) : to_vector_of(v, "v", shape_of(positions));
  model.particles.volume = to_vector<double>(volume, "volume");
  const auto per_particle = [&](const auto& values, const char* what) {
    if (values.size() != 1 && values.size() != count)
      throw Error(std::string(what) + " has one number, or one for each particle");
  };
  per_particle(model.particles.volume, "volume");
  per_particle(material, "material");
  per_particle(actuator, "actuator");
  model.particles.material = material;
  model.particles.actuator = actuator;
  for (const int a : actuator)
    if (a >= static_cast<int>(count))
      throw Error({"a particle has actuator " + std::to_string(a) + ", and there are " +
                       std::to_string(count) + " particles",
                   {},
                   "number actuators from 0; -1: none"});
  model.actuators = std::max(0, *std::max_element(actuator.begin(), actuator.end()) + 1);
  const auto contact =
      static_cast<mpm::Contact>(choice(walls, "walls", {"none", "sticky", "slip", "separate", "coulomb"}));
  if (friction < 0) throw Error("friction is negative");
  if (friction > 0 && contact != mpm::Contact::coulomb)
    throw Error({"friction has no effect with walls = '" + walls + "'", {}, "use walls='coulomb'"});
  for (mpm::Wall& wall : model.walls) wall = {contact, 3, friction};
  return any_system("particles", mpm::initial_state<double>(model),
                    [model]<class Real>() { return mpm::system<Real>(model); });
}

}  // namespace

void bind_continua(nb::module_& m) {
  const auto none = [] { return nb::none(); };
  auto g = m.def_submodule("grid", "Fields on a grid.");
  g.def("system", &grid_system, "equation"_a, "nx"_a = 64, "ny"_a = 64, nb::kw_only(), "dx"_a = 1.0,
        "dt"_a = 0.0, "parameters"_a = nb::dict(), "sides"_a = nb::dict(),
        "sources"_a = std::vector<std::int64_t>{},
        "An equation on nx x ny cells of width dx, by its name: 'wave', 'heat', 'shallow_water', 'burgers', "
        "'gray_scott'.\n\n"
        "parameters  by name: one number, or one per cell, x fastest\n"
        "sides       {'west': ('temperature', 20.0), 'south': 'periodic', ...}, where the equation has a "
        "choice\n"
        "sources     cells (j * nx + i), each driven by a number of the control\n"
        "dt          0: half of the longest stable step");
  g.def("own", &own_grid, "rates"_a, "nx"_a = 64, "ny"_a = 64, nb::kw_only(), "dx"_a = 1.0, "dt"_a = 0.1,
        "parameters"_a = nb::dict(), "controls"_a = std::vector<std::string>{}, "sides"_a = nb::dict(),
        "An equation of your own on nx x ny cells of width dx, as text, in three stages of SSP-RK3 per "
        "step.\n\n"
        "rates       {'c': 'D*lap_c - w*c_x + r*c*(1 - c)'}: the rate of every field, of c, c_x, c_y, c_xx, "
        "c_yy "
        "and lap_c\n"
        "            of every field c, of parameters, controls, and x and y, the middle of a cell\n"
        "parameters  by name: one number, or one per cell, x fastest\n"
        "controls    names of numbers that are given for every step\n"
        "sides       {'west': 'closed', 'east': 'zero'}; others are periodic. Closed: as inside; zero: 0 on "
        "the "
        "side\n\n"
        "state       every field, (ny * nx,), x fastest\n"
        "parameter   those given, 'dx', 'dt'");
  auto s = m.def_submodule("soft", "Masses and springs; soft bodies and cloth.");
  s.def("mass_spring", &mass_spring, "x"_a, "masses"_a, "springs"_a, nb::kw_only(), "v"_a = none(),
        "gravity"_a = none(), "drag"_a = 0.0, "planes"_a = nb::list(), "contact"_a = "split",
        "softening"_a = 1e-4, "dt"_a = 1e-3,
        "Masses joined by springs, some of them muscles, above planes with friction.\n\n"
        "x          where they start, (masses, 2) or (masses, 3); v: how fast\n"
        "masses     one number, or one for each\n"
        "springs    [{'a': 0, 'b': 1, 'rest_length': 1.0, 'stiffness': 100.0, 'damping': 0.0, 'muscle': 0, "
        "'strength': 0.1}, ...]\n"
        "planes     [{'normal': [0, 1], 'offset': 0.0, 'friction': 0.5}, ...]: masses stay where normal.x >= "
        "offset\n"
        "contact    'split' cuts a step at the time of impact, 'end_of_step' does not\n"
        "state 'x', 'v'; control 'actuation', one number a muscle; parameters 'mass', 'spring/stiffness', "
        "'plane/friction', ...");
  auto p = m.def_submodule("mpm", "Material points: liquids, elastic bodies, sand, snow.");
  p.def("particles", &particles, "x"_a, "volume"_a, "materials"_a, nb::kw_only(), "dx"_a, "nodes"_a, "dt"_a,
        "v"_a = none(), "material"_a = std::vector<int>{0}, "actuator"_a = std::vector<int>{-1},
        "gravity"_a = none(), "origin"_a = none(), "kernel"_a = "quadratic", "walls"_a = "separate",
        "friction"_a = 0.0,
        "A System of material points in a box of nodes origin + dx (i, j, k), i < nodes[0], ...\n\n"
        "x          (particles, 2) or (particles, 3), two cells inside the walls; v: how fast\n"
        "volume     of a particle at rest: one number, or one for each\n"
        "materials  [{'kind': 'neo_hookean', 'density': 1000.0, 'E': 1e5, 'nu': 0.3}, ...]; kinds: liquid, "
        "fixed_corotated, neo_hookean,\n"
        "           stvk_hencky, von_mises, drucker_prager, snow, muscle (docs/materials.md)\n"
        "material   which of them a particle is of; actuator: which control moves it, if it is a muscle\n"
        "walls      none, sticky, slip, separate, coulomb (with friction)\n"
        "state 'particle/x', 'particle/v', 'particle/C', 'particle/F'; control 'actuation'; parameters "
        "'gravity', 'dt', 'material/<name>/E', ...\n"
        "Scene files (costate.load) also have shapes to fill, vessels that move, and rigid bodies.");
}

}  // namespace costate::python
