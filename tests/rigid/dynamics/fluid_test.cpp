#include "costate/rigid/dynamics/fluid.h"

#include <gtest/gtest.h>

#include <numbers>

#include "costate/core/error.h"
#include "costate/io/model/load_model.h"
#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/check/checks.h"
#include "tests/expect_error.h"
#include "tests/rigid/models.h"
#include "tests/rigid/one_world.h"
#include "tests/rigid/reference_model.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;

Model zoo_in_water(Integrator integrator) {
  Model m = test::zoo(integrator);
  m.options.density = 900;
  m.options.viscosity = 0.8;
  m.options.wind = {0.3, -0.5, 0.2};
  return m;
}

// Density, viscosity, wind, sides and axes of the boxes among them.
TEST(Fluid, EveryParametersCotangentMatchesDual) {
  for (const Integrator integrator : {Integrator::euler, Integrator::rk4}) {
    const Model model = zoo_in_water(integrator);
    const auto system = make_system<double>(model, {.applied_forces = true});
    for (const char* name : {"density", "viscosity", "wind", "body/arm/fluid_box", "body/arm/fluid_quat"})
      EXPECT_NE(system->signature().find_if(Role::parameter, name), nullptr) << name;
    Rollout<double> rollout(system, {.steps = 1});
    for (unsigned seed : {1u, 2u, 3u}) {
      costate::test::expect_transpose_matches_dual<double>(
          *system, test::random_arguments(model, rollout, seed), 1e-12);
    }
  }
}

// Drag is |x| x: its second derivative jumps where a velocity changes sign. The wind keeps those of the
// centres away from zero, and differences are short.
TEST(Fluid, MeetsTheContract) {
  Model model = zoo_in_water(Integrator::euler);
  model.options.wind = {1.5, -2, 1};
  model.options.density = 5;  // drag is explicit: thin enough for the step
  const auto system = make_system<double>(model, {.applied_forces = true});
  const auto objective = loss::sum<double>({loss::final<double>(system->signature(), "q", {}),
                                            loss::final<double>(system->signature(), "v", {}, 0.1)});
  costate::test::expect_contract(
      system, {.states = [&](const auto& rollout,
                             unsigned seed) { return test::random_arguments(model, rollout, seed + 3); },
               .objective = objective,
               .steps = 4,
               .hold = 2,
               .long_steps = 100,
               .stencil_step = 3e-5,
               .second_order_step = 1e-6});
}

TEST(Fluid, TheSwimmersGradientMatchesDifferences) {
  const Model model = load(COSTATE_SCENES "/swimmer.xml");
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 8, .hold = 4});
  auto at = test::random_arguments(model, rollout, 2, 0.5);
  const auto objective = loss::final<double>(system->signature(), "q", {});
  EXPECT_LT(check::dot_product(rollout, at).error, 1e-13);
  Rollout<double> controls(system,
                           {.steps = 8, .hold = 4, .active = {"density", "viscosity", "body/*/mass"}});
  EXPECT_LT(check::stencil(controls, at, *objective, {.step = 1e-5}).error, 1e-8);
}

// The loader finds the boxes that MuJoCo finds.
TEST(Fluid, ALoadedModelMovesAsMuJoCos) {
  const std::string folder = COSTATE_RIGID_REFERENCE;
  for (const auto& [name, file] : {std::pair<std::string, std::string>{"fluid", folder + "/fluid.xml"},
                                   {"swimmer", COSTATE_SCENES "/swimmer.xml"}}) {
    Model model = load(file);
    model.options.contact = false;
    test::OneWorld w(model);
    for (const auto& ref : test::references()) {
      if (ref.name != name) continue;
      for (const test::Json& s : ref.json.at("states")) {
        const auto q = test::vector_of(s.at("q")), v = test::vector_of(s.at("v")),
                   act = test::vector_of(s.at("act")), u = test::vector_of(s.at("ctrl"));
        w.accelerate({q.data(), v.data(), act.data(), u.data(), nullptr});
        EXPECT_LT(test::relative_error(w.d.qacc, test::vector_of(s.at("qacc"))), 1e-8) << name;
      }
    }
  }
}

// A ball sinks in syrup until the viscous force holds it: m g = 3 pi d beta v, d the side of the cube with
// its moment of inertia.
TEST(Fluid, ASinkingBallReachesItsFinalSpeed) {
  const Model model =
      compile(io::parse_mjcf("<mujoco><option timestep='0.001' viscosity='20'/><worldbody><body><freejoint/>"
                             "<geom size='0.05' mass='0.3'/></body></worldbody></mujoco>"));
  Rollout<double> rollout(make_system<double>(model), {.steps = 2000});
  auto at = rollout.arguments();
  at.x0 = initial_state(model);
  const double d = 0.05 * std::sqrt(12.0 / 5.0), expected = 0.3 * 9.81 / (3 * std::numbers::pi * d * 20);
  EXPECT_NEAR(rollout.simulate(at).final_state[9], -expected, 1e-9);
}

TEST(Fluid, WhatItCannotDoIsRefused) {
  Model fast = zoo_in_water(Integrator::implicitfast);
  expect_error([&] { return make_system<double>(fast); }, "implicitfast does not support forces of a fluid",
               "use Euler or RK4");
  Model round = zoo_in_water(Integrator::euler);
  Geom g;
  g.fluid_ellipsoid = true;
  g.body = 1;
  round.geoms.push_back(g);
  complete(round);
  expect_error([&] { return make_system<double>(round); },
               "a fluid sees bodies as boxes, not their geoms as ellipsoids", "leave out fluidshape");
}

}  // namespace
}  // namespace costate::rigid
