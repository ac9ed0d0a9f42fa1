// Smagorinsky's viscosity: a channel whose profile is known, and the contract.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;

// Between plates (nu + l^2 |u'|) u' = g (1/2 - y), with l = C delta kept while the grid gets finer.
TEST(Eddies, AChannelApproachesPrandtlsMixingLengthWithSecondOrder) {
  const double nu = 0.05, g = 1, l = 0.1;
  double flux = 0;
  const int parts = 20000;
  for (int k = 0; k < parts; ++k) {  // flux = 2 int_0^(1/2) u dy = 2 int (1/2 - y) u' dy
    const double y = 0.5 * (k + 0.5) / parts, push = g * (0.5 - y);
    const double slope = (std::sqrt(nu * nu + 4 * l * l * push) - nu) / (2 * l * l);
    flux += 2 * (0.5 - y) * slope * 0.5 / parts;
  }
  double error[2];
  for (const int level : {0, 1}) {
    const Index n = level == 0 ? 12 : 24;
    const double h = 1.0 / double(n);
    FlowOptions o{.cells = {3, n}, .width = {h, h, 1}, .dt = 2.5 * h * h, .viscosity = nu};
    o.force = {g, 0, 0};
    o.sides[2] = o.sides[3] = wall();
    o.smagorinsky = l / h;
    Rollout<double> rollout(flow<double>(o), {.steps = std::lround(12 / o.dt)});
    const auto end = rollout.simulate(rollout.arguments()).final_state;
    double found = 0;
    for (Index j = 0; j < n; ++j) found += h * end[std::size_t(3 * j)];
    error[level] = std::abs(found / flux - 1);
  }
  EXPECT_LT(error[1], 0.02);
  EXPECT_GT(error[0] / error[1], 2.8);
}

TEST(Eddies, KeepTheContract) {
  const auto gentle = []<class Real>(std::string name, Real) {
    return costate::test::Contract<Real>{.states = test::stirred<Real>,
                                         .name = std::move(name),
                                         .steps = 6,
                                         .hold = 3,
                                         .long_steps = 30,
                                         .stencil_step = 1e-4};
  };
  FlowOptions channel{.cells = {8, 5}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1};
  channel.smagorinsky = 0.4;
  channel.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}, true};
  channel.sides[1] = {Side::Kind::outflow};
  channel.sides[2] = wall({0.1, 0, 0});
  channel.sides[3] = {Side::Kind::slip};
  expect_contract(flow<double>(channel), gentle("channel", 0.0));
  expect_contract(flow<float>(channel), gentle("channel", 0.0F));
  FlowOptions box{.cells = {4, 5, 3}, .dt = 0.2, .viscosity = 0.1};
  box.smagorinsky = 0.4;
  expect_contract(flow<double>(box), gentle("box", 0.0));
}

TEST(Eddies, SayWhatIsWrong) {
  FlowOptions o;
  o.smagorinsky = -0.1;
  expect_error([&] { flow<double>(o); }, "Smagorinsky's constant is -0.1", "about 0.1");
}

}  // namespace
}  // namespace costate::fluid
