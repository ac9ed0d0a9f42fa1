#include "costate/coupled/swimmer_shapes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/core/quat.h"
#include "costate/core/text.h"
#include "costate/rigid/dynamics/parameter_map.h"

namespace costate::coupled {
namespace {

using Kind = fluid::Obstacle::Shape;
using std::numbers::pi;

[[noreturn]] void no_shape(const std::string& who) {
  throw Error({who + " has no shape in the plane of the flow",
               {},
               "spheres, ellipsoids and boxes with an axis along z, capsules in the plane or along z, and "
               "cylinders along z have one: leave the geom out of `geoms`"});
}

// Which axis of the geom lies along z, and the angle of the one behind it in the plane.
struct Lying {
  std::size_t across = 3;
  double angle = 0;
};
Lying lying(const rigid::Geom& g) {
  const Mat3<double> R = to_matrix(Quat<double>{g.quat[0], g.quat[1], g.quat[2], g.quat[3]});
  Lying found;
  for (std::size_t k = 0; k < 3; ++k)
    if (std::abs(std::abs(R.e[2][k]) - 1) < 1e-9) found.across = k;
  if (found.across < 3) {
    const std::size_t along = (found.across + 1) % 3;
    found.angle = std::atan2(R.e[1][along], R.e[0][along]);
  }
  return found;
}

// size, area and moment; the angle where it has one.
void shape_of(const rigid::Geom& g, const std::string& who, SwimmingShape& to) {
  fluid::Obstacle& o = to.obstacle;
  const Lying lies = lying(g);
  const auto ball = [&](double r) {
    o.shape = Kind::ball, o.size = {r};
    to.area = pi * r * r, to.moment = to.area * r * r / 2;
  };
  const double r = g.size[0], l = g.size[1];
  switch (g.type) {
    case rigid::GeomType::sphere:
      return ball(r);
    case rigid::GeomType::cylinder:
      if (lies.across != 2) no_shape(who);
      return ball(r);
    case rigid::GeomType::capsule: {
      if (lies.across == 2) return ball(r);
      const Mat3<double> R = to_matrix(Quat<double>{g.quat[0], g.quat[1], g.quat[2], g.quat[3]});
      if (std::abs(R.e[2][2]) > 1e-9) no_shape(who);
      o.shape = Kind::capsule, o.size = {r, l}, o.angle = std::atan2(R.e[1][2], R.e[0][2]);
      to.area = pi * r * r + 4 * r * l;
      to.moment = pi * r * r * (r * r / 2 + l * l + 8 * r * l / (3 * pi)) + 4 * r * l * (r * r + l * l) / 3;
      return;
    }
    case rigid::GeomType::ellipsoid:
    case rigid::GeomType::box: {
      if (lies.across == 3) no_shape(who);
      const double a = g.size[(lies.across + 1) % 3], b = g.size[(lies.across + 2) % 3];
      const bool box = g.type == rigid::GeomType::box;
      o.shape = box ? Kind::box : Kind::ellipsoid, o.size = {a, b}, o.angle = lies.angle;
      to.area = (box ? 4 : pi) * a * b;
      to.moment = to.area * (a * a + b * b) / (box ? 3 : 4);
      return;
    }
    default:
      no_shape(who);
  }
}

}  // namespace

std::vector<SwimmingShape> swimming_shapes(const rigid::Model& model, const std::vector<std::string>& geoms) {
  std::vector<std::string> names;
  for (std::size_t g = 0; g < model.geoms.size(); ++g)
    names.push_back(rigid::name_of(model.geoms[g].name, g));
  for (const std::string& name : geoms)
    if (std::ranges::find(names, name) == names.end()) {
      const std::string nearest = nearest_name(name, names);
      throw Error({"the model has no geom '" + name + "'",
                   {},
                   nearest.empty() ? "name one that it has" : "did you mean '" + nearest + "'?"});
    }
  std::vector<SwimmingShape> shapes;
  for (std::size_t g = 0; g < names.size(); ++g) {
    const rigid::Geom& geom = model.geoms[g];
    const rigid::Body& body = model.bodies[std::size_t(geom.body)];
    if (geoms.empty() ? body.weld == 0 : std::ranges::find(geoms, names[g]) == geoms.end()) continue;
    SwimmingShape one{.obstacle = {}, .body = geom.body, .area = 0, .moment = 0};
    if (body.weld == 0)
      throw Error({"the geom '" + names[g] + "' is on a body that cannot move",
                   {},
                   "make it an obstacle of the flow"});
    one.obstacle.name = geom.name.empty() && !body.name.empty() ? body.name : names[g];
    one.obstacle.center = {geom.pos[0], geom.pos[1], 0};
    shape_of(geom, "the geom '" + names[g] + "'", one);
    shapes.push_back(one);
  }
  if (shapes.empty())
    throw Error({"the model has no geom on a body that can move", {}, "give its bodies geoms, and joints"});
  return shapes;
}

void displace(rigid::Body& body, const SwimmingShape& shape, double density) {
  const double taken = density * shape.area, left = body.mass - taken;
  if (!(left > 0))
    throw Error({"the body '" + body.name + "' has a mass of " + number(body.mass) +
                     ", and displaces as much as " + number(taken) + " of fluid",
                 {},
                 "make it heavier than the fluid, whose density is per area of the plane"});
  const std::array<double, 2> at = {shape.obstacle.center[0], shape.obstacle.center[1]},
                              com = {body.com[0], body.com[1]};
  double inertia = body.inertia[2];
  for (std::size_t a = 0; a < 2; ++a) {
    body.com[a] = (body.mass * com[a] - taken * at[a]) / left;
    const double of_body = com[a] - body.com[a], of_shape = at[a] - body.com[a];
    inertia += body.mass * of_body * of_body - taken * of_shape * of_shape;
  }
  inertia -= density * shape.moment;
  if (!(inertia > 0))
    throw Error(
        {"the body '" + body.name + "' is harder to turn than the fluid it displaces by " + number(inertia),
         {},
         "give it more inertia about z"});
  body.mass = left;
  body.inertia = {inertia, inertia, inertia, 0, 0, 0};  // in the plane only that about z counts
}

}  // namespace costate::coupled
