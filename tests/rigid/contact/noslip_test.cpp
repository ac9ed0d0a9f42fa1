// Noslip iterations: gradients of a model with every kind of friction. parity_test.cpp compares the steps of
// noslip.xml and noslip_elliptic.xml with MuJoCo's.
#include "costate/rigid/constraints/noslip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "costate/rigid/compile/compile.h"
#include "costate/rigid/constraints/noslip_cone.h"
#include "costate/rigid/observer.h"
#include "costate/rigid/rigid_system.h"
#include "tests/expect_error.h"
#include "tests/rigid/contact/states.h"
#include "tests/rigid/one_world.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

using test::arguments_of;
using test::contact_reference;

void transpose_matches_dual(const std::string& name, Integrator integrator, std::size_t states) {
  test::transpose_matches_dual(name, integrator, states, 1e-12);
}

TEST(Noslip, CotangentsMatchDualOnPyramids) { transpose_matches_dual("noslip", Integrator::euler, 5); }
TEST(Noslip, CotangentsMatchDualOnEllipses) {
  transpose_matches_dual("noslip_elliptic", Integrator::euler, 5);
}
TEST(Noslip, CotangentsMatchDualUnderImplicitfast) {
  transpose_matches_dual("noslip", Integrator::implicitfast, 2);
}
TEST(Noslip, CotangentsMatchDualUnderRk4) {
  transpose_matches_dual("noslip", Integrator::rk4, 1);
  transpose_matches_dual("noslip_elliptic", Integrator::rk4, 1);
}

template <class Real>
void contract(const std::string& name, std::size_t state) {
  test::Reference ref = contact_reference(name);
  test::untie(ref.model);
  const auto system = make_system<Real>(ref.model, {.onset = Onset::none});
  const auto objective = loss::sum<Real>({loss::final<Real>(system->signature(), "q", {}),
                                          loss::final<Real>(system->signature(), "v", {}, 0.01)});
  costate::test::expect_contract(
      system, {.states = [&](const auto& rollout, unsigned) { return arguments_of(ref, rollout, state); },
               .objective = objective,
               .name = name,
               .steps = 4,
               .hold = 3,
               .long_steps = 20,
               .transpose_gate = sizeof(Real) == 8 ? 1e-12 : 1e-3,
               .stencil_step = 1e-5,
               .taylor_step = 1e-4,
               .second_order_step = 1e-5});
}
TEST(Noslip, PyramidsMeetTheContract) { contract<double>("noslip", 4); }
TEST(Noslip, EllipsesMeetTheContract) { contract<double>("noslip_elliptic", 3); }

// A brick on a slope whose angle is below that of friction: soft contact creeps, and many sweeps hold it.
TEST(Noslip, ABrickOnASlopeDoesNotCreep) {
  for (const ConeType cone : {ConeType::pyramidal, ConeType::elliptic}) {
    Spec spec("slope");
    spec.options.cone = cone;
    spec.options.gravity = {9.81 * std::sin(0.2), 0, -9.81 * std::cos(0.2)};
    spec.world.plane("floor");
    spec.world.body("brick", {0, 0, 0.1}).free("free").box("brick", {0, 0, 0}, {0.2, 0.2, 0.1});
    double crept[2];
    for (const int sweeps : {0, 50}) {
      spec.options.noslip_iterations = sweeps;
      const Model model = compile(spec);
      Rollout<double> rollout(make_system<double>(model, {.onset = Onset::none}), {.steps = 1000});
      auto at = rollout.arguments();
      at.x0 = initial_state(model);
      auto settled = rollout.simulate(at).final_state;
      const double before = settled[0];
      at.x0 = settled;
      crept[sweeps > 0] = std::abs(rollout.simulate(at).final_state[0] - before);
    }
    EXPECT_GT(crept[0], 1e-3);
    EXPECT_LT(crept[1], 1e-3 * crept[0]);
  }
}

