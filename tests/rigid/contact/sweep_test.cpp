// Every model of contact, every pair of shapes, every number that a step depends on: against six-point
// differences and forward mode.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "costate/core/vec.h"
#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/check/checks.h"
#include "costate/system/ranges.h"

namespace costate::rigid {
namespace {

struct Shape {
  const char* type;
  std::array<double, 3> size;
  const char* text;  // size, as a model file has it
};
constexpr Shape kSphere{"sphere", {0.1, 0, 0}, "0.1"}, kCapsule{"capsule", {0.08, 0.15, 0}, "0.08 0.15"},
    kBox{"box", {0.1, 0.13, 0.07}, "0.1 0.13 0.07"}, kCylinder{"cylinder", {0.09, 0.12, 0}, "0.09 0.12"},
    kEllipsoid{"ellipsoid", {0.1, 0.14, 0.08}, "0.1 0.14 0.08"};

// What the moving one lies on; its highest point is the origin.
struct Ground {
  const char* name;
  const char* geom;
};
constexpr Ground kGrounds[] = {
    {"plane", "type='plane' size='1 1 1'"},
    {"sphere", "type='sphere' size='0.3' pos='0 0 -0.3'"},
    {"capsule", "type='capsule' size='0.2 0.4' pos='0 0 -0.2' quat='0.7071 0.7071 0 0'"},
    {"box", "type='box' size='0.4 0.5 0.2' pos='0 0 -0.2'"},
    {"cylinder", "type='cylinder' size='0.4 0.2' pos='0 0 -0.2'"},
};

// The lowest point of a turned shape, from its centre.
Vec3<double> lowest(const Shape& s, const Quat<double>& q) {
  const auto& a = s.size;
  const Vec3<double> down = rotate(conjugate(q), Vec3<double>{0, 0, -1});
  const std::string type = s.type;
  Vec3<double> p{};
  if (type == "sphere") p = a[0] * down;
  if (type == "capsule") p = a[0] * down + Vec3<double>{0, 0, std::copysign(a[1], down.z)};
  if (type == "box")
    p = {std::copysign(a[0], down.x), std::copysign(a[1], down.y), std::copysign(a[2], down.z)};
  if (type == "cylinder") {
    const double side = std::hypot(down.x, down.y);
    p = {a[0] * down.x / side, a[0] * down.y / side, std::copysign(a[1], down.z)};
  }
  if (type == "ellipsoid") {
    const Vec3<double> scaled{a[0] * down.x, a[1] * down.y, a[2] * down.z};
    const double length = std::sqrt(dot(scaled, scaled));
    p = {a[0] * scaled.x / length, a[1] * scaled.y / length, a[2] * scaled.z / length};
  }
  return rotate(q, p);
}

struct Way {
  const char* name;
  SystemOptions options;
  const char* option;
  double gap, speed;                     // of the lowest point
  double step = 3e-6, rounding = 1e-14;  // of differences; hard_law.h solves to 1e-13
};
const Way kWays[] = {
    {"convex, pyramids", {.onset = Onset::none}, "cone='pyramidal'", -0.002, -0.3},
    {"convex, ellipses", {.onset = Onset::none}, "cone='elliptic'", -0.002, -0.3},
    {"convex, split", {.onset = Onset::split}, "cone='elliptic' integrator='RK4'", -0.002, -0.3},
    {"event",
     {.contact = ContactModel::event, .impact = {.restitution = 0.6}},
     "integrator='RK4'",
     0.001,
     -1},
    {"penalty",
     {.onset = Onset::none, .contact = ContactModel::penalty, .penalty = {5000, 0.4, 0.3}},
     "",
     -0.002,
     -0.3},
    {"penalty, split",
     {.onset = Onset::split, .contact = ContactModel::penalty, .penalty = {5000, 0.4, 0.3}},
     "integrator='RK4'",
     -0.002,
     -0.3},
    {"hard, bounce", {.contact = ContactModel::hard, .impact = {.restitution = 0.6}}, "", 0.001, -1},
    {"hard, rest", {.contact = ContactModel::hard}, "", -1e-4, -0.01, 1e-4, 1e-13},
};

Model model_of(const Way& way, const Ground& ground, const Shape& shape) {
  return compile(io::parse_mjcf(
      "<mujoco><option timestep='0.004' " + std::string(way.option) + "/><worldbody><geom name='ground' " +
      ground.geom +
      " friction='0.31 0.02 0.01' condim='4' solref='0.03 0.9' solimp='0.8 0.93 0.002 0.4 2.5'/>"
      "<body name='b'><freejoint name='f'/><geom name='g' type='" +
      shape.type + "' size='" + shape.text +
      "' mass='1.3' friction='0.42 0.03 0.02' condim='4' margin='0.0001' solref='0.02 1.1' "
      "solimp='0.85 0.95 0.003 0.5 2' solmix='1.4'/></body></worldbody><actuator>"
      "<general name='a' joint='f' gear='1 0.5 0.2 0.1 0 0.3' dyntype='filter' dynprm='0.05' gainprm='2' "
      "biastype='affine' biasprm='0.1 -0.2 -0.3'/></actuator></mujoco>"));
}

TEST(ContactSweep, EveryNumberOfEveryPairInEveryModelMatchesDifferencesAndForwardMode) {
  const AcrossRanges across;  // differences about an armature of 0
  for (const Way& way : kWays) {
    for (const Ground& ground : kGrounds) {
      for (const Shape& shape : {kSphere, kCapsule, kBox, kCylinder, kEllipsoid}) {
        SCOPED_TRACE(std::string(way.name) + ": " + shape.type + " on " + ground.name);
        const Model model = model_of(way, ground, shape);
        SystemOptions options = way.options;
        options.applied_forces = true;
        const auto system = make_system<double>(model, options);
        Rollout<double> rollout(system, {.steps = 1});
        Arguments<double> at = rollout.arguments();
        if (options.impact.restitution > 0) at.parameters.set("geom/ground/restitution", 0.55);  // no tie
        const double inverse = 1 / std::sqrt(0.9 * 0.9 + 0.3 * 0.3 + 0.25 * 0.25 + 0.1 * 0.1);
        const Quat<double> q{0.9 * inverse, 0.3 * inverse, 0.25 * inverse, 0.1 * inverse};
        const Vec3<double> low = lowest(shape, q);
        at.x0 = {0.004 - low.x, 0.003 - low.y, way.gap - low.z, q.w, q.x, q.y, q.z,
                 0.7,           -0.4,          way.speed,       0.2, 0.1, 0.3, 0.15};
        for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.1 * double(i % 5) - 0.15;

        std::vector<double> weights(at.x0.size());
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(1.0 + double(i));
        const auto objective = loss::cotangents<double>(system->signature(), {1}, {weights});
        const auto g = rollout.value_and_gradient(at, *objective);
        int acted = 0;
        const auto compare = [&](auto&& number_in, double exact, const std::string& name) {
          const double here = number_in(at), h = way.step * std::max(0.1, std::abs(here));
          const auto value = [&](int k) {
            auto moved = at;
            number_in(moved) = here + k * h;
            return rollout.value(moved, *objective);
          };
          const double difference =
              (45 * (value(1) - value(-1)) - 9 * (value(2) - value(-2)) + (value(3) - value(-3))) / (60 * h);
          const double rounding = way.rounding * std::max(1.0, std::abs(g.value)) / h;
          acted += exact != 0;
          EXPECT_NEAR(exact, difference, 1e-8 * std::max(1.0, std::abs(exact)) + 2 * rounding) << name;
        };
        for (std::size_t i = 0; i < at.x0.size(); ++i)
          compare(
              [i](auto& a) -> auto& { return a.x0[i]; }, g.x0[i], "x0 " + std::to_string(i));
        for (std::size_t i = 0; i < at.controls.size(); ++i)
          compare(
              [i](auto& a) -> auto& { return a.controls[i]; }, g.controls[i], "u " + std::to_string(i));
        const auto& fields = system->signature().fields(Role::parameter);
        for (std::size_t f = 0; f < fields.size(); ++f) {
          for (std::size_t i = 0; i < at.parameters.values(f).size(); ++i)
            compare(
                [ f, i ](auto& a) -> auto& { return a.parameters.values(f)[i]; }, g.parameters.values(f)[i],
                fields[f].name + "[" + std::to_string(i) + "]");
        }
        EXPECT_GT(acted, 40);
        const auto transposed = check::dot_product(rollout, at, {.directions = 2});
        EXPECT_LT(transposed.error, 1e-13) << transposed.to_text();
      }
    }
  }
}

}  // namespace
}  // namespace costate::rigid
