// Scalars that react with one another.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;

// A -> B, everywhere the same: A falls by the factor of the scheme, R(-k dt), and what it loses B gains.
TEST(Reactions, DecayByTheFactorOfTheSchemeWithAllDerivatives) {
  const double k = 0.7, dt = 0.2, a = 1.5;
  FlowOptions o{.cells = {4, 3},
                .dt = dt,
                .scalars = {{.name = "A", .diffusivity = 0}, {.name = "B", .diffusivity = 0}}};
  o.reactions = {{.name = "decay", .rate = k, .takes = {1}, .makes = {0, 1}}};
  Rollout<double> rollout(flow<double>(o), {.steps = 6, .active = {"decay/rate", "dt"}});
  const Signature& fields = rollout.system().signature();
  auto at = rollout.arguments();
  const auto A = std::size_t(fields.find(Role::state, "A").offset),
             B = std::size_t(fields.find(Role::state, "B").offset);
  std::fill_n(at.x0.begin() + std::ptrdiff_t(A), 12, a);
  const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(fields, "B", 5));
  const double z = -k * dt, R = 1 + z + z * z / 2 + z * z * z / 6, slope = 1 + z + z * z / 2;
  EXPECT_NEAR(g.value, a * (1 - std::pow(R, 6)), 1e-14);
  EXPECT_NEAR(g.parameters["decay/rate"][0], 6 * a * std::pow(R, 5) * slope * dt, 1e-13);
  EXPECT_NEAR(g.parameters["dt"][0], 6 * a * std::pow(R, 5) * slope * k, 1e-13);
  EXPECT_NEAR(g.x0[A + 5], 1 - std::pow(R, 6), 1e-13);
  EXPECT_NEAR(g.x0[B + 5], 1, 1e-14);
}

// A + 2 B -> C in a stirred box: as many atoms of each kind as at the start; and 2 A = B stays, if it holds.
TEST(Reactions, KeepWhatTheyAreMadeOf) {
  FlowOptions o{.cells = {8, 6}, .width = {0.5, 0.4, 1}, .dt = 0.05, .viscosity = 0.05};
  o.scalars = {{.name = "A"}, {.name = "B"}, {.name = "C"}};
  o.reactions = {{.rate = 0.8, .takes = {1, 2, 0}, .makes = {0, 0, 1}}};
  Rollout<double> rollout(flow<double>(o), {.steps = 40});
  auto at = test::stirred(rollout, 2);
  const auto first = std::size_t(rollout.system().signature().find(Role::state, "A").offset);
  for (std::size_t i = 0; i < 48; ++i) {
    at.x0[first + i] = 1 + 0.5 * std::sin(double(i));
    at.x0[first + 48 + i] = 2 * at.x0[first + i], at.x0[first + 96 + i] = 0;
  }
  const auto end = rollout.simulate(at).final_state;
  const auto total = [&](const std::vector<double>& x, std::size_t s) {
    return test::sum({x.data() + first + 48 * s, 48});
  };
  EXPECT_GT(total(end, 2), 10);
  EXPECT_NEAR(total(end, 0) + total(end, 2), total(at.x0, 0), 1e-11);
  for (std::size_t i = 0; i < 48; ++i) EXPECT_NEAR(end[first + 48 + i], 2 * end[first + i], 1e-12);
}

TEST(Reactions, KeepTheContract) {
  const auto gentle = [](auto real, std::string name) {
    return costate::test::Contract<decltype(real)>{.states = test::stirred<decltype(real)>,
                                                   .name = std::move(name),
                                                   .steps = 5,
                                                   .long_steps = 30,
                                                   .stencil_step = 3e-4};
  };
  FlowOptions o{.cells = {6, 5}, .dt = 0.1, .viscosity = 0.1};
  o.sides[2] = wall(), o.sides[3] = {Side::Kind::outflow};
  o.scalars = {{.name = "A", .buoyancy = {0.1, 0.2, 0}}, {.name = "B", .source = 0.3}};
  o.scalars[1].sides[2] = 0.5;
  // Gray and Scott: A + 2 B -> 3 B, and B decays.
  o.reactions = {{.name = "feeds", .rate = 0.9, .takes = {1, 2}, .makes = {0, 3}},
                 {.name = "decays", .rate = 0.2, .takes = {0, 1}}};
  expect_contract(flow<double>(o), gentle(0.0, "reactions"));
  expect_contract(flow<float>(o), gentle(0.0F, "reactions"));
  o.scheme = Scheme::semi_lagrangian;
  o.scalars[0].carried = Scalar::Carried::semi_lagrangian;
  auto cornered = gentle(0.0, "reactions of what is traced back");
  cornered.smooth = false;
  expect_contract(flow<double>(o), cornered);
}

TEST(Reactions, SayWhatIsWrong) {
  FlowOptions o{.scalars = {{.name = "A"}}};
  o.reactions = {{.name = "burning", .takes = {1, 1}}};
  expect_error([&] { flow<double>(o); }, "'burning' knows 2 scalars, and the flow has 1",
               "one number per scalar");
  o.reactions[0].takes = {-1};
  expect_error([&] { flow<double>(o); }, "takes or makes -1 of 'A'", "0 to 8");
  o.reactions[0] = {.name = "nothing", .takes = {2}, .makes = {2}};
  expect_error([&] { flow<double>(o); }, "'nothing' changes nothing", "what it takes");
  o.reactions.clear();
  for (int k = 0; k < 17; ++k) o.reactions.push_back({.name = "r" + std::to_string(k), .takes = {1}});
  expect_error([&] { flow<double>(o); }, "at most 16 reactions", "several flows");
}

}  // namespace
}  // namespace costate::fluid
