// Rigid models in a flow: momentum, the flow's own free body as a special case, a pendulum in still water,
// and exact gradients with respect to every input.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "costate/coupled/swimmer.h"
#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "tests/coupled/by_itself.h"
#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::coupled {
namespace {

using fluid::FlowOptions, fluid::Index;
using std::numbers::pi;

rigid::Model compiled(const std::string& mjcf) { return rigid::compile(io::parse_mjcf(mjcf)); }

// Moves in the plane as it likes; twice as heavy as the fluid that it displaces.
const char* const kPlate = R"(<mujoco><compiler angle="radian"/><option gravity="0.3 -1 0"/><worldbody>
  <body name="plate" pos="0.5 0.5 0">
    <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
    <joint name="turn" axis="0 0 1"/>
    <inertial pos="0 0 0" mass="0.1759291886010284" diaginertia="0.004 0.004 0.004"/>
    <geom name="plate" type="ellipsoid" size="0.2 0.14 0.3" euler="0 0 0.4"/>
  </body></worldbody></mujoco>)";

FlowOptions pool(Index n, double dt, double viscosity) {
  FlowOptions o{.cells = {n, n}, .width = {1.0 / double(n), 1.0 / double(n), 1}, .dt = dt};
  o.viscosity = viscosity;
  return o;
}
std::size_t at_state(const Signature& s, const char* name) {
  return std::size_t(s.find(Role::state, name).offset);
}

// A start in which everything moves, from the model's own.
Arguments<double> moving(const Rollout<double>& rollout, const FlowOptions& o, unsigned seed = 3) {
  auto at = fluid::test::stirred(rollout, seed);
  const std::vector<double> own = o.linkage->initial_state();
  const std::size_t q = at_state(rollout.system().signature(), "model/q");
  for (std::size_t i = 0; i < own.size(); ++i) at.x0[q + i] = own[i] + 0.2 * std::sin(double(i + seed));
  return at;
}

// What the model gains the fluid loses, the fluid inside its shapes included.
TEST(Swimmer, ExchangesMomentumWithTheFluid) {
  for (const fluid::Scheme scheme : {fluid::Scheme::rk3, fluid::Scheme::euler}) {
    FlowOptions o = pool(24, 0.01, 0.01);
    o.scheme = scheme;
    rigid::Model plate = compiled(kPlate);
    plate.options.gravity = {0, 0, 0};
    put_into(o, {.model = plate, .density = 1});
    const auto system = fluid::flow<double>(o);
    Rollout<double> rollout(system, {.steps = 40});
    const auto at = moving(rollout, o);
    const std::size_t v = at_state(system->signature(), "model/v");
    const auto mass = system->signature().find(Role::parameter, "body/plate/mass").defaults[0];
    EXPECT_NEAR(mass, pi * 0.2 * 0.14, 1e-12);  // as much as the fluid that it displaces
    const auto momentum = [&](const std::vector<double>& x, std::size_t c) {
      double sum = 0;
      for (std::size_t i = 0; i < 24 * 24; ++i) sum += x[c * 24 * 24 + i] / (24 * 24);
      return sum + mass * x[v + c];
    };
    const auto end = rollout.simulate(at).final_state;
    for (const std::size_t c : {std::size_t(0), std::size_t(1)})
      EXPECT_NEAR(momentum(end, c), momentum(at.x0, c), 1e-13) << c;
  }
}

