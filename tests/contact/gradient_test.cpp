// Gradients through contact: every input and parameter against dual numbers of the primal and against six-point differences.
#include <gtest/gtest.h>

#include "costate/rigid/rigid_system.h"
#include "tests/contact/states.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

using test::arguments_of;
using test::contact_reference;

void transpose_matches_dual(const std::string& name, Integrator integrator, std::size_t states) {
  test::Reference ref = contact_reference(name);
  ref.model.options.integrator = integrator;
  const auto system = make_system<double>(ref.model);
  Rollout<double> rollout(system, {.steps = 1});
  for (std::size_t i = 0; i < states; ++i) {
    SCOPED_TRACE(name + ", state " + std::to_string(i));
    costate::test::expect_transpose_matches_dual<double>(*system, arguments_of(ref, rollout, i), 1e-11);
  }
}

TEST(ContactGradient, CotangentsMatchDualOnPyramids) { transpose_matches_dual("zoo", Integrator::euler, 6); }
TEST(ContactGradient, CotangentsMatchDualOnEllipses) {
  transpose_matches_dual("zoo_elliptic", Integrator::euler, 6);
}
TEST(ContactGradient, CotangentsMatchDualUnderRk4) { transpose_matches_dual("zoo", Integrator::rk4, 1); }
TEST(ContactGradient, CotangentsMatchDualOnTheHopper) {
  transpose_matches_dual("hopper", Integrator::rk4, 3);
}
TEST(ContactGradient, CotangentsMatchDualOnTheAnt) { transpose_matches_dual("ant", Integrator::euler, 3); }

template <class Real>
void contract(const std::string& name, Integrator integrator, std::size_t state,
              costate::test::ContractOptions o) {
  test::Reference ref = contact_reference(name);
  ref.model.options.integrator = integrator;
  const auto system = make_system<Real>(ref.model);
  Rollout<Real> rollout(system, {.steps = o.steps, .hold = o.hold});
  const auto objective = loss::sum<Real>({loss::final<Real>(system->signature(), "q", {}),
                                          loss::final<Real>(system->signature(), "v", {}, 0.01)});
  costate::test::expect_contract<Real>(system, arguments_of(ref, rollout, state), *objective, o);
}

constexpr costate::test::ContractOptions kShort = {
    .steps = 4, .hold = 3, .stencil_step = 1e-5, .second_order_step = 1e-5};

TEST(ContactGradient, TheZooMeetsTheContract) { contract<double>("zoo", Integrator::euler, 0, kShort); }
TEST(ContactGradient, TheZooWithEllipsesMeetsTheContract) {
  contract<double>("zoo_elliptic", Integrator::euler, 0, kShort);
}
TEST(ContactGradient, TheHopperMeetsTheContract) { contract<double>("hopper", Integrator::rk4, 2, kShort); }
TEST(ContactGradient, TheAntMeetsTheContract) { contract<double>("ant", Integrator::euler, 1, kShort); }
TEST(ContactGradient, TheHumanoidMeetsTheContract) {
  contract<double>("humanoid", Integrator::euler, 2, kShort);
}
TEST(ContactGradient, TheHumanoidMeetsTheContractInFloat) {
  contract<float>("humanoid", Integrator::euler, 2, kShort);
}

}  // namespace
}  // namespace costate::rigid
