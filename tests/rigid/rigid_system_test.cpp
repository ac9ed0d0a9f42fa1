#include "costate/rigid/rigid_system.h"

#include <gtest/gtest.h>

#include "tests/rigid/models.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

template <class Real>
void one_step_matches_dual(Integrator integrator, double gate) {
  const Model model = test::zoo(integrator);
  const auto system = make_system<Real>(model, {.applied_forces = true});
  Rollout<Real> rollout(system, {.steps = 1});
  for (unsigned seed : {1u, 2u, 3u}) {
    costate::test::expect_transpose_matches_dual<Real>(*system, test::random_arguments(model, rollout, seed),
                                                       gate);
  }
}

TEST(RigidSystem, EveryParametersCotangentMatchesDualUnderEuler) {
  one_step_matches_dual<double>(Integrator::euler, 1e-12);
}
TEST(RigidSystem, EveryParametersCotangentMatchesDualUnderImplicitfast) {
  one_step_matches_dual<double>(Integrator::implicitfast, 1e-12);
}
TEST(RigidSystem, EveryParametersCotangentMatchesDualUnderRk4) {
  one_step_matches_dual<double>(Integrator::rk4, 1e-12);
}

template <class Real>
void contract(Integrator integrator) {
  const Model model = test::zoo(integrator);
  const auto system = make_system<Real>(model, {.applied_forces = true});
  Rollout<Real> rollout(system, {.steps = 20, .hold = 5});
  const auto objective = loss::sum<Real>({loss::final<Real>(system->signature(), "q", {}),
                                          loss::final<Real>(system->signature(), "v", {}, 0.1),
                                          loss::effort<Real>(system->signature())});
  costate::test::expect_contract<Real>(system, test::random_arguments(model, rollout, 5), *objective,
                                       {.steps = 20, .hold = 5, .stencil_step = 3e-4});
}

TEST(RigidSystem, MeetsTheContractWithEuler) { contract<double>(Integrator::euler); }
TEST(RigidSystem, MeetsTheContractWithImplicitfast) { contract<double>(Integrator::implicitfast); }
TEST(RigidSystem, MeetsTheContractWithRk4) { contract<double>(Integrator::rk4); }
TEST(RigidSystem, MeetsTheContractInFloat) { contract<float>(Integrator::euler); }

}  // namespace
}  // namespace costate::rigid
