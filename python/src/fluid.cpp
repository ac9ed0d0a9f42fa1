// costate.fluid: incompressible flow from numbers instead of files.
#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "any_system.h"
#include "arrays.h"
#include "costate/coupled/swimmer.h"
#include "costate/fluid/flow.h"
#include "costate/fluid/flow_places.h"
#include "costate/fluid/grid/graded.h"
#include "costate/fluid/obstacles/linkage.h"
#include "costate/fluid/obstacles/outline.h"
#include "costate/io/model/load_model.h"
#include "module.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using SystemHandle = std::shared_ptr<AnySystem>;

template <class T>
T one_of(const std::string& word, const char* what, const std::vector<std::pair<const char*, T>>& words) {
  std::string all;
  for (const auto& [name, value] : words) {
    if (word == name) return value;
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  throw Error({std::string(what) + " = '" + word + "'", {}, "use one of: " + all});
}
std::size_t side_number(const std::string& name, std::size_t dim) {
  std::string all;
  for (std::size_t side = 0; side < 2 * dim; ++side) {
    if (name == fluid::kSideNames[side]) return side;
    all += (all.empty() ? "" : ", ") + std::string(fluid::kSideNames[side]);
  }
  throw Error({"there is no side '" + name + "'", {}, "there is " + all});
}
fluid::CellValues values_of(nb::handle values, const char* what) {
  return to_vector<double>(nb::borrow<ArrayLike>(values), what);
}
std::array<double, 3> vector_of(nb::handle values, const char* what, std::size_t dim) {
  const std::vector<double> given = to_vector<double>(nb::borrow<ArrayLike>(values), what);
  if (given.size() != dim)
    throw Error(std::string(what) + " has " + std::to_string(given.size()) + " numbers, not " +
                std::to_string(dim));
  std::array<double, 3> v{};
  std::copy(given.begin(), given.end(), v.begin());
  return v;
}
// f(key, value) for a dictionary; `what` it is for messages.
template <class F>
void each_item(nb::handle object, const std::string& what, const F& f) {
  nb::dict items;
  if (!nb::try_cast(object, items)) throw Error(what + " is not a dictionary");
  for (const auto& [name, value] : items) f(nb::cast<std::string>(name), value);
}
[[noreturn]] void unknown(const std::string& what, const std::string& key, const char* known) {
  throw Error({what + " has an unknown key '" + key + "'", {}, std::string("it has ") + known});
}

// "outflow", or {"velocity": [u, v], "driven": False}, each component a number or one per face.
fluid::Side read_side(const std::string& name, nb::handle object, std::size_t dim) {
  using Kind = fluid::Side::Kind;
  fluid::Side side;
  std::string word;
  if (nb::try_cast(object, word)) {
    side.kind = one_of<Kind>(word, name.c_str(),
                             {{"periodic", Kind::periodic},
                              {"wall", Kind::velocity},
                              {"slip", Kind::slip},
                              {"outflow", Kind::outflow}});
    return side;
  }
  side.kind = Kind::velocity;
  each_item(object, "the side '" + name + "'", [&](const std::string& key, nb::handle value) {
    if (key == "driven") {
      side.driven = nb::cast<bool>(value);
    } else if (key == "velocity") {
      if (!PySequence_Check(value.ptr()) || nb::len(value) != dim)
        throw Error("the velocity on '" + name + "' has a component per axis");
      for (std::size_t c = 0; c < dim; ++c) side.velocity[c] = values_of(value[c], "velocity");
    } else {
      unknown("the side '" + name + "'", key, "velocity, driven");
    }
  });
  return side;
}
template <std::size_t N>
std::array<double, N> numbers_of(nb::handle values, const char* what) {
  const std::array<double, 3> given = vector_of(values, what, N);
  std::array<double, N> numbers;
  std::copy_n(given.begin(), N, numbers.begin());
  return numbers;
}
fluid::Obstacle::Free read_free(nb::handle object) {
  fluid::Obstacle::Free f;
  each_item(object, "free", [&](const std::string& key, nb::handle v) {
    if (key == "mass")
      f.mass = nb::cast<double>(nb::float_(v));
    else if (key == "inertia")
      f.inertia = nb::cast<double>(nb::float_(v));
    else if (key == "gravity")
      f.gravity = numbers_of<2>(v, "gravity");
    else if (key == "spring")
      f.spring = numbers_of<3>(v, "spring");
    else if (key == "damper")
      f.damper = numbers_of<3>(v, "damper");
    else if (key == "axes")
      f.axes = nb::cast<std::array<bool, 3>>(v);
    else
      unknown("free", key, "mass, inertia, gravity, spring, damper, axes");
  });
  return f;
}
fluid::Obstacle read_obstacle(nb::handle object, std::size_t dim) {
  using Shape = fluid::Obstacle::Shape;
  fluid::Obstacle b;
  each_item(object, "an obstacle", [&](const std::string& key, nb::handle v) {
    if (key == "name")
      b.name = nb::cast<std::string>(v);
    else if (key == "shape")
      b.shape = one_of<Shape>(nb::cast<std::string>(v), "shape",
                              {{"ball", Shape::ball},
                               {"ellipsoid", Shape::ellipsoid},
                               {"fourier", Shape::fourier},
                               {"box", Shape::box},
                               {"capsule", Shape::capsule},
                               {"level", Shape::level}});
    else if (key == "free")
      b.free = read_free(v);
    else if (key == "center")
      b.center = vector_of(v, "center", dim);
    else if (key == "size")
      b.size = values_of(v, "size").values;
    else if (key == "angle")
      b.angle = nb::cast<double>(nb::float_(v));
    else if (key == "velocity")
      b.velocity = vector_of(v, "velocity", dim);
    else if (key == "spin" && dim == 2)
      b.spin[2] = nb::cast<double>(nb::float_(v));
    else if (key == "spin")
      b.spin = vector_of(v, "spin", 3);
    else if (key == "driven")
      b.driven = nb::cast<bool>(v);
    else if (key == "moves")
      b.moves = nb::cast<bool>(v);
    else if (key == "core")
      b.core = one_of<fluid::Obstacle::Core>(nb::cast<std::string>(v), "core",
                                             {{"firm", fluid::Obstacle::Core::firm},
                                              {"soft", fluid::Obstacle::Core::soft},
                                              {"surface", fluid::Obstacle::Core::surface}});
    else if (key == "mask")
      b.mask = nb::cast<double>(nb::float_(v));
    else
      unknown("an obstacle", key,
              "name, shape, center, size, angle, velocity, spin, driven, moves, mask, core, free");
  });
  if (nb::dict given; nb::try_cast(object, given) && !(given.contains("center") && given.contains("size")))
    throw Error({"an obstacle has no 'center' or no 'size'", {}, "give both"});
  return b;
}
fluid::Scalar read_scalar(nb::handle object, std::size_t dim) {
  fluid::Scalar s;
  each_item(object, "a scalar", [&](const std::string& key, nb::handle v) {
    if (key == "name")
      s.name = nb::cast<std::string>(v);
    else if (key == "diffusivity")
      s.diffusivity = nb::cast<double>(nb::float_(v));
    else if (key == "carried")
      s.carried =
          one_of<fluid::Scalar::Carried>(nb::cast<std::string>(v), "carried",
                                         {{"central", fluid::Scalar::Carried::central},
                                          {"limited", fluid::Scalar::Carried::limited},
                                          {"semi_lagrangian", fluid::Scalar::Carried::semi_lagrangian},
                                          {"mac_cormack", fluid::Scalar::Carried::mac_cormack}});
    else if (key == "buoyancy")
      s.buoyancy = vector_of(v, "buoyancy", dim);
    else if (key == "mix_norm")
      s.mix_norm = nb::cast<bool>(v);
    else if (key == "source")
      s.source = values_of(v, "source");
    else if (key == "sides")
      each_item(v, "the sides of a scalar", [&](const std::string& side, nb::handle value) {
        s.sides[side_number(side, dim)] = values_of(value, "the value on a side");
      });
    else
      unknown("a scalar", key, "name, diffusivity, buoyancy, source, sides, carried, mix_norm");
  });
  return s;
}

// {"name": "burning", "rate": 1.0, "takes": {"A": 1, "B": 2}, "makes": {"C": 1}}
fluid::Reaction read_reaction(nb::handle object, const std::vector<fluid::Scalar>& scalars) {
  fluid::Reaction r;
  const auto counts = [&](nb::handle given, const char* what) {
    std::vector<int> of(scalars.size(), 0);
    each_item(given, what, [&](const std::string& name, nb::handle count) {
      const auto s = std::ranges::find(scalars, name, &fluid::Scalar::name);
      if (s == scalars.end()) throw Error({"there is no scalar '" + name + "'", {}, "add it to scalars"});
      of[std::size_t(s - scalars.begin())] = nb::cast<int>(count);
    });
    return of;
  };
  each_item(object, "a reaction", [&](const std::string& key, nb::handle v) {
    if (key == "name")
      r.name = nb::cast<std::string>(v);
    else if (key == "rate")
      r.rate = nb::cast<double>(nb::float_(v));
    else if (key == "takes")
      r.takes = counts(v, "takes");
    else if (key == "makes")
      r.makes = counts(v, "makes");
    else
      unknown("a reaction", key, "name, rate, takes, makes");
  });
  return r;
}

fluid::Tracers read_tracers(nb::handle object) {
  fluid::Tracers t;
  each_item(object, "tracers", [&](const std::string& key, nb::handle v) {
    if (key == "name")
      t.name = nb::cast<std::string>(v);
    else if (key == "count")
      t.count = nb::cast<std::int64_t>(v);
    else
      unknown("tracers", key, "name, count");
  });
  return t;
}

fluid::Probe read_probe(nb::handle object, std::size_t dim) {
  fluid::Probe p;
  bool placed = false;
  each_item(object, "a probe", [&](const std::string& key, nb::handle v) {
    if (key == "name")
      p.name = nb::cast<std::string>(v);
    else if (key == "place")
      p.place = vector_of(v, "place", dim), placed = true;
    else if (key == "minus")
      p.minus = vector_of(v, "minus", dim);
    else
      unknown("a probe", key, "name, place, minus");
  });
  if (!placed) throw Error({"the probe '" + p.name + "' has no 'place'", {}, "give one number per axis"});
  return p;
}

std::vector<fluid::Place> places_of(const ArrayLike& places) {
  const auto array = as_array<double>(places, "places");
  const Shape shape = shape_of(array);
  if (shape.size() != 2 || shape[1] < 2 || shape[1] > 3)
    wrong_shape("places", shape, "(places, 2) or (places, 3)");
  const std::vector<double> numbers = to_vector<double>(places, "places");
  std::vector<fluid::Place> all(shape[0], fluid::Place{});
  for (std::size_t i = 0; i < numbers.size(); ++i) all[i / shape[1]][i % shape[1]] = numbers[i];
  return all;
}
void bind_depths(nb::module_& f) {
  const auto vector = [](const ArrayLike& a, const char* what) { return to_vector<double>(a, what); };
  f.def("_outline_depths", [=](const ArrayLike& places, const ArrayLike& corners) {
    return fluid::outline_depths(places_of(places), vector(corners, "corners"));
  });
  f.def("_outline_depths_vjp", [=](const ArrayLike& places, const ArrayLike& corners, const ArrayLike& bar) {
    return fluid::outline_depths_vjp(places_of(places), vector(corners, "corners"),
                                     vector(bar, "depths_bar"));
  });
  f.def("_spline_corners", [=](const ArrayLike& control, int per) {
    return fluid::spline_corners(vector(control, "control"), per);
  });
  f.def("_spline_corners_vjp", [=](std::size_t numbers, int per, const ArrayLike& bar) {
    return fluid::spline_corners_vjp(numbers, per, vector(bar, "corners_bar"));
  });
  f.def("_mesh_depths",
        [=](const ArrayLike& places, const ArrayLike& vertices, const std::vector<std::uint32_t>& t) {
          return fluid::mesh_depths(places_of(places), vector(vertices, "vertices"), t);
        });
  f.def("_mesh_depths_vjp", [=](const ArrayLike& places, const ArrayLike& vertices,
                                const std::vector<std::uint32_t>& t, const ArrayLike& bar) {
    return fluid::mesh_depths_vjp(places_of(places), vector(vertices, "vertices"), t,
                                  vector(bar, "depths_bar"));
  });
}

std::vector<std::array<double, 2>> graded(const ArrayLike& given) {
  const Shape shape = shape_of(as_array<double>(given, "width"));
  if (shape.size() != 2 || shape[1] != 2) wrong_shape("width", shape, "(cells,) or (places, 2)");
  const std::vector<double> numbers = to_vector<double>(given, "width");
  std::vector<std::array<double, 2>> at;
  for (std::size_t k = 0; k < shape[0]; ++k) at.push_back({numbers[2 * k], numbers[2 * k + 1]});
  return at;
}
// Of the cells along an axis: a number, one per cell, or pairs of a place and how wide cells are there.
void read_width(nb::handle given, std::size_t axis, fluid::FlowOptions& o) {
  if (double one; nb::try_cast(given, one)) {
    o.width[axis] = one;
    return;
  }
  const ArrayLike values = nb::borrow<ArrayLike>(given);
  if (shape_of(as_array<double>(values, "width")).size() == 1)
    o.widths[axis] = to_vector<double>(values, "width");
  else
    o.widths[axis] = fluid::graded_widths(graded(values), o.cells[axis]);
}
void read_widths(nb::handle given, fluid::FlowOptions& o) {
  const std::size_t dim = o.cells.size();
  if (double one; nb::try_cast(given, one)) return o.width.fill(one);
  if (!PySequence_Check(given.ptr()) || nb::len(given) != dim)
    throw Error("width is one number, or one per axis");
  for (std::size_t a = 0; a < dim; ++a) read_width(given[a], a, o);
}

// A model that swims.
struct SwimmerFile {
  std::optional<std::filesystem::path> model;
  std::optional<std::string> keyframe;
  double density;
  std::vector<std::string> geoms;
};
void put_into(const SwimmerFile& file, fluid::FlowOptions& o) {
  if (!file.model) {
    if (file.keyframe || !file.geoms.empty())
      throw Error({"keyframe or geoms without a model", {}, "add model='fish.xml'"});
    return;
  }
  coupled::Swimmer swimmer{
      .model = rigid::load(file.model->string()), .density = file.density, .geoms = file.geoms};
  if (file.keyframe) swimmer.initial_state = rigid::initial_state(swimmer.model, *file.keyframe);
  coupled::put_into(o, swimmer);
}
// At rest, and the model where it starts.
std::vector<double> start_of(const fluid::FlowOptions& o) {
  if (!o.linkage) return {};
  const Signature signature = fluid::flow<double>(o)->signature();
  std::vector<double> x(std::size_t(signature.states()), 0.0);
  std::ranges::copy(o.linkage->initial_state(),
                    x.begin() + std::ptrdiff_t(signature.find(Role::state, "model/q").offset));
  return x;
}

SystemHandle flow(const std::vector<std::int64_t>& cells, const nb::object& width, double dt,
                  const ArrayLike& viscosity, const nb::object& force, const nb::dict& sides,
                  const nb::list& obstacles, const nb::list& scalars, bool push, const std::string& scheme,
                  bool pressure, const ArrayLike& resistance, double smagorinsky, bool implicit, bool limited,
                  const nb::list& tracers, const nb::list& probes, bool dissipation,
                  const nb::list& reactions, const std::optional<std::filesystem::path>& model,
                  const std::optional<std::string>& keyframe, double density,
                  const std::vector<std::string>& geoms) {
  fluid::FlowOptions o;
  const std::size_t dim = cells.size();
  o.cells = cells;
  o.dt = dt;
  const auto per_cell = [&](const ArrayLike& values, const char* what) {
    const Shape want(cells.rbegin(), cells.rend());
    const Shape shape = shape_of(as_array<double>(values, what));
    if (shape.size() > 1 && shape != want) wrong_shape(what, shape, "x last: " + text_of(want));
    return to_vector<double>(values, what);
  };
  o.viscosity = per_cell(viscosity, "viscosity");
  o.resistance = per_cell(resistance, "resistance");
  o.push = push;
  o.pressure = pressure;
  o.smagorinsky = smagorinsky;
  o.implicit = implicit;
  o.limited = limited;
  o.dissipation = dissipation;
  o.scheme = one_of<fluid::Scheme>(scheme, "scheme",
                                   {{"rk3", fluid::Scheme::rk3},
                                    {"euler", fluid::Scheme::euler},
                                    {"semi_lagrangian", fluid::Scheme::semi_lagrangian},
                                    {"stokes", fluid::Scheme::stokes}});
  if (dim == 2 || dim == 3) {
    read_widths(width, o);
    if (!force.is_none()) o.force = vector_of(force, "force", dim);
    for (const auto& [name, side] : sides) {
      const std::string key = nb::cast<std::string>(name);
      o.sides[side_number(key, dim)] = read_side(key, side, dim);
    }
    for (const nb::handle b : obstacles) o.obstacles.push_back(read_obstacle(b, dim));
    for (const nb::handle s : scalars) o.scalars.push_back(read_scalar(s, dim));
    for (const nb::handle r : reactions) o.reactions.push_back(read_reaction(r, o.scalars));
    for (const nb::handle p : probes) o.probes.push_back(read_probe(p, dim));
    for (const nb::handle t : tracers) o.tracers.push_back(read_tracers(t));
    put_into({model, keyframe, density, geoms}, o);
  }
  (void)fluid::flow<double>(o);  // says what is wrong now, not at the first rollout
  return std::make_shared<AnySystem>(
      "flow", [o](std::int64_t) { return SystemPtr<double>(fluid::flow<double>(o)); },
      [o](std::int64_t) { return SystemPtr<float>(fluid::flow<float>(o)); }, start_of(o));
}

}  // namespace

