// What a flow carries along.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using std::numbers::pi;

// A wave cos(2 x + y) in a flow at rest is multiplied by R(z) with every step.
TEST(Scalar, AWaveDecaysByTheFactorOfTheSchemeWithAllDerivatives) {
  const Index n = 32, steps = 25;
  const double h = 2 * pi / double(n), kappa = 0.05, dt = 0.02;
  FlowOptions options{.cells = {n, n}, .width = {h, h, 1}, .dt = dt};
  options.scalars = {{.name = "T", .diffusivity = kappa}};
  struct Expected {
    Scheme scheme;
    double amplitude, by_kappa, by_dt;
  };
  for (const Expected& e :
       {Expected{Scheme::rk3, 0.883696794520791, -2.185227873785550, -5.463069684463876},
        Expected{Scheme::euler, 0.883425758166394, -2.195415361434629, -5.488538403586571}}) {
    options.scheme = e.scheme;
    const auto system = flow<double>(options);
    Rollout<double> rollout(system, {.steps = steps});
    auto at = rollout.arguments();
    const Field& T = system->signature().find(Role::state, "T");
    std::vector<double> weights(at.x0.size(), 0.0);
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) {
        const auto cell = std::size_t(T.offset + j * n + i);
        at.x0[cell] = std::cos(2 * h * double(i) + h * double(j));
        weights[cell] = at.x0[cell] * 2 / double(n * n);  // the amplitude
      }
    }
    const auto g =
        rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {steps}, {weights}));
    EXPECT_NEAR(g.value, e.amplitude, 1e-14);
    EXPECT_NEAR(g.parameters["T/diffusivity"][0], e.by_kappa, 1e-13);
    EXPECT_NEAR(g.parameters["dt"][0], e.by_dt, 1e-13);
  }
}

// A stable layering is held by pressure alone: nothing moves.
TEST(Scalar, LayeredFluidStaysAtRest) {
  FlowOptions options{.cells = {8, 10}, .dt = 0.05};
  for (std::size_t side = 0; side < 4; ++side) options.sides[side] = wall();
  options.scalars = {{.name = "T", .diffusivity = 0.1, .buoyancy = {0, 9.81, 0}}};
  options.scalars[0].sides[2] = 0.0;
  options.scalars[0].sides[3] = 10.0;
  Rollout<double> rollout(flow<double>(options), {.steps = 100});
  auto at = rollout.arguments();
  const Signature& fields = rollout.system().signature();
  for (Index k = 0; k < 80; ++k)
    at.x0[std::size_t(fields.find(Role::state, "T").offset + k)] = double(k / 8) + 0.5;
  const auto end = rollout.simulate(at).final_state;
  for (std::size_t i = 0; i < std::size_t(fields.find(Role::state, "T").offset); ++i)
    EXPECT_NEAR(end[i], 0.0, 1e-12);
  for (Index k = 0; k < 80; ++k)
    EXPECT_NEAR(end[std::size_t(fields.find(Role::state, "T").offset + k)], double(k / 8) + 0.5, 1e-12);
}

// Whatever the flow does, it moves the content of a closed box without changing the sum.
TEST(Scalar, SourcesAloneChangeTheContentOfAClosedBox) {
  FlowOptions options{.cells = {9, 8}, .dt = 0.1};
  for (std::size_t side = 0; side < 4; ++side) options.sides[side] = wall();
  options.sides[3] = wall({1, 0, 0});
  options.scalars = {{.name = "salt", .source = 0.25}};
  Rollout<double> rollout(flow<double>(options), {.steps = 40});
  auto at = test::stirred(rollout, 2);
  const auto offset = std::size_t(rollout.system().signature().find(Role::state, "salt").offset);
  const double before = test::sum({at.x0.data() + offset, 72});
  const auto end = rollout.simulate(at).final_state;
  EXPECT_NEAR(test::sum({end.data() + offset, 72}), before + 72 * 0.25 * 4, 1e-11);
}

TEST(Scalar, KeepsTheContract) {
  const auto gentle = [](auto real, std::string name) {
    return costate::test::Contract<decltype(real)>{.states = test::stirred<decltype(real)>,
                                                   .name = std::move(name),
                                                   .steps = 8,
                                                   .hold = 3,
                                                   .long_steps = 40,
                                                   .stencil_step = 3e-4};
  };
  FlowOptions options{.cells = {8, 5}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1};
  options.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}};
  options.sides[1] = {Side::Kind::outflow};
  options.sides[2] = wall();
  options.sides[3] = {Side::Kind::slip};
  options.scalars = {{.name = "T", .diffusivity = 0.1, .source = 0.02, .buoyancy = {0.1, 0.3, 0}},
                     {.name = "salt"}};
  options.scalars[0].sides[0] = 0.3;
  options.scalars[0].sides[2] = -0.1;
  options.obstacles = {{.center = {3.3, 2.8, 0}, .size = {1.8}}};
  expect_contract(flow<double>(options), gentle(0.0, "two scalars"));
  expect_contract(flow<float>(options), gentle(0.0F, "two scalars"));
  FlowOptions box{.cells = {4, 3, 5}, .dt = 0.2, .viscosity = 0.1, .scheme = Scheme::euler};
  box.sides[4] = box.sides[5] = wall();
  box.scalars = {{.name = "T", .diffusivity = 0.1, .buoyancy = {0, 0, 0.3}}};
  box.scalars[0].sides[4] = 1.0;
  expect_contract(flow<double>(box), gentle(0.0, "3-D"));
}

TEST(Scalar, SaysWhatIsWrong) {
  FlowOptions o;
  o.scalars = {{.diffusivity = -1}};
  expect_error([&] { flow<double>(o); }, "the diffusivity of 'c' is -1", "zero or positive");
  o.scalars = {{}};
  o.scalars[0].sides[0] = 1.0;
  expect_error([&] { flow<double>(o); }, "'c/west' has a value, and that side is periodic", "leave");
}

}  // namespace
}  // namespace costate::fluid