TEST(Noslip, TheMinimumOnAnEllipseIsOne) {
  const double B[3][kMostFriction] = {{2, 0.3, -0.1}, {0.3, 1, 0.2}, {-0.1, 0.2, 0.5}}, d[] = {1, -2, 3};
  for (const double r : {0.1, 1.0, 2.0, 100.0}) {
    const ConeMinimum<double> at = cone_minimum(3, B, d, r);
    EXPECT_EQ(at.on_border, r < 10);
    for (int i = 0; i < 3; ++i) {  // the gradient points along -x, and vanishes inside
      double g = d[i] + at.l * at.x[i];
      for (int j = 0; j < 3; ++j) g += B[i][j] * at.x[j];
      EXPECT_NEAR(g, 0, 1e-13 * (1 + at.l));
    }
    EXPECT_GE(at.l, 0);
    EXPECT_NEAR(std::min(dot_rows(3, at.x, at.x), r * r), at.on_border ? r * r : dot_rows(3, at.x, at.x),
                1e-12 * r * r);
  }
  EXPECT_TRUE(cone_minimum(3, B, d, 0.0).none);
}

// One hinge moves the contact: both tangents are multiples of one direction, and what is left of the second
// pivot is rounding, above 1e-10 where bodies are light.
template <class Real>
void expect_no_friction_along_what_cannot_move() {
  const Real J[] = {Real(0.3), Real(-0.7)}, d[] = {1, -2};
  for (const Real mobility : {Real(1), Real(1e3), Real(1e6)}) {
    Real B[2][kMostFriction];
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) B[i][j] = J[i] * mobility * J[j];
    B[1][1] *= 1 + 2 * std::numeric_limits<Real>::epsilon();
    EXPECT_TRUE(cone_minimum(2, B, d, Real(1)).none) << mobility;
  }
}
TEST(Noslip, RoundingIsNoMobility) {
  expect_no_friction_along_what_cannot_move<double>();
  expect_no_friction_along_what_cannot_move<float>();
}

// A light paddle that scrapes the floor: single precision computes what double does, both modes agree. (It
// dips in by less than half a millimetre. A centimetre deeper, it leaves at 75 rad/s, of which single
// precision has no 1e-4 rad/s.)
TEST(Noslip, AContactThatOneHingeMovesIsTheSameInBothPrecisions) {
  Spec spec("paddle");
  spec.options.cone = ConeType::elliptic;
  spec.options.noslip_iterations = 10;
  spec.world.plane("floor");
  spec.world.body("paddle", {0, 0, 0.2205})
      .hinge("hinge", {0.2, 0.9, 0.3})
      .box("paddle", {0.03, 0.02, -0.1}, {0.01, 0.02, 0.12});
  const Model model = compile(spec);
  const auto in_double = make_system<double>(model, {.onset = Onset::none});
  Rollout<double> doubles(in_double, {.steps = 5});
  Rollout<float> floats(make_system<float>(model, {.onset = Onset::none}), {.steps = 5});
  auto at = doubles.arguments();
  auto narrow = floats.arguments();
  at.x0 = {0.02, -1.5};
  narrow.x0 = {0.02f, -1.5f};
  const auto fine = doubles.simulate(at).final_state;
  const auto coarse = floats.simulate(narrow).final_state;
  EXPECT_GT(std::abs(fine[1] + 1.5), 1e-3);  // it touches
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(coarse[i], fine[i], 1e-4);
  costate::test::expect_transpose_matches_dual<double>(*in_double, at, 1e-12);
}

TEST(Noslip, ForcesOfFrictionAreNotObserved) {
  const test::Reference ref = contact_reference("noslip");
  const auto system = make_system<double>(ref.model, {.onset = Onset::none});
  costate::test::expect_error(
      [&] {
        return Observer(ref.model, system->signature(), {{"push", "body/ball/contact"}});
      },
      "forces of friction after noslip iterations are not observed", "noslip_iterations = 0");
}

}  // namespace
}  // namespace costate::rigid