// The flow's own free body and the same body as a model: they differ by how each steps its place, and half
// as much with half the step.
TEST(Swimmer, ASingleBodyMovesLikeTheFlowsOwn) {
  const auto difference = [](double dt) {
    FlowOptions o = pool(24, dt, 0.02);
    const FlowOptions empty = o;
    const rigid::Model plate = compiled(kPlate);
    put_into(o, {.model = plate, .density = 1});
    const auto swimming = fluid::flow<double>(o);
    FlowOptions own = empty;
    fluid::Obstacle b{.name = "plate", .shape = fluid::Obstacle::Shape::ellipsoid, .center = {0.5, 0.5, 0}};
    b.size = {0.2, 0.14}, b.angle = 0.4;
    const auto excess = [&](const char* name, std::size_t i) {
      return swimming->signature().find(Role::parameter, name).defaults[i];
    };
    b.free = fluid::Obstacle::Free{.mass = excess("body/plate/mass", 0),
                                   .inertia = excess("body/plate/inertia", 2),
                                   .gravity = {0.3, -1}};
    own.obstacles = {b};
    const Index steps = Index(std::lround(0.4 / dt));
    Rollout<double> model(swimming, {.steps = steps}), free(fluid::flow<double>(own), {.steps = steps});
    const std::size_t q = at_state(swimming->signature(), "model/q"),
                      moved = at_state(free.system().signature(), "plate/moved");
    auto at = model.arguments(), own_at = free.arguments();
    std::ranges::copy(o.linkage->initial_state(), at.x0.begin() + std::ptrdiff_t(q));
    at.x0[q + 5] = own_at.x0[at_state(free.system().signature(), "plate/rate") + 2] = 0.5;
    const auto x = model.simulate(at).final_state, y = free.simulate(own_at).final_state;
    EXPECT_LT(y[moved + 1], -0.01);  // it sinks,
    EXPECT_GT(y[moved + 2], 0.05);   // and turns
    double most = 0;
    for (std::size_t i = 0; i < 3; ++i) most = std::max(most, std::abs(x[q + i] - y[moved + i]));
    return most / std::abs(y[moved + 1]);
  };
  const double coarse = difference(0.01), fine = difference(0.005);
  EXPECT_LT(fine, 0.05);
  EXPECT_NEAR(fine / coarse, 0.5, 0.1);
}

// What is 2 % heavier than the fluid it displaces comes as far with long steps as with short ones: an
// explicit exchange would throw it back and forth.
TEST(Swimmer, ABodyHardlyHeavierThanTheFluidIsStable) {
  std::string text = kPlate;
  const auto put = [&](const std::string& old, const std::string& number) {
    text.replace(text.find(old), old.size(), number);
  };
  put("0.1759291886010284", "0.0897239"), put("0.004 0.004 0.004", "0.00134 0.00134 0.00134");
  const auto way = [&](double dt) {
    FlowOptions o = pool(24, dt, 0.02);
    put_into(o, {.model = compiled(text), .density = 1});
    Rollout<double> rollout(fluid::flow<double>(o), {.steps = Index(std::lround(1 / dt))});
    auto at = rollout.arguments();
    const std::size_t q = at_state(rollout.system().signature(), "model/q");
    at.x0[q + 3] = 0.4, at.x0[q + 5] = 1.5;
    const auto end = rollout.simulate(at).final_state;
    return std::array<double, 2>{end[q], end[q + 2]};
  };
  const auto shorter = way(0.005), longer = way(0.02);
  for (const std::size_t i : {std::size_t(0), std::size_t(1)}) {
    EXPECT_GT(shorter[i], 0.002);
    EXPECT_NEAR(longer[i], shorter[i], 0.15 * shorter[i]);
  }
}

// How fast a bob of 2.5 times the water's density swings in still water, in a box of n x n cells.
double swinging(Index n, double dt, double a, double length, double viscosity) {
  const double width = 1.6 / double(n), mass = 2.5 * pi * a * a;
  FlowOptions o{.cells = {n, n}, .width = {width, width, 1}, .dt = dt, .viscosity = viscosity};
  for (auto& side : o.sides) side = fluid::wall();
  const rigid::Model model = compiled(
      "<mujoco><option gravity='0 -9.81 0'/><worldbody><body name='bob' pos='0.8 1.2 0'>"
      "<joint name='hinge' axis='0 0 1'/><inertial pos='0 " +
      std::to_string(-length) + " 0' mass='" + std::to_string(mass) + "' diaginertia='0.1 0.1 " +
      std::to_string(mass * a * a / 2) + "'/><geom type='cylinder' size='" + std::to_string(a) +
      " 0.1' pos='0 " + std::to_string(-length) + " 0'/></body></worldbody></mujoco>");
  put_into(o, {.model = model, .density = 1});
  const auto system = fluid::flow<double>(o);
  const std::size_t q = at_state(system->signature(), "model/q");
  Rollout<double> rollout(system, {.steps = Index(1.3 / dt), .keep = 1});
  auto at = rollout.arguments();
  at.x0[q] = 0.1;
  const auto run = rollout.simulate(at);
  const auto angle = [&](Index k) { return run.states[std::size_t(k) * at.x0.size() + q]; };
  Index turn = 2;
  while (turn + 1 < Index(1.3 / dt) && angle(turn) < angle(turn - 1)) ++turn;
  const double before = angle(turn - 2), least = angle(turn - 1), after = angle(turn);
  return pi / ((double(turn - 1) + (before - after) / (before - 2 * least + after) / 2) * dt);
}