void bind_fluid(nb::module_& m) {
  auto f = m.def_submodule("fluid", "Incompressible flow.");
  bind_depths(f);
  f.def("_graded_widths",
        [](const ArrayLike& at, std::int64_t cells) { return fluid::graded_widths(graded(at), cells); });
  f.def(
      "flow", &flow, "cells"_a, nb::kw_only(), "width"_a = 1.0, "dt"_a = 0.01, "viscosity"_a = 0.01,
      "force"_a = nb::none(), "sides"_a = nb::dict(), "obstacles"_a = nb::list(), "scalars"_a = nb::list(),
      "push"_a = false, "scheme"_a = "rk3", "pressure"_a = false, "resistance"_a = 0.0, "smagorinsky"_a = 0.0,
      "implicit"_a = false, "limited"_a = false, "tracers"_a = nb::list(), "probes"_a = nb::list(),
      "dissipation"_a = false, "reactions"_a = nb::list(), "model"_a = nb::none(), "keyframe"_a = nb::none(),
      "density"_a = 1000.0, "geoms"_a = std::vector<std::string>{},
      "Incompressible flow in a box of cells = (nx, ny) or (nx, ny, nz), on a staggered grid.\n\n"
      "width      of a cell: one number, or one per axis; on a stretched grid, for an axis, one per cell, or "
      "pairs\n"
      "           of a place and how wide cells are there: [[0, 4], [0.15, 1], [0.35, 1], [2.2, 8]]\n"
      "viscosity  one number, or one per cell; force: one number per axis\n"
      "sides      {'west': {'velocity': [u, v], 'driven': False}, 'east': 'outflow', 'south': 'wall', "
      "'north': "
      "'slip'};\n"
      "           others are periodic. A component is one number, or one per face. Driven: a control\n"
      "obstacles  [{'name': 'body', 'shape': 'ball', 'center': [x, y], 'size': r, 'angle': 0, 'velocity': "
      "[0, 0], 'spin': 0,\n"
      "           'driven': False, 'moves': False, 'mask': 1, 'core': 'firm'}]; core: firm, soft, surface; "
      "shapes: ball (radius), ellipsoid (semi-axes), fourier (r_0, a_1, b_1, ...), box (half edges),\n"
      "           capsule (radius, half length), level (the depth inside of every cell: outline, spline, "
      "mesh).\n"
      "           'free': {'mass': m, 'inertia': I, 'gravity': [0, -9.8], 'spring': [0, 0, k], 'damper': "
      "..., "
      "'axes': [True, True, True]}:\n"
      "           the flow moves it; mass and inertia beyond the fluid it displaces\n"
      "scalars    [{'name': 'c', 'diffusivity': 0.01, 'buoyancy': [0, 0], 'source': 0, 'sides': {'south': "
      "1},\n"
      "           'carried': 'central'}]; or 'limited': upwind without ripples; 'semi_lagrangian', "
      "'mac_cormack': "
      "with the scheme 'semi_lagrangian'\n"
      "reactions  [{'name': 'burning', 'rate': 1.0, 'takes': {'A': 1, 'B': 2}, 'makes': {'C': 1}}] of "
      "scalars: "
      "rate A B^2 per second\n"
      "push       a force on every face is a control\n"
      "scheme     'rk3', 'euler', for smoke 'semi_lagrangian'; 'stokes': a step leads to the steady creeping "
      "flow\n"
      "pressure   the state has 'p' of every cell, over density\n"
      "resistance of 'stokes', one number or one per cell: of a porous medium\n"
      "smagorinsky  constant of the viscosity of eddies that the grid does not resolve, about 0.1; 0: "
      "none\n"
      "implicit   viscosity does not limit dt\n"
      "limited    speeds are carried by limited upwind fluxes, without ripples\n"
      "tracers    [{'name': 'seeds', 'count': 10}]: points that the flow carries along; the state has x, y "
      "(and z) "
      "of each in turn\n"
      "probes     [{'name': 'inlet', 'place': [x, y], 'minus': [x, y]}]: the state has 'inlet/velocity', "
      "'inlet/T' of every "
      "scalar, with pressure 'inlet/p'; with minus how much they differ from there\n"
      "dissipation  the state has 'dissipation', by viscosity; a scalar with 'mix_norm': True has "
      "'<scalar>/mix_norm_squared'\n"
      "model      a file of rigid bodies (MJCF, URDF) that swim in two dimensions, from `keyframe` on: the "
      "state has\n"
      "           'model/q', 'model/v', its actuators are controls, its `geoms` (all of what can move) "
      "obstacles; density:\n"
      "           of the fluid, times the depth of the model\n\n"
      "state      'u', 'v', 'w' on faces, x fastest, nx + 1 per row of 'u' where x does not wrap; scalars in "
      "cells;\n"
      "           '<obstacle>/force', '<obstacle>/torque' of the last step; '<obstacle>/moved', "
      "'<obstacle>/turned' of one that moves, '<obstacle>/rate' of a free one\n"
      "parameter  'viscosity' per cell, 'force', 'dt', 'west/u', ..., '<scalar>/diffusivity', "
      "'<reaction>/rate', '<obstacle>/center', ...");
}

}  // namespace costate::python
