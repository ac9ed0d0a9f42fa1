#include "costate/fluid/flow.h"

#include <algorithm>
#include <cmath>

#include "costate/core/text.h"
#include "costate/fluid/flow_places.h"
#include "costate/fluid/obstacles/obstacle_model.h"
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
    if (!o.widths[a].empty() && Index(o.widths[a].size()) != n)
      throw Error(
          {"an axis of " + std::to_string(n) + " cells has " + std::to_string(o.widths[a].size()) + " widths",
           {},
           "give one width per cell"});
    std::vector<double> widths = o.widths[a];
    if (widths.empty()) widths = {o.width[a]};
    for (const double width : widths)
      if (!(width > 0) || !std::isfinite(width))
        throw Error({"the width of a cell is " + number(width), {}, "it must be positive"});
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

// The longest stretched axis is eliminated; others are multiplied by the matrix of their modes.
void check_stretched(const FlowOptions& o) {
  constexpr Index kMostModes = 2048;
  Index longest = 0, second = 0;
  for (std::size_t a = 0; a < o.cells.size(); ++a) {
    if (o.widths[a].empty()) continue;
    second = std::max(second, std::min(longest, o.cells[a]));
    longest = std::max(longest, o.cells[a]);
  }
  if (second > kMostModes)
    throw Error({"a second stretched axis has " + std::to_string(second) + " cells, and takes at most 2048",
                 {},
                 "stretch one axis, or take fewer cells"});
}