// It carries along what it displaces, and the boundary layer (Stokes 1851): for a motion exp(s t) of a
// cylinder the added mass is C = 1 + 4 K_1(z) / (z K_0(z)), z^2 = s a^2 / nu, here by the first terms for
// large z. That is approached with second order.
TEST(Swimmer, APendulumSwingsAsItsAddedMassSays) {
  const double a = 0.15, length = 0.4, g = 9.81, viscosity = 0.003;
  std::complex<double> s(-0.2, 3);
  for (int i = 0; i < 100; ++i) {  // ((2.5 + C) length^2 + 2.5 a^2 / 2) s^2 = -1.5 g length
    const std::complex<double> z = a * std::sqrt(s / viscosity),
                               C = 1.0 + 4.0 / z + 2.0 / (z * z) - 0.5 / (z * z * z);
    s = std::sqrt(-1.5 * g * length / ((2.5 + C) * length * length + 1.25 * a * a));
    if (s.imag() < 0) s = -s;
  }
  const double coarse = swinging(64, 0.005, a, length, viscosity) / s.imag() - 1,
               fine = swinging(96, 0.005, a, length, viscosity) / s.imag() - 1;
  EXPECT_LT(fine, 0.035);  // without the added mass it would be 27 %
  EXPECT_NEAR(fine / coarse, 4.0 / 9, 0.07);
}

// --- gradients ---------------------------------------------------------------------------------------------

// Two links with a motor and a spring, on a rail across the stream.
const char* const kFoil = R"(<mujoco><compiler angle="radian"/><option gravity="0.1 -0.4 0"/><worldbody>
  <body name="front" pos="3.5 4.6 0">
    <joint name="rail" type="slide" axis="0 1 0" stiffness="0.3" damping="0.2"/>
    <joint name="nod" axis="0 0 1" armature="0.3" stiffness="2"/>
    <geom name="front" type="ellipsoid" size="2.2 1.7 2" euler="0 0 0.3" pos="0.1 -0.1 0" mass="40"/>
    <body name="back" pos="3 0.2 0">
      <joint name="tail" axis="0 0 1" damping="0.3"/>
      <geom name="back" type="box" size="1.9 1 1.7" euler="1.5707963267948966 0 0" pos="1.2 0 0" mass="45"/>
    </body>
  </body></worldbody>
  <actuator><motor name="flap" joint="tail" gear="2"/>
    <general joint="nod" dyntype="filter" dynprm="0.5" gainprm="1"/></actuator></mujoco>)";

FlowOptions stream() {
  FlowOptions o{.cells = {12, 9}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1};
  o.sides[0] = {fluid::Side::Kind::velocity, {0.2, 0.0, 0.0}};
  o.sides[1] = {.kind = fluid::Side::Kind::outflow};
  o.sides[2] = fluid::wall({0.1, 0, 0}), o.sides[3] = fluid::wall();
  put_into(o, {.model = compiled(kFoil), .density = 1.1});
  return o;
}

TEST(Swimmer, KeepsTheContract) {
  for (const fluid::Scheme scheme : {fluid::Scheme::rk3, fluid::Scheme::euler}) {
    FlowOptions o = stream();
    o.scheme = scheme;
    o.pressure = scheme == fluid::Scheme::euler;
    if (o.pressure)  // and something that stands
      o.obstacles.push_back({.name = "post", .center = {9.1, 4.1, 0}, .size = {1.9}, .spin = {0, 0, 0.2}});
    const auto contract = [&]<class Real>(Real) {
      return costate::test::Contract<Real>{
          .states =
              [o](const Rollout<Real>& rollout, unsigned seed) {
                auto at = fluid::test::stirred(rollout, seed);
                const auto own = o.linkage->initial_state();
                const auto q = std::size_t(rollout.system().signature().find(Role::state, "model/q").offset);
                for (std::size_t i = 0; i < own.size(); ++i)
                  at.x0[q + i] = Real(own[i] + 0.5 * double(at.x0[q + i]));
                return at;
              },
          .name = "a foil",
          .steps = 6,
          .hold = 3,
          .long_steps = 30,
          .stencil_step = 1e-4};
    };
    costate::test::expect_contract(fluid::flow<double>(o), contract(double()));
    if (o.pressure) costate::test::expect_contract(fluid::flow<float>(o), contract(float()));
  }
}

