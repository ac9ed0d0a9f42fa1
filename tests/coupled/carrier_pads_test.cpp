// Pads between a robot and what holds them: large ones, whose factor is in single precision, in float and in
// double; ones whose other end is driven.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/coupled/carrier.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/spec.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/soft/step/implicit_step.h"
#include "tests/soft/near_start.h"
#include "tests/system/contract.h"

namespace costate::coupled {
namespace {

using soft::Cells;
using soft::SoftModel;

// A column of foam under a plate on a slide, `cells` each way.
SoftModel press(std::array<int, 3> cells, double mass) {
  constexpr double kHeight = .2;
  rigid::Spec spec("press");
  spec.world.body("plate", {0, 0, kHeight}).slide("up", {0, 0, 1}).mass(mass, {0, 0, 0}, {1, 1, 1, 0, 0, 0});
  SoftModel m{.materials = {{.name = "foam",
                             .law = "neo_hookean_stable",
                             .numbers = {{"E", 2e4}, {"nu", .3}},
                             .density = 50,
                             .viscosity = 20}},
              .drag = .1,
              .dt = .01,
              .tolerance = 1e-12};
  soft::add_part(m, "column", Cells::hexahedra, soft::block_mesh(Cells::hexahedra, {.1, .1, kHeight}, cells),
                 0);
  m.holds = {{"ground"}, {"plate"}};
  for (int i = 0; i < m.vertices(); ++i) {
    const double z = m.rest[std::size_t(3 * i + 2)];
    if (z < 1e-9) m.holds[0].vertices.push_back(i);
    if (z > kHeight - 1e-9) m.holds[1].vertices.push_back(i);
  }
  m.holds[1].body = "plate";
  m.carrier = carrier({.model = rigid::compile(spec)});
  return m;
}

// How far the plate is after a few steps, and how that depends on mass, stiffness and its speed.
template <class Real>
std::vector<double> answers(const SoftModel& m) {
  const auto system = soft::soft_bodies<Real>(m);
  const Signature& s = system->signature();
  Rollout<Real> rollout(system, {.steps = 4, .active = {"material/foam/E", "body/plate/mass"}});
  Arguments<Real> at = rollout.arguments();
  const std::vector<double> start = soft::soft_state(m);
  at.x0.assign(start.begin(), start.end());
  const auto v = std::size_t(s.find(Role::state, "model/v").offset),
             q = std::size_t(s.find(Role::state, "model/q").offset);
  at.x0[v] = Real(-.2);
  std::vector<Real> weights(start.size());
  weights[q] = 1;
  const auto g = rollout.value_and_gradient(at, *loss::cotangents<Real>(s, {4}, {weights}));
  return {double(rollout.forward(at).final_state[q]), double(g.parameters["material/foam/E"][0]),
          double(g.parameters["body/plate/mass"][0]), double(g.x0[v])};
}

TEST(CarrierPads, LargeOnesHaveTheSameGradientInFloatAndByDifferences) {
  SoftModel m = press({8, 8, 5}, 3);
  ASSERT_GE(m.vertices(), soft::kManyVertices);
  const std::vector<double> exact = answers<double>(m), rough = answers<float>(m);
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(rough[i], exact[i], 2e-5 * std::abs(exact[i])) << i;
  const double h = 10;  // Pa
  const auto at = [&](double E) {
    m.materials[0].numbers["E"] = E;
    return answers<double>(m)[0];
  };
  const double slope = (8 * (at(2e4 + h) - at(2e4 - h)) - (at(2e4 + 2 * h) - at(2e4 - 2 * h))) / (12 * h);
  EXPECT_NEAR(exact[1], slope, 1e-6 * std::abs(slope));
}

TEST(CarrierPads, OnesThatAreDrivenAtTheirOtherEndMeetTheContract) {
  SoftModel m = press({1, 1, 2}, 2);
  m.tolerance = 1e-13;
  m.holds[0].driven = m.holds[0].turns = true;
  costate::test::expect_contract(
      soft::soft_bodies<double>(m),
      {.states = soft::test::near_start(m), .steps = 3, .long_steps = 8, .seeds = 1, .stencil_step = 1e-5});
}

}  // namespace
}  // namespace costate::coupled
