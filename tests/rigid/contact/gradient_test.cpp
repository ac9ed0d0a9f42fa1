// Gradients through contact: every input and parameter against dual numbers of the primal and against
// six-point differences.
#include <gtest/gtest.h>

#include "costate/rigid/rigid_system.h"
#include "tests/rigid/contact/states.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

using test::arguments_of;
using test::contact_reference;

void transpose_matches_dual(const std::string& name, Integrator integrator, std::size_t states) {
  test::transpose_matches_dual(name, integrator, states, 1e-11);
}

TEST(ContactGradient, CotangentsMatchDualOnPyramids) { transpose_matches_dual("zoo", Integrator::euler, 6); }
TEST(ContactGradient, CotangentsMatchDualOnEllipses) {
  transpose_matches_dual("zoo_elliptic", Integrator::euler, 6);
}
TEST(ContactGradient, CotangentsMatchDualOnSolids) { transpose_matches_dual("solids", Integrator::euler, 4); }
TEST(ContactGradient, CotangentsMatchDualUnderRk4) { transpose_matches_dual("zoo", Integrator::rk4, 1); }
TEST(ContactGradient, CotangentsMatchDualOnTheHopper) {
  transpose_matches_dual("hopper", Integrator::rk4, 3);
}
TEST(ContactGradient, CotangentsMatchDualOnTheHalfCheetah) {
  transpose_matches_dual("half_cheetah", Integrator::euler, 4);
}
TEST(ContactGradient, CotangentsMatchDualOnTheAnt) { transpose_matches_dual("ant", Integrator::euler, 3); }

// Each number of each geom and pair alone: six-point differences of one step.
void every_parameter_matches_differences(const std::string& name, std::size_t state) {
  const test::Reference ref = contact_reference(name);
  const auto system = make_system<double>(ref.model, {.onset = Onset::none});
  Rollout<double> rollout(system, {.steps = 1});
  const auto at = arguments_of(ref, rollout, state);
  std::vector<double> weights(static_cast<std::size_t>(system->signature().states()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(1.0 + double(i));
  const auto objective = loss::cotangents<double>(system->signature(), {1}, {weights});
  const auto gradient = rollout.value_and_gradient(at, *objective);
  const auto& fields = system->signature().fields(Role::parameter);
  int acted = 0;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].name.rfind("geom/", 0) != 0 && fields[f].name.rfind("pair/", 0) != 0) continue;
    for (std::size_t i = 0; i < at.parameters.values(f).size(); ++i) {
      const double here = at.parameters.values(f)[i], h = 1e-5 * std::max(0.1, std::abs(here));
      const auto value = [&](int k) {
        auto moved = at;
        moved.parameters.values(f)[i] = here + k * h;
        return rollout.value(moved, *objective);
      };
      const double difference =
          (45 * (value(1) - value(-1)) - 9 * (value(2) - value(-2)) + (value(3) - value(-3))) / (60 * h);
      const double exact = gradient.parameters.values(f)[i];
      acted += exact != 0;
      const double rounding = 1e-14 * std::max(1.0, std::abs(gradient.value)) / h;  // the differences' own
      EXPECT_NEAR(exact, difference, 1e-8 * std::max(1.0, std::abs(exact)) + 2 * rounding)
          << name << " state " << state << ": " << fields[f].name << "[" << i << "]";
    }
  }
  EXPECT_GT(acted, 20) << name << " state " << state;
}

TEST(ContactGradient, EveryGeomParameterMatchesDifferencesOnPyramids) {
  for (std::size_t state : {1u, 2u, 6u}) every_parameter_matches_differences("zoo", state);
}
TEST(ContactGradient, EveryGeomParameterMatchesDifferencesOnEllipses) {
  for (std::size_t state : {1u, 2u, 6u}) every_parameter_matches_differences("zoo_elliptic", state);
}

TEST(ContactGradient, EveryGeomParameterMatchesDifferencesOnSolids) {
  for (std::size_t state : {0u, 1u, 2u}) every_parameter_matches_differences("solids", state);
}

template <class Real>
void contract(const std::string& name, Integrator integrator, std::size_t state) {
  test::Reference ref = contact_reference(name);
  ref.model.options.integrator = integrator;
  test::untie(ref.model);
  const auto system = make_system<Real>(ref.model, {.onset = Onset::none});
  const auto objective = loss::sum<Real>({loss::final<Real>(system->signature(), "q", {}),
                                          loss::final<Real>(system->signature(), "v", {}, 0.01)});
  costate::test::expect_contract(
      system,
      {.states = [&](const auto& rollout, unsigned) { return arguments_of(ref, rollout, state); },
       .objective = objective,
       .name = name,
       .steps = 4,
       .hold = 3,
       .long_steps = 20,
       // Entries are sums of numbers as large as the largest of them, 2000 here: float keeps 1e-4 of those.
       .transpose_gate = sizeof(Real) == 8 ? 1e-12 : 1e-3,
       .stencil_step = 1e-5,
       .taylor_step = 1e-4,
       .second_order_step = 1e-5});
}

TEST(ContactGradient, TheZooMeetsTheContract) { contract<double>("zoo", Integrator::euler, 0); }
TEST(ContactGradient, TheZooWithEllipsesMeetsTheContract) {
  contract<double>("zoo_elliptic", Integrator::euler, 0);
}
TEST(ContactGradient, SolidsMeetTheContract) { contract<double>("solids", Integrator::euler, 0); }
TEST(ContactGradient, TheHopperMeetsTheContract) { contract<double>("hopper", Integrator::rk4, 2); }
TEST(ContactGradient, TheAntMeetsTheContract) { contract<double>("ant", Integrator::euler, 2); }
TEST(ContactGradient, TheHumanoidMeetsTheContract) { contract<double>("humanoid", Integrator::euler, 4); }
TEST(ContactGradient, TheHumanoidMeetsTheContractInFloat) {
  contract<float>("humanoid", Integrator::euler, 4);
}

}  // namespace
}  // namespace costate::rigid