TEST(Swimmer, EveryKindOfInputHasItsExactGradient) {
  const FlowOptions o = stream();
  const auto system = fluid::flow<double>(o);
  Rollout<double> rollout(system, {.steps = 8, .hold = 4});
  std::vector<double> weights(std::size_t(system->signature().states()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(1.7 * double(i) + 0.3);
  const auto loss = loss::cotangents<double>(system->signature(), {8}, {weights});
  test::expect_each_by_itself(rollout, moving(rollout, o), *loss,
                              {.states = {"u", "v", "model/q", "model/v", "model/act"},
                               .parameters = {"viscosity",
                                              "force",
                                              "dt",
                                              "west/u",
                                              "density",
                                              "gravity",
                                              "front/center",
                                              "front/size",
                                              "front/angle",
                                              "back/center",
                                              "back/size",
                                              "back/angle",
                                              "body/front/mass",
                                              "body/back/com",
                                              "body/back/inertia",
                                              "body/back/pos",
                                              "body/front/quat",
                                              "joint/rail/axis",
                                              "joint/nod/armature",
                                              "joint/rail/damping"},
                               .step = 1e-4,
                               .control_step = 1e-3});
}

// --- mistakes ----------------------------------------------------------------------------------------------

void expect_mistake(const std::string& mjcf, const Swimmer& numbers, const std::string& what,
                    const std::string& advice) {
  FlowOptions o = pool(32, 0.01, 0.01);
  costate::test::expect_error(
      [&] {
        Swimmer swimmer = numbers;
        swimmer.model = compiled(mjcf);
        put_into(o, swimmer);
        fluid::flow<double>(o);
      },
      what, advice);
}
std::string plate_with(const std::string& old, const std::string& replacement) {
  std::string text = kPlate;
  return text.replace(text.find(old), old.size(), replacement);
}

TEST(Swimmer, SaysWhatIsWrong) {
  expect_mistake(kPlate, {.density = 2}, "'plate' has a mass of 0.17", "heavier than the fluid");
  expect_mistake(kPlate, {.density = 1, .geoms = {"plat"}}, "no geom 'plat'", "did you mean 'plate'?");
  expect_mistake(plate_with("diaginertia=\"0.004 0.004 0.004\"", "diaginertia=\"0.001 0.001 0.001\""),
                 {.density = 1}, "turn than the fluid", "more inertia about z");
  expect_mistake(plate_with("<joint name=\"turn\" axis=\"0 0 1\"/>", "<joint name=\"turn\" axis=\"1 0 0\"/>"),
                 {.density = 1}, "'plate' can leave the plane of the flow", "hinges turn about z");
  expect_mistake(plate_with("type=\"ellipsoid\" size=\"0.2 0.14 0.3\" euler=\"0 0 0.4\"",
                            "type=\"cylinder\" size=\"0.2 0.14\" euler=\"1 0 0\""),
                 {.density = 1}, "no shape in the plane", "leave the geom out of `geoms`");
  expect_mistake(plate_with("0.2 0.14 0.3", "0.2 0.03 0.3"), {.density = 1}, "thinner than the mask",
                 "at least three cells thick");
  FlowOptions o = stream();
  o.implicit = true;
  costate::test::expect_error([&] { fluid::flow<double>(o); }, "'front' is held by a linkage",
                              "take the model out of the flow");
  costate::test::expect_error([&] { put_into(o, {.model = compiled(kPlate)}); }, "has a model already",
                              "into one model");
  o = stream(), o.obstacles.pop_back();
  costate::test::expect_error([&] { fluid::flow<double>(o); }, "a linkage of 2 shapes holds 1 obstacles",
                              "as linked");
  o = stream(), o.linkage.reset();
  costate::test::expect_error([&] { fluid::flow<double>(o); }, "nothing holds it", "FlowOptions::linkage");
  o = stream(), o.obstacles[0].moves = true;
  costate::test::expect_error([&] { fluid::flow<double>(o); }, "moved by its linkage", "leave out the other");
}

}  // namespace
}  // namespace costate::coupled
