// Limits, dry friction and equalities: gradients of the zoo of tests/rigid/reference, which has every kind.
#include "costate/rigid/constraints.h"

#include <gtest/gtest.h>

#include "costate/rigid/rigid_system.h"
#include "tests/rigid/models.h"
#include "tests/rigid/reference_model.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

Model constrained_zoo(Integrator integrator) {
  for (auto& reference : test::references()) {
    if (reference.name != "zoo") continue;
    reference.model.options.integrator = integrator;
    return reference.model;
  }
  throw std::runtime_error("no zoo");
}

void one_step_matches_dual(Integrator integrator) {
  const Model model = constrained_zoo(integrator);
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1});
  for (unsigned seed : {1u, 2u, 3u, 4u}) {
    costate::test::expect_transpose_matches_dual<double>(*system,
                                                         test::random_arguments(model, rollout, seed), 1e-12);
  }
}

TEST(Constraints, EveryParametersCotangentMatchesDualUnderEuler) { one_step_matches_dual(Integrator::euler); }
TEST(Constraints, EveryParametersCotangentMatchesDualUnderImplicitfast) {
  one_step_matches_dual(Integrator::implicitfast);
}
TEST(Constraints, EveryParametersCotangentMatchesDualUnderRk4) { one_step_matches_dual(Integrator::rk4); }

// Straight curves (power 1) and impedances at their bounds: the transpose takes the side that the primal takes.
TEST(Constraints, CotangentsMatchDualWhereTheSoftnessIsAtItsBounds) {
  Model model = constrained_zoo(Integrator::euler);
  const auto bound = [](Softness& s) { s.solimp = {1e-4, 0.9999, 0.5, 0.5, 1}; };
  for (Joint& j : model.joints) bound(j.limit), bound(j.friction);
  for (Tendon& t : model.tendons) bound(t.limit), bound(t.friction);
  for (Equality& e : model.equalities) bound(e.softness);
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1});
  costate::test::expect_transpose_matches_dual<double>(*system, test::random_arguments(model, rollout, 2),
                                                       1e-10);
}

template <class Real>
void contract(Integrator integrator) {
  const Model model = constrained_zoo(integrator);
  const auto system = make_system<Real>(model);
  Rollout<Real> rollout(system, {.steps = 6, .hold = 5});
  const auto objective = loss::sum<Real>({loss::final<Real>(system->signature(), "q", {}),
                                          loss::final<Real>(system->signature(), "v", {}, 0.1)});
  costate::test::expect_contract<Real>(system, test::random_arguments(model, rollout, 2, 0.3), *objective,
                                       {.steps = 6, .hold = 5, .stencil_step = 1e-4});
}

TEST(Constraints, MeetTheContract) { contract<double>(Integrator::euler); }
TEST(Constraints, MeetTheContractWithRk4) { contract<double>(Integrator::rk4); }

// A pendulum that swings into its limit and out of it again.
TEST(Constraints, TheReportListsWhenALimitActs) {
  Model m;
  m.bodies.resize(2);
  m.bodies[1].parent = 0;
  m.bodies[1].mass = 1;
  m.bodies[1].com = {0, 0, -0.5};
  m.bodies[1].inertia = {0.01, 0.01, 0.01, 0, 0, 0};
  m.joints.resize(1);
  m.joints[0].body = 1;
  m.joints[0].axis = {0, 1, 0};
  m.joints[0].limited = true;
  m.joints[0].range = {-0.2, 3};
  complete(m);
  const auto system = make_system<double>(m);
  Rollout<double> rollout(system, {.steps = 600});
  auto at = rollout.arguments();
  at.x0 = {1, 0};
  const auto g = rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {}));
  ASSERT_GE(g.report.mode_switches.size(), 2u);  // in, and out
  EXPECT_GT(g.report.mode_switches[0], 100);
  EXPECT_LT(g.report.adjoint_residual, 1e-10);
  const auto end = rollout.simulate(at).final_state;
  EXPECT_GT(end[0], -0.25);
}

}  // namespace
}  // namespace costate::rigid