void check_scheme(const FlowOptions& o) {
  const bool limited = o.limited || std::ranges::any_of(o.scalars, [](const Scalar& s) {
                         return s.carried == Scalar::Carried::limited;
                       });
  if (stretched(o) &&
      (o.scheme == Scheme::semi_lagrangian || o.scheme == Scheme::stokes || limited || o.implicit))
    throw Error(
        {"a stretched grid is for the schemes rk3 and euler with central fluxes and explicit viscosity",
         {},
         "take those, or cells of one width"});
  if (o.limited && (o.scheme == Scheme::semi_lagrangian || o.scheme == Scheme::stokes))
    throw Error({std::string("limited fluxes are to carry the speeds, and the scheme ") +
                     (o.scheme == Scheme::stokes ? "stokes" : "semi_lagrangian") + " has no fluxes of speeds",
                 {},
                 "take the scheme rk3 or euler, or leave out `limited`"});
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
    const std::size_t across = axis == 0 ? 1 : 0, up = axis == 2 ? 1 : 2;
    const Index n = sides.shape.n[across];
    const std::vector<double>& speeds = s.velocity[axis].values;
    for (Index i = 0; i < faces; ++i) {
      const double area = sides.shape.width(int(across), i % n) *
                          (o.cells.size() == 3 ? sides.shape.width(int(up), i / n) : 1);
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
  const bool limited = o.limited || std::ranges::any_of(o.scalars, [](const Scalar& s) {
                         return s.carried == Scalar::Carried::limited;
                       });
  sides.shape = Shape(int(o.cells.size()), n, o.width, periodic, lanes, limited ? 2 : 1);
  if (stretched(o)) {
    std::array<std::vector<double>, 3> lines;
    for (std::size_t a = 0; a < o.cells.size(); ++a) {
      lines[a] = face_lines(o, a);
      sides.shape.h[a] = lines[a].back() / double(n[a]);
    }
    sides.shape.lines = std::make_shared<const std::array<std::vector<double>, 3>>(std::move(lines));
  }
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
  if (s.carried != Scalar::Carried::central && s.carried != Scalar::Carried::limited &&
      o.scheme != Scheme::semi_lagrangian)
    throw Error({"the scalar '" + s.name + "' is to be traced back, and the scheme has stages of fluxes",
                 {},
                 "take the scheme semi_lagrangian, or let central or limited fluxes carry the scalar"});
  if (m.scalars.size() == kMostScalars)
    throw Error({"a flow carries at most 8 scalars", {}, "run several flows"});
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

// "burning/rate".
void add_reaction(const FlowOptions& o, const Reaction& r, FlowModel& m) {
  if (m.reactions.size() == kMostReactions)
    throw Error({"a flow has at most 16 reactions", {}, "run several flows"});
  const std::string who = "the reaction '" + r.name + "'";
  if (!std::isfinite(r.rate)) throw Error("the rate of " + who + " is not finite");
  FlowModel::ReactionModel one{m.signature.parameters()};
  m.signature.parameter(r.name + "/rate", r.rate);
  bool any = false;
  for (const std::vector<int>* list : {&r.takes, &r.makes}) {
    if (list->size() > o.scalars.size())
      throw Error({who + " knows " + std::to_string(list->size()) + " scalars, and the flow has " +
                       std::to_string(o.scalars.size()),
                   {},
                   "give one number per scalar"});
    for (std::size_t s = 0; s < list->size(); ++s) {
      const int count = (*list)[s];
      if (count < 0 || count > 8)
        throw Error({who + " takes or makes " + std::to_string(count) + " of '" + o.scalars[s].name + "'",
                     {},
                     "give 0 to 8 of each"});
      if (list == &r.takes) one.takes[s] = count;
      one.change[s] += list == &r.takes ? -count : count;
    }
  }
  for (const int change : one.change) any = any || change != 0;
  if (!any) throw Error({who + " changes nothing", {}, "say what it takes and what it makes"});
  m.reactions.push_back(one);
}

void add_tracers(const FlowOptions& o, FlowModel& m) {
  m.tracers_at = m.signature.states();
  for (const Tracers& t : o.tracers) {
    if (t.count < 1 || t.count > Index(1) << 24)
      throw Error({"'" + t.name + "' has " + std::to_string(t.count) + " points",
                   {},
                   "take at least 1 and at most 16777216"});
    m.tracers += t.count;
    m.signature.state(t.name, t.count * Index(o.cells.size()), "m");
  }
}

// "c/mix_norm_squared" of scalars that ask for it.
void add_mix_norms(const FlowOptions& o, FlowModel& m) {
  const bool flat = o.cells.size() == 2;
  for (std::size_t s = 0; s < o.scalars.size(); ++s) {
    if (!o.scalars[s].mix_norm) continue;
    for (std::size_t side = 0; side < 2 * o.cells.size(); ++side)
      if (o.sides[side].kind == Side::Kind::outflow)
        throw Error({"'" + o.scalars[s].name + "' can leave through the side " + kSideNames[side] +
                         ", and its mix-norm is that of what stays",
                     {},
                     "close the side, or leave out `mix_norm`"});
    m.scalars[s].mix_norm = m.signature.states();
    m.signature.state(o.scalars[s].name + "/mix_norm_squared", 1, flat ? "m^4" : "m^5");
  }
}

// "probe/velocity", "probe/c" of every scalar, "probe/p"; "dissipation".
void add_readings(const FlowOptions& o, FlowModel& m) {
  const std::size_t dim = o.cells.size();
  const auto check_inside = [&](const std::string& name, const std::array<double, 3>& x) {
    for (std::size_t a = 0; a < dim; ++a)
      if (const double length = face_lines(o, a).back(); !(x[a] >= 0 && x[a] <= length))
        throw Error({"the probe '" + name + "' lies outside of the box: at " + number(x[a]) + " along axis " +
                         std::to_string(a) + ", and the box ends at " + number(length),
                     {},
                     "move it inside"});
  };
  m.readings_at = m.signature.states();
  for (const Probe& p : o.probes) {
    check_inside(p.name, p.place);
    if (p.minus) check_inside(p.name, *p.minus);
    m.probes.push_back({m.signature.states(), p.place, p.minus});
    m.signature.state(p.name + "/velocity", Index(dim), "m/s");
    for (const Scalar& s : o.scalars) m.signature.state(p.name + "/" + s.name);
    if (o.pressure) m.signature.state(p.name + "/p", 1, "m^2/s^2");
  }
  if (o.dissipation) {
    m.dissipation = m.signature.states();
    m.signature.state("dissipation", 1, dim == 2 ? "m^4/s^3" : "m^5/s^3");
  }
  add_mix_norms(o, m);
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
  if (!o.obstacles.empty() || !o.scalars.empty() || !o.reactions.empty() || !o.tracers.empty() ||
      !o.probes.empty() || o.push || o.smagorinsky != 0 || o.implicit)
    throw Error(
        {"the scheme stokes knows neither obstacles nor scalars, tracers, probes, pushes, eddies and "
         "implicit "
         "viscosity",
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
  check_scheme(o);
  check_stretched(o);
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
  m.limited = o.limited;
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
  for (const Reaction& r : o.reactions) add_reaction(o, r, m);
  add_tracers(o, m);
  for (const Obstacle& b : o.obstacles)
    if (b.free && o.cells.size() == 2) m.signature.state(b.name + "/rate", 3, "m/s, rad/s");
  m.stage_size = m.signature.states();
  m.obstacle_fields = m.signature.fields(Role::parameter).size();
  for (const Obstacle& b : o.obstacles) add_obstacle(o, b, m);
  add_linkage(o, m);
  if (o.pressure) {
    m.pressure = m.signature.states();
    m.signature.state("p", shape.cells(), "m^2/s^2");
  }
  add_readings(o, m);
  limit_parameters(o, m.signature);
  return m;
}

template <class Real>
std::shared_ptr<System<Real>> flow(const FlowOptions& options) {
  FlowModel model = make_model(options, kNativeLanes<Real>);
  const bool flat = model.sides.shape.dim == 2;
  if (options.scheme == Scheme::stokes) return make_stokes_system<Real>(std::move(model));
  if (options.scheme == Scheme::semi_lagrangian)
    return flat ? make_flow_system<Real, 2, Carry::traced>(std::move(model))
                : make_flow_system<Real, 3, Carry::traced>(std::move(model));
  if (options.limited)
    return flat ? make_flow_system<Real, 2, Carry::limited>(std::move(model))
                : make_flow_system<Real, 3, Carry::limited>(std::move(model));
  if (model.sides.shape.lines)
    return flat ? make_flow_system<Real, 2, Carry::stretched>(std::move(model))
                : make_flow_system<Real, 3, Carry::stretched>(std::move(model));
  return flat ? make_flow_system<Real, 2, Carry::central>(std::move(model))
              : make_flow_system<Real, 3, Carry::central>(std::move(model));
}
template std::shared_ptr<System<float>> flow<float>(const FlowOptions&);
template std::shared_ptr<System<double>> flow<double>(const FlowOptions&);

}  // namespace costate::fluid
