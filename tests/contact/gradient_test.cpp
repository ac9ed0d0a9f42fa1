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

}  // namespace
}  // namespace costate::rigid
