#include "costate/fluid/flow.h"

#include <cmath>
#include <numbers>

#include "costate/core/text.h"
#include "costate/fluid/obstacles/shapes.h"
#include "costate/fluid/step/make_flow_system.h"

namespace costate::fluid {
namespace {

constexpr Index kMostCells = Index(1) << 31;

void check_grid(const FlowOptions& o) {
  if (o.cells.size() != 2 && o.cells.size() != 3)
    throw Error({"a flow has two or three numbers of cells, not " + std::to_string(o.cells.size()),
                 {},
                 "write {64, 64} or {32, 32, 32}"});
  Index cells = 1;
  for (std::size_t a = 0; a < o.cells.size(); ++a) {
    const Index n = o.cells[a];
    if (n < 2 || n > 1 << 16)
      throw Error({"a flow cannot have " + std::to_string(n) + " cells along an axis",
                   {},
                   "take at least 2 and at most 65536"});
    cells *= n;
    if (!(o.width[a] > 0) || !std::isfinite(o.width[a]))
      throw Error({"the width of a cell is " + number(o.width[a]), {}, "it must be positive"});
    if (!std::isfinite(o.force[a])) throw Error("the force on a flow must be finite");
  }
  if (cells > kMostCells)
    throw Error(
        {"a flow of " + std::to_string(cells) + " cells does not fit into memory", {}, "take fewer cells"});
  if (!(o.smagorinsky >= 0) || !std::isfinite(o.smagorinsky))
    throw Error({"Smagorinsky's constant is " + number(o.smagorinsky), {}, "take about 0.1, or 0 for none"});
  if (!(o.dt > 0) || !std::isfinite(o.dt)) throw Error("a flow needs dt > 0, not " + number(o.dt));
  for (const double nu : o.viscosity.values)
    if (!(nu >= 0) || !std::isfinite(nu))
      throw Error({"the viscosity is " + number(nu), {}, "it must be zero or positive"});
}

void check_sides(const FlowOptions& o) {
  for (std::size_t side = 0; side < 2 * o.cells.size(); ++side) {
    const Side &here = o.sides[side], &there = o.sides[side ^ 1];
    if (here.kind == Side::Kind::periodic && there.kind != Side::Kind::periodic)
      throw Error({std::string("the side ") + kSideNames[side] + " is periodic and " + kSideNames[side ^ 1] +
                       " is not",
                   {},
                   "make both periodic, or neither"});
    for (const CellValues& speeds : here.velocity)
      for (const double speed : speeds.values)
        if (!std::isfinite(speed))
          throw Error(std::string("a velocity on the side ") + kSideNames[side] + " is not finite");
    if (here.driven && here.kind != Side::Kind::velocity)
      throw Error({std::string("the side ") + kSideNames[side] + " has no velocity that could be driven",
                   {},
                   "make it one with a velocity, or leave out `driven`"});
  }
}

// What comes in must leave, unless a side is open. Controls start at zero.
void check_net_inflow(const FlowOptions& o, const Sides& sides) {
  double net = 0, gross = 0;
  for (std::size_t side = 0; side < 2 * o.cells.size(); ++side) {
    const Side& s = o.sides[side];
    if (s.kind == Side::Kind::outflow) return;
    if (s.kind != Side::Kind::velocity || s.driven) continue;
    const auto axis = side / 2;
    const Index faces = sides.side_faces(int(axis), int(axis));
    double area = 1;
    for (std::size_t a = 0; a < o.cells.size(); ++a)
      if (a != axis) area *= o.width[a];
    const std::vector<double>& speeds = s.velocity[axis].values;
    for (Index i = 0; i < faces; ++i) {
      const double in = (side % 2 == 0 ? 1 : -1) * area * speeds[speeds.size() == 1 ? 0 : std::size_t(i)];
      net += in, gross += std::abs(in);
    }
  }
  if (std::abs(net) > 1e-9 * gross)
    throw Error({"a net inflow of " + number(net) + " cannot leave the box",
                 {},
                 "make a side an outflow, or let the velocities on the sides add up to zero"});
}

Sides make_sides(const FlowOptions& o, Index lanes) {
  std::array<Index, 3> n{1, 1, 1};
  std::array<bool, 3> periodic{};
  Sides sides;
  for (std::size_t a = 0; a < o.cells.size(); ++a) {
    n[a] = o.cells[a];
    periodic[a] = o.sides[2 * a].kind == Side::Kind::periodic;
    for (std::size_t end = 0; end < 2; ++end) sides.kind[a][end] = o.sides[2 * a + end].kind;
  }
  sides.shape = Shape(int(o.cells.size()), n, o.width, periodic, lanes);
  return sides;
}

void add_side(const FlowOptions& o, std::size_t side, FlowModel& m) {
  const Side& s = o.sides[side];
  if (s.kind != Side::Kind::velocity) return;
  const int axis = int(side / 2), end = int(side % 2);
  for (int c = 0; c < m.sides.shape.dim; ++c) {
    const Index count = m.sides.side_faces(axis, c);
    const std::string name = std::string(kSideNames[side]) + "/" + kComponents[c];
    m.given.push_back(
        {axis, end, c, s.driven, s.driven ? m.signature.controls() : m.signature.parameters(), count});
    if (s.driven) {
      m.signature.control(name, count, "m/s");
      continue;
    }
    const std::vector<double>& values = s.velocity[std::size_t(c)].values;
    if (values.size() != 1 && Index(values.size()) != count)
      throw Error({"'" + name + "' has " + std::to_string(values.size()) + " numbers, and the side has " +
                       std::to_string(count) + " faces of that component",
                   {},
                   "give one number, or one per face"});
    if (values.size() == 1)
      m.signature.parameter_field(name, count, values[0], "m/s");
    else
      m.signature.parameter(name, values, "m/s");
  }
}

// "c/diffusivity", "c/buoyancy", "c/source", and "c/west", ... where a side has a value.
void add_scalar(const FlowOptions& o, const Scalar& s, FlowModel& m) {
  const Shape& shape = m.sides.shape;
  if (!(s.diffusivity >= 0) || !std::isfinite(s.diffusivity))
    throw Error({"the diffusivity of '" + s.name + "' is " + number(s.diffusivity),
                 {},
                 "it must be zero or positive"});
  if (s.carried != Scalar::Carried::central && o.scheme != Scheme::semi_lagrangian)
    throw Error({"the scalar '" + s.name + "' is to be traced back, and the scheme has stages of fluxes",
                 {},
                 "take the scheme semi_lagrangian, or let central fluxes carry the scalar"});
  if (m.scalars.size() == 8) throw Error({"a flow carries at most 8 scalars", {}, "run several flows"});
  FlowModel::ScalarModel one{m.signature.states(), m.signature.parameters(), 0, 0};
  m.signature.state(s.name, shape.cells());
  m.signature.parameter(s.name + "/diffusivity", s.diffusivity, "m^2/s");
  one.buoyancy_at = m.signature.parameters();
  m.signature.parameter(s.name + "/buoyancy",
                        std::vector<double>(s.buoyancy.begin(), s.buoyancy.begin() + shape.dim), "m/s^2");
  one.source_at = m.signature.parameters();
  s.source.add_to(m.signature, (s.name + "/source").c_str(), shape.cells(), "1/s");
  for (std::size_t side = 0; side < 2 * o.cells.size(); ++side) {
    if (!s.sides[side]) continue;
    const std::string name = s.name + "/" + kSideNames[side];
    if (shape.periodic[side / 2])
      throw Error({"'" + name + "' has a value, and that side is periodic", {}, "leave the value out"});
    one.fixed[side] = true;
    one.given.push_back({int(side), m.signature.parameters(), shape.cells() / shape.n[side / 2]});
    s.sides[side]->add_to(m.signature, name.c_str(), one.given.back().count, "");
  }
  one.carried = s.carried;
  m.scalars.push_back(one);
}

std::size_t sizes_of(const FlowOptions& o, const Obstacle& b) {
  const std::size_t dim = o.cells.size();
  switch (b.shape) {
    case Obstacle::Shape::ball:
      return 1;
    case Obstacle::Shape::capsule:
      return 2;
    case Obstacle::Shape::ellipsoid:
    case Obstacle::Shape::box:
      return dim;
    case Obstacle::Shape::level:
      return std::size_t(o.cells[0] * o.cells[1] * (dim == 3 ? o.cells[2] : 1));
    case Obstacle::Shape::fourier:
      break;
  }
  return b.size.size() % 2 == 0 || b.size.size() > 33 ? 0 : b.size.size();
}
void check_thickness(const FlowOptions& o, const Obstacle& b, const std::string& who) {
  using Kind = Obstacle::Shape;
  double widest = 0;
  for (std::size_t a = 0; a < o.cells.size(); ++a) widest = std::max(widest, o.width[a]);
  // The deepest cell of a level set, or what makes the others thick.
  const double least = 1.5 * widest * b.mask;
  const auto thin = [&](double half) {
    throw Error({who + " is thinner than the mask that would make it: " + number(2 * half) +
                     " across, and cells are " + number(widest) + " wide",
                 {},
                 "make it at least three cells thick, or the cells smaller"});
  };
  if (b.shape == Kind::level) {
    for (const double d : b.size)
      if (!std::isfinite(d)) throw Error(who + " has a depth that is not finite");
    const double deepest = *std::max_element(b.size.begin(), b.size.end());
    if (!(deepest >= 0.5 * least)) thin(deepest);
    return;
  }
  const std::size_t lengths = b.shape == Kind::fourier || b.shape == Kind::capsule ? 1 : b.size.size();
  for (std::size_t i = 0; i < lengths; ++i)
    if (!(b.size[i] >= least)) thin(b.size[i]);
  if (b.shape == Kind::capsule && !(b.size[1] >= 0)) throw Error(who + " has a negative half length");
}
void check_free(const FlowOptions& o, const Obstacle& b, const std::string& who) {
  if (!b.free) return;
  if (o.cells.size() == 3 || b.core == Obstacle::Core::surface || o.implicit ||
      b.shape == Obstacle::Shape::level || o.scheme == Scheme::semi_lagrangian)
    throw Error({who + " is free, which bodies are in two dimensions, with a mask, a shape that can move, "
                       "and the schemes "
                       "rk3 and euler with explicit viscosity",
                 {},
                 "leave out `free`, or the other"});
  const Obstacle::Free& f = *b.free;
  if (!(f.mass >= 0 && f.inertia >= 0) || !std::isfinite(f.mass + f.inertia))
    throw Error({who + " has a mass of " + number(f.mass) + " and an inertia of " + number(f.inertia) +
                     " beyond the fluid that it displaces",
                 {},
                 "take positive ones: a body is at least as heavy as the fluid"});
}
void check_obstacle(const FlowOptions& o, const Obstacle& b) {
  const std::size_t dim = o.cells.size();
  const std::string who = "the obstacle '" + b.name + "'";
  using Kind = Obstacle::Shape;
  if (dim == 3 && b.shape == Kind::fourier)
    throw Error({who + " has a shape for two dimensions", {}, "take a ball, a box or an ellipsoid"});
  if (b.size.empty() || b.size.size() != sizes_of(o, b))
    throw Error(
        {who + " has " + std::to_string(b.size.size()) + " sizes",
         {},
         "a ball has a radius, an ellipsoid and a box one half length per dimension, a capsule a radius "
         "and a half length, fourier r_0 and pairs of waves, up to 33, a level set one depth per cell"});
  if (b.name.empty() || b.name.find_first_of("/*[]") != std::string::npos)
    throw Error({who + " needs another name", {}, "a name is not empty and has none of / * [ ]"});
  if (b.angle != 0 && (dim == 3 || b.shape == Kind::ball || b.shape == Kind::level))
    throw Error(
        {who + " has an angle, which turns nothing",
         {},
         "in two dimensions an ellipse, a box, a capsule and a fourier shape have one: leave it out"});
  if (b.shape == Kind::level && (b.moves || b.core == Obstacle::Core::surface))
    throw Error({who + " is made of depths of cells, which neither move nor have points",
                 {},
                 "take another shape, or leave out `moves` and the core surface"});
  for (std::size_t a = 0; a < dim; ++a) {
    const double length = double(o.cells[a]) * o.width[a];
    if (!(b.center[a] >= 0 && b.center[a] <= length))
      throw Error({who + " lies outside of the box: its center is at " + number(b.center[a]) +
                       " along axis " + std::to_string(a) + ", and the box ends at " + number(length),
                   {},
                   "move it inside"});
  }
  check_thickness(o, b, who);
  check_free(o, b, who);
}

// Directions from the middle to points on the surface, about 1.2 cells apart.
std::vector<std::array<double, 2>> surface_points(const FlowOptions& o, const Obstacle& b) {
  using Kind = Obstacle::Shape;
  if (o.cells.size() == 3 || b.moves || o.pressure || b.shape == Kind::box || b.shape == Kind::capsule)
    throw Error({"the surface of '" + b.name +
                     "' holds flows in two dimensions, without corners, without moving and without "
                     "the pressure in the state",
                 {},
                 "take the core firm"});
  const auto point = [&](double t) {
    const double c = std::cos(t), s = std::sin(t);
    if (b.shape == Obstacle::Shape::ellipsoid) return std::array<double, 2>{b.size[0] * c, b.size[1] * s};
    double r = b.size[0];
    for (std::size_t k = 1; b.shape == Obstacle::Shape::fourier && 2 * k < b.size.size(); ++k)
      r += b.size[2 * k - 1] * std::cos(double(k) * t) + b.size[2 * k] * std::sin(double(k) * t);
    return std::array<double, 2>{r * c, r * s};
  };
  constexpr int kParts = 4096;
  std::vector<double> length = {0};
  for (int i = 0; i < kParts; ++i) {
    const auto p = point(2 * std::numbers::pi * i / kParts),
               q = point(2 * std::numbers::pi * (i + 1) / kParts);
    length.push_back(length.back() + std::hypot(q[0] - p[0], q[1] - p[1]));
  }
  const auto count = std::size_t(std::ceil(length.back() / (1.2 * std::max(o.width[0], o.width[1]))));
  if (count > 1000)
    throw Error({"the surface of '" + b.name + "' has " + std::to_string(count) + " points",
                 {},
                 "at most 1000 are held together: take the core firm"});
  std::vector<std::array<double, 2>> points;
  for (std::size_t k = 0, i = 0; k < count; ++k) {
    const double aim = length.back() * double(k) / double(count);
    while (length[i + 1] < aim) ++i;
    const double t =
        2 * std::numbers::pi * (double(i) + (aim - length[i]) / (length[i + 1] - length[i])) / kParts;
    points.push_back({std::cos(t), std::sin(t)});
  }
  return points;
}

// "body/center", "body/size", "body/angle", "body/velocity", "body/spin"; the force on it is in the state.
void add_obstacle(const FlowOptions& o, const Obstacle& b, FlowModel& m) {
  check_obstacle(o, b);
  const std::size_t dim = o.cells.size(), spins = dim == 2 ? 1 : 3;
  if (!(b.mask > 0) || !std::isfinite(b.mask))
    throw Error({"the mask of '" + b.name + "' is " + number(b.mask) + " cells wide", {}, "take about 1"});
  const double width = b.mask * *std::max_element(o.width.begin(), o.width.begin() + std::ptrdiff_t(dim));
  FlowModel::ObstacleModel one{
      b.shape, b.core, width, b.size.size(), b.driven, m.signature.parameters(), 0, m.signature.states()};
  one.first_point = m.points();
  if (b.core == Obstacle::Core::surface) one.points = surface_points(o, b);
  const auto some = [](const std::array<double, 3>& x, std::size_t from, std::size_t count) {
    return std::vector<double>(x.begin() + std::ptrdiff_t(from), x.begin() + std::ptrdiff_t(from + count));
  };
  m.signature.state(b.name + "/force", Index(dim), dim == 2 ? "m^3/s^2" : "m^4/s^2");
  m.signature.state(b.name + "/torque", Index(spins), dim == 2 ? "m^4/s^2" : "m^5/s^2");
  m.signature.parameter(b.name + "/center", some(b.center, 0, dim), "m");
  const bool level = b.shape == Obstacle::Shape::level;
  if (level) one.level = m.signature.parameters(), one.sizes = 0;
  m.signature.parameter(b.name + (level ? "/level" : "/size"), b.size, "m");
  one.turns = b.shape != Obstacle::Shape::ball && !level && dim == 2;
  if (one.turns) {
    m.signature.parameter(b.name + "/angle", b.angle, "rad");
    ++one.sizes;
  }
  if (b.moves || b.free) {
    one.moved_at = m.signature.states();
    m.signature.state(b.name + "/moved", Index(dim), "m");
    if (dim == 2) m.signature.state(b.name + "/turned", 1, "rad");
  }
  one.motion_at = b.driven ? m.signature.controls() : m.signature.parameters();
  if (b.driven) {
    m.signature.control(b.name + "/velocity", Index(dim), "m/s")
        .control(b.name + "/spin", Index(spins), "rad/s");
  } else {
    m.signature.parameter(b.name + "/velocity", some(b.velocity, 0, dim), "m/s");
    m.signature.parameter(b.name + "/spin", some(b.spin, 3 - spins, spins), "rad/s");
  }
  if (b.free) {
    const Obstacle::Free& f = *b.free;
    one.free_at = m.signature.find(Role::state, b.name + "/rate").offset;
    one.free = f.axes;
    one.body_at = m.signature.parameters();
    m.signature.parameter(b.name + "/mass", f.mass, "m^2").parameter(b.name + "/inertia", f.inertia, "m^4");
    m.signature.parameter(b.name + "/gravity", {f.gravity[0], f.gravity[1]}, "m/s^2");
    m.signature.parameter(b.name + "/spring", {f.spring[0], f.spring[1], f.spring[2]});
    m.signature.parameter(b.name + "/damper", {f.damper[0], f.damper[1], f.damper[2]});
  }
  m.obstacles.push_back(one);
}

}  // namespace

Side wall(std::array<double, 3> velocity) {
  return {Side::Kind::velocity, {velocity[0], velocity[1], velocity[2]}};
}

void limit_parameters(const FlowOptions& o, Signature& signature) {
  signature.limit("dt", kPositive).limit("viscosity", kNotNegative);
  for (const Scalar& s : o.scalars) signature.limit(s.name + "/diffusivity", kNotNegative);
  for (const Obstacle& b : o.obstacles) {
    ParameterRange thick = kPositive;  // of a fourier shape r_0 alone: its waves have any sign
    thick.numbers = b.shape == Obstacle::Shape::fourier || b.shape == Obstacle::Shape::capsule ? 1 : 0;
    if (b.shape != Obstacle::Shape::level) signature.limit(b.name + "/size", thick);
    if (b.free) signature.limit(b.name + "/mass", kNotNegative).limit(b.name + "/inertia", kNotNegative);
  }
}

// What the scheme stokes has besides speeds: "dissipation" and "resisted", powers over density.
void complete_stokes(const FlowOptions& o, FlowModel& m) {
  const Shape& shape = m.sides.shape;
  if (!o.obstacles.empty() || !o.scalars.empty() || o.push || o.smagorinsky != 0 || o.implicit)
    throw Error(
        {"the scheme stokes knows neither obstacles nor scalars, pushes, eddies and implicit viscosity",
         {},
         "make a body of cells with a high `resistance`, or take the scheme rk3"});
  if (o.viscosity.values.size() != 1)
    throw Error({"the scheme stokes has one viscosity, not one per cell", {}, "give one number"});
  for (const double alpha : o.resistance.values)
    if (!(alpha >= 0) || !std::isfinite(alpha))
      throw Error({"the resistance is " + number(alpha), {}, "it must be zero or positive"});
  if (o.pressure) {
    m.pressure = m.signature.states();
    m.signature.state("p", shape.cells(), "m^2/s^2");
  }
  m.powers = m.signature.states();
  const char* const unit = shape.dim == 2 ? "m^4/s^3" : "m^5/s^3";
  m.signature.state("dissipation", 1, unit).state("resisted", 1, unit);
  m.signature.parameter("viscosity", o.viscosity.values[0], "m^2/s");
  o.resistance.add_to(m.signature, "resistance", shape.cells(), "1/s");
  m.signature.parameter("force", std::vector<double>(o.force.begin(), o.force.begin() + shape.dim), "m/s^2");
  for (std::size_t side = 0; side < 2 * o.cells.size(); ++side) add_side(o, side, m);
  check_net_inflow(o, m.sides);
  m.signature.limit("viscosity", kNotNegative).limit("resistance", kNotNegative);
}

FlowModel make_model(const FlowOptions& o, Index lanes) {
  check_grid(o);
  check_sides(o);
  FlowModel m;
  m.scheme = o.scheme;
  m.sides = make_sides(o, lanes);
  const Shape& shape = m.sides.shape;
  for (int a = 0; a < shape.dim; ++a) {
    m.face_offset[std::size_t(a)] = m.signature.states();
    m.signature.state(kComponents[a], shape.face_count(a), "m/s");
  }
  if (o.scheme == Scheme::stokes) {
    complete_stokes(o, m);
    return m;
  }
  if (o.resistance.values != std::vector<double>{0.0})
    throw Error({"a resistance of cells is for the scheme stokes", {}, "take that scheme, or obstacles"});
  o.viscosity.add_to(m.signature, "viscosity", shape.cells(), "m^2/s");
  m.signature.parameter("force", std::vector<double>(o.force.begin(), o.force.begin() + shape.dim), "m/s^2");
  m.signature.parameter("dt", o.dt, "s");
  m.implicit = o.implicit;
  m.eddies = o.smagorinsky != 0;
  if (m.eddies) m.signature.parameter("smagorinsky", o.smagorinsky).limit("smagorinsky", kNotNegative);
  for (std::size_t side = 0; side < 2 * o.cells.size(); ++side) add_side(o, side, m);
  check_net_inflow(o, m.sides);
  if (o.push) {
    m.push = m.signature.controls();
    for (int a = 0; a < shape.dim; ++a)
      m.signature.control(std::string("push/") + kComponents[a], shape.face_count(a), "m/s^2");
  }
  m.scalar_fields = m.signature.fields(Role::parameter).size();
  for (const Scalar& s : o.scalars) add_scalar(o, s, m);
  for (const Obstacle& b : o.obstacles)
    if (b.free && o.cells.size() == 2) m.signature.state(b.name + "/rate", 3, "m/s, rad/s");
  m.stage_size = m.signature.states();
  m.obstacle_fields = m.signature.fields(Role::parameter).size();
  for (const Obstacle& b : o.obstacles) add_obstacle(o, b, m);
  if (o.pressure) {
    m.pressure = m.signature.states();
    m.signature.state("p", shape.cells(), "m^2/s^2");
  }
  limit_parameters(o, m.signature);
  return m;
}

template <class Real>
std::shared_ptr<System<Real>> flow(const FlowOptions& options) {
  FlowModel model = make_model(options, kNativeLanes<Real>);
  const bool flat = model.sides.shape.dim == 2;
  if (options.scheme == Scheme::stokes) return make_stokes_system<Real>(std::move(model));
  if (options.scheme == Scheme::semi_lagrangian)
    return flat ? make_flow_system<Real, 2, true>(std::move(model))
                : make_flow_system<Real, 3, true>(std::move(model));
  return flat ? make_flow_system<Real, 2, false>(std::move(model))
              : make_flow_system<Real, 3, false>(std::move(model));
}
template std::shared_ptr<System<float>> flow<float>(const FlowOptions&);
template std::shared_ptr<System<double>> flow<double>(const FlowOptions&);

}  // namespace costate::fluid
