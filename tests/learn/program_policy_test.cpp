#include "costate/learn/program_policy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/ad/parse.h"
#include "costate/rigid/rigid_system.h"
#include "costate/soft/mass_spring.h"
#include "costate/system/program/bind_program.h"
#include "tests/expect_error.h"
#include "tests/rigid/models.h"
#include "tests/system/contract.h"

namespace costate::learn {
namespace {

using costate::test::expect_error;

soft::MassSpringModel dumbbell() {
  return {.masses = {1, 2},
          .springs = {{.rest_length = 1, .stiffness = 30, .damping = 0.4, .muscle = 0, .strength = 0.3}},
          .drag = 0.5,
          .dt = 0.01};
}

Signature gains() {
  Signature s;
  s.parameter("gain", {0.3, -0.7}).parameter("offset", 0.1);
  return s;
}

ad::Program parsed(const Signature& plant, const char* text) {
  return ad::parse_expression(text, names_of(policy_signature(plant, gains()), true), {.name = "policy"});
}

template <class Real>
void contract() {
  const auto plant = soft::make_system<Real>(dumbbell());
  const auto system = closed_loop<Real>(
      plant, gains(),
      parsed(plant->signature(), "tanh(gain[0]*sin(x[0] - x[2]) + gain[1]*v[1]*mass[0] + offset*cos(3*t))"));
  test::expect_contract(system, {.states =
                                     [](const auto& rollout, unsigned) {
                                       auto a = rollout.arguments();
                                       for (std::size_t i = 0; i < a.x0.size(); ++i)
                                         a.x0[i] = Real(std::sin(1.0 + 2.0 * double(i)));
                                       return a;
                                     },
                                 .objective = loss::final<Real>(system->signature(), "x", {}),
                                 .stencil_step = 3e-4});
}

TEST(ProgramPolicy, MeetsTheContract) {
  contract<double>();
  contract<float>();
}

// A residual beside controls that stay.
TEST(Hybrid, MeetsTheContract) {
  const std::shared_ptr<const System<double>> plant = soft::make_system<double>(dumbbell());
  const auto system = hybrid<double>(
      plant, gains(), parsed(plant->signature(), "gain[0]*sin(x[0] - x[2]) + gain[1]*v[1] + offset"));
  EXPECT_EQ(system->signature().controls(), plant->signature().controls());
  test::expect_contract(system, {.states =
                                     [](const auto& rollout, unsigned seed) {
                                       auto a = rollout.arguments();
                                       for (std::size_t i = 0; i < a.x0.size(); ++i)
                                         a.x0[i] = std::sin(1.0 + 2.0 * double(i));
                                       for (std::size_t i = 0; i < a.controls.size(); ++i)
                                         a.controls[i] = std::cos(double(seed) + 3.0 * double(i));
                                       return a;
                                     },
                                 .objective = loss::final<double>(system->signature(), "x", {}),
                                 .stencil_step = 3e-4});
}

TEST(Hybrid, WithoutAResidualIsThePlant) {
  const std::shared_ptr<const System<double>> plant = soft::make_system<double>(dumbbell());
  const auto system = hybrid<double>(plant, gains(), parsed(plant->signature(), "0*offset"));
  const auto run = [](const std::shared_ptr<const System<double>>& s) {
    Rollout<double> rollout(s, {.steps = 20});
    auto a = rollout.arguments();
    for (std::size_t i = 0; i < a.x0.size(); ++i) a.x0[i] = double(i);
    for (double& u : a.controls) u = 0.7;
    return rollout.simulate(a).final_state;
  };
  EXPECT_EQ(run(system), run(plant));
}

TEST(ProgramPolicy, MistakesAreErrors) {
  const std::shared_ptr<const System<double>> plant = soft::make_system<double>(dumbbell());
  auto still = dumbbell();
  still.springs[0].muscle = -1, still.springs[0].strength = 0;
  const std::shared_ptr<const System<double>> bare = soft::make_system<double>(still);
  const ad::Program policy = parsed(plant->signature(), "x[0]");
  expect_error([&] { return closed_loop<double>(bare, gains(), policy); }, "there is nothing to control");
}

}  // namespace
}  // namespace costate::learn
