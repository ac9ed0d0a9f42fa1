#include "costate/fluid/obstacles/obstacle_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/fluid/flow_places.h"
#include "costate/fluid/obstacles/shapes.h"

namespace costate::fluid {
namespace {

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
// The cell that the middle of a body lies in.
struct Cell {
  std::array<Index, 3> index = {};
  std::array<double, 3> width = {};
  double widest = 0;
};
Cell middle_cell(const FlowOptions& o, const Obstacle& b) {
  Cell cell;
  for (std::size_t a = 0; a < o.cells.size(); ++a) {
    const std::vector<double> faces = face_lines(o, a);
    const auto above = std::upper_bound(faces.begin(), faces.end(), b.center[a]);
    cell.index[a] = std::clamp<Index>(above - faces.begin() - 1, 0, o.cells[a] - 1);
    const auto i = std::size_t(cell.index[a]);
    cell.width[a] = o.widths[a].empty() ? o.width[a] : faces[i + 1] - faces[i];
    cell.widest = std::max(cell.widest, cell.width[a]);
  }
  return cell;
}
void check_thickness(const FlowOptions& o, const Obstacle& b, const std::string& who) {
  using Kind = Obstacle::Shape;
  const double widest = middle_cell(o, b).widest;
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
void check_linked(const FlowOptions& o, const Obstacle& b, const std::string& who) {
  if (!b.linked) return;
  if (!o.linkage)
    throw Error({who + " is linked, and nothing holds it", {}, "set FlowOptions::linkage, or leave it out"});
  if (b.free || b.moves || b.driven)
    throw Error({who + " is moved by its linkage, and is to be free, to move or to be driven besides",
                 {},
                 "leave out the other"});
}
void check_free(const FlowOptions& o, const Obstacle& b, const std::string& who) {
  if (!b.free && !b.linked) return;
  if (o.cells.size() == 3 || b.core == Obstacle::Core::surface || o.implicit ||
      b.shape == Obstacle::Shape::level || o.scheme == Scheme::semi_lagrangian)
    throw Error(
        {who + (b.free ? " is free" : " is held by a linkage") +
             ", which bodies are in two dimensions, with a mask, a shape that can move, "
             "and the schemes "
             "rk3 and euler with explicit viscosity",
         {},
         b.free ? "leave out `free`, or the other" : "take these, or take the model out of the flow"});
  if (!b.free) return;
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
  check_linked(o, b, who);
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
    const double length = face_lines(o, a).back();
    if (!(b.center[a] >= 0 && b.center[a] <= length))
      throw Error({who + " lies outside of the box: its center is at " + number(b.center[a]) +
                       " along axis " + std::to_string(a) + ", and the box ends at " + number(length),
                   {},
                   "move it inside"});
  }
  check_thickness(o, b, who);
  check_free(o, b, who);
}
// A body that is linked: where it is at first.
Obstacle placed(const FlowOptions& o, const Obstacle& b, std::size_t shape) {
  Obstacle there = b;
  if (!b.linked || !o.linkage || shape >= o.linkage->shapes()) return there;
  const Planar<double> pose = o.linkage->pose(shape, {b.center[0], b.center[1], b.angle}, nullptr, nullptr);
  there.center = {pose[0], pose[1], 0};
  return there;
}

// Directions from the middle to points on the surface, about 1.2 cells apart.
std::vector<std::array<double, 2>> surface_points(const FlowOptions& o, const Obstacle& b) {
  using Kind = Obstacle::Shape;
  if (o.cells.size() == 3 || b.moves || b.shape == Kind::box || b.shape == Kind::capsule)
    throw Error(
        {"the surface of '" + b.name + "' holds flows in two dimensions, without corners and without moving",
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
  const auto count = std::size_t(std::ceil(length.back() / (1.2 * middle_cell(o, b).widest)));
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

}  // namespace

// "body/center", "body/size", "body/angle", "body/velocity", "body/spin"; the force on it is in the state.
void add_obstacle(const FlowOptions& o, const Obstacle& b, FlowModel& m) {
  const auto links = std::ranges::count_if(m.obstacles, [](const auto& one) { return one.linked >= 0; });
  const Obstacle there = placed(o, b, std::size_t(links));
  check_obstacle(o, there);
  const std::size_t dim = o.cells.size(), spins = dim == 2 ? 1 : 3;
  if (!(b.mask > 0) || !std::isfinite(b.mask))
    throw Error({"the mask of '" + b.name + "' is " + number(b.mask) + " cells wide", {}, "take about 1"});
  const Cell cell = middle_cell(o, there);
  FlowModel::ObstacleModel one{
      b.shape,       b.core,   b.mask * cell.widest,     cell.width, cell.index,
      b.size.size(), b.driven, m.signature.parameters(), 0,          m.signature.states()};
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
  if (b.linked) {
    one.linked = int(links);
  } else if (b.driven) {
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

void add_linkage(const FlowOptions& o, FlowModel& m) {
  if (!o.linkage) return;
  const auto links = std::ranges::count_if(m.obstacles, [](const auto& b) { return b.linked >= 0; });
  if (std::size_t(links) != o.linkage->shapes())
    throw Error({"a linkage of " + std::to_string(o.linkage->shapes()) + " shapes holds " +
                     std::to_string(links) + " obstacles",
                 {},
                 "mark as many obstacles as linked"});
  m.linkage = o.linkage;
  m.linkage_states = m.signature.states(), m.linkage_controls = m.signature.controls();
  m.linkage_parameters = m.signature.parameters();
  for (const Role role : {Role::state, Role::control, Role::parameter})
    for (const Field& field : o.linkage->signature().fields(role)) m.signature.add(role, field);
}

}  // namespace costate::fluid
