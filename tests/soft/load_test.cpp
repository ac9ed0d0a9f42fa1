// Pressure and muscles: a balloon and a contracting bar against their closed forms, and the contract.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/philox.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate::soft {
namespace {

using costate::test::expect_error;

// A balloon of radius R that is inflated to l R has a pressure of t W'(l)/(R l^2), with W(l) of the law: for
// neo_hookean mu (l^2 - 1 - 2 ln l) + 2 la (ln l)^2.
TEST(SoftLoad, ABalloonGrowsAsItsLawSays) {
  const double R = .1, t = 1e-3, E = 1e5, nu = .3, l = 1.15, mu = E / (2 * (1 + nu)),
               la = E * nu / (1 - nu * nu);
  const double slope = 2 * mu * (l - 1 / l) + 4 * la * std::log(l) / l;
  SoftModel m{.materials = {{.name = "m",
                             .law = "neo_hookean",
                             .numbers = {{"E", E}, {"nu", nu}},
                             .density = .1,
                             .thickness = t}},
              .gravity = {0, 0, 0},
              .integrator = Integrator::still,
              .tolerance = 1e-11};
  add_part(m, "balloon", Cells::triangles, ball_mesh(R, 8), 0);
  m.parts[0].pressure = t * slope / (R * l * l);
  // Three vertices on the axes are held where theory puts them: the balloon cannot fly away or turn.
  std::vector<double> x = m.rest;
  for (double& k : x) k *= l;
  Hold hold{.name = "axes"};
  for (int i = 0; i < m.vertices(); ++i) {
    int zeros = 0;
    for (int d = 0; d < 3; ++d) zeros += m.rest[std::size_t(3 * i + d)] == 0;
    if (zeros == 2) hold.vertices.push_back(i);
  }
  ASSERT_EQ(hold.vertices.size(), 6u);
  m.holds = {hold};
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m, x);
  const auto end = rollout.forward(at).final_state;
  double mean = 0;
  for (int i = 0; i < m.vertices(); ++i) {
    const double* p = end.data() + 3 * i;
    mean += std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / m.vertices();
  }
  EXPECT_NEAR(mean / R, l, 5e-3);
}

// A muscle along x in a block. With nu = 0 the block pulls with E (s - 1), linear because it is corotated,
// and the muscle with k (s - 1 + c): s = 1 - c k/(E + k).
TEST(SoftLoad, AMuscleShortensABar) {
  const double E = 1e4, k = 5e3, c = .2;
  SoftModel m{.materials = {{.name = "flesh", .law = "corotated", .numbers = {{"E", E}, {"nu", 0}}},
                            {.name = "muscle",
                             .law = "muscle",
                             .numbers = {{"stiffness", k}, {"contraction", .05}, {"ax", 3}},
                             .driven = "contraction",
                             .density = 0}},
              .gravity = {0, 0, 0},
              .integrator = Integrator::still,
              .tolerance = 1e-13};
  add_part(m, "bar", Cells::hexahedra, block_mesh(Cells::hexahedra, {.3, .1, .1}, {3, 1, 1}), 0);
  Part over = m.parts[0];
  over.name = "over", over.material = 1;
  m.parts.push_back(over);
  m.holds = {{"wall", {0, 4, 8, 12}}};
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m);
  ASSERT_EQ(at.controls.size(), 1u);
  at.controls[0] = c - .05;
  const auto g = rollout.value_and_gradient(at, *loss::expression<double>(system->signature(), "x[9]"));
  EXPECT_NEAR(g.value, .3 * (1 - c * k / (E + k)), 1e-12);
  EXPECT_NEAR(g.controls[0], -.3 * k / (E + k), 1e-11);
  EXPECT_NEAR(g.parameters["material/muscle/stiffness"][0], -.3 * c * E / ((E + k) * (E + k)), 1e-15);
  EXPECT_NEAR(g.parameters["material/flesh/E"][0], .3 * c * k / ((E + k) * (E + k)), 1e-15);
}

// A strip of cloth that hangs: its own weight would stretch the uppermost row by more than a third.
TEST(SoftLoad, AStretchNeverPassesItsLimit) {
  for (const bool limited : {false, true}) {
    SoftModel m{.materials = {{.name = "m",
                               .law = limited ? "limited" : "stvk",
                               .numbers = {{"E", 100}, {"nu", 0}},
                               .density = .1,
                               .thickness = 1e-2}},
                .integrator = Integrator::still,
                .tolerance = 1e-10};
    if (limited) m.materials[0].numbers["limit"] = 1.1, m.materials[0].numbers["stiffness"] = 100;
    add_part(m, "strip", Cells::triangles, cloth_mesh({1, .25}, {8, 2}), 0);
    for (std::size_t i = 0; i < m.rest.size(); i += 3) {  // it hangs along z
      m.rest[i + 2] = -m.rest[i];
      m.rest[i] = 0;
    }
    m.holds = {{"top", {0, 9, 18}}};
    const auto system = soft_bodies<double>(m);
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> at = rollout.arguments();
    at.x0 = soft_state(m);
    const auto end = rollout.forward(at).final_state;
    const double first = end[2] - end[3 * 1 + 2];  // of the row that carries all of the weight
    if (limited)
      EXPECT_LT(first, 1.1 * .125);
    else
      EXPECT_GT(first, 1.3 * .125);
  }
}

TEST(SoftLoad, ABalloonWithAMuscleMeetsTheContract) {
  SoftModel m{
      .materials =
          {{.name = "rubber",
            .law = "stvk",
            .numbers = {{"E", 1e5}, {"nu", .3}},
            .density = .3,
            .viscosity = 5,
            .bending = 1e-4,
            .bending_viscosity = 1e-5},
           {.name = "flesh", .law = "neo_hookean", .numbers = {{"E", 2e4}, {"nu", .3}}, .viscosity = 10},
           {.name = "muscle",
            .law = "muscle",
            .numbers = {{"stiffness", 1e4}, {"contraction", .1}, {"ax", .5}, {"ay", .3}, {"az", .2}},
            .driven = "contraction",
            .density = .1},
           {.name = "tendon",
            .law = "fibre",
            .numbers = {{"k1", 1e3}, {"k2", 1.2}, {"ax", .5}, {"ay", -.3}, {"az", .2}},
            .density = .1,
            .viscosity = 1}},
      .drag = .2,
      .wind = {.5, 1, .3},
      .wind_drag = .2,
      .dt = .01,
      .tolerance = 1e-14};
  add_part(m, "balloon", Cells::triangles, ball_mesh(.1, 1), 0);
  m.parts[0].pressure = 200, m.parts[0].pressure_driven = true;
  const int block = add_part(m, "block", Cells::tetrahedra,
                             block_mesh(Cells::tetrahedra, {.1, .1, .1}, {1, 1, 1}), 1, {.5, 0, 0});
  for (const int material : {2, 3}) {
    Part over = m.parts[1];
    over.name = "over" + std::to_string(material), over.material = material;
    m.parts.push_back(over);
  }
  m.holds = {{"feet", {0, block, block + 1, block + 2}, false}};
  const auto states = [m](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    const auto x = soft_state(m);
    for (std::size_t i = 0; i < x.size(); ++i) a.x0[i] = x[i] + .004 * (2 * uniform(seed, 5, i) - 1);
    for (std::size_t i = 0; i < a.controls.size(); ++i)
      a.controls[i] = (i % 2 == 0 ? .1 : 50) * (2 * uniform(seed, 6, i) - 1);
    return a;
  };
  costate::test::expect_contract(soft_bodies<double>(m),
                                 {.states = states, .steps = 5, .long_steps = 20, .seeds = 1});
}

TEST(SoftLoad, BadLoadsAreErrorsThatSayWhatToDo) {
  const auto with = [](const auto& change) {
    return [change] {
      SoftModel m{.materials = {{.name = "m", .law = "stvk", .density = .1}}};
      add_part(m, "cloth", Cells::triangles, cloth_mesh({1, 1}, {1, 1}), 0);
      change(m);
      return soft_bodies<double>(m);
    };
  };
  expect_error(with([](SoftModel& m) { m.parts[0].pressure = 3; }),
               "surface is open at the edge of vertices 0 and 1", "close the surface");
  expect_error(with([](SoftModel& m) { m.materials[0].driven = "contraction"; }),
               "has no number 'contraction'", "name one");
}

}  // namespace
}  // namespace costate::soft
