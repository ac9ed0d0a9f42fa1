#include "costate/learn/recurrent_loop.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/grid/wave.h"
#include "costate/learn/gru.h"
#include "costate/soft/mass_spring.h"
#include "costate/system/program/lambda_system.h"
#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate::learn {
namespace {

using costate::test::expect_error;

const RecurrentNetwork kNetwork = {
    .observations = {{{{0, 1}, {2, -1}}}, {{{4, 0.5}}}, {{{7, 0.3}, {1, 0.1}}}}, .memory = 4, .seed = 3};

template <class Real>
void contract(std::shared_ptr<System<Real>> plant, const RecurrentNetwork& network, const char* field) {
  const auto system = closed_loop<Real>(plant, network);
  test::expect_contract(system, {.states =
                                     [](const auto& rollout, unsigned) {
                                       auto a = rollout.arguments();
                                       for (std::size_t i = 0; i < a.x0.size(); ++i)
                                         a.x0[i] = static_cast<Real>(std::sin(1.0 + 2.0 * double(i)));
                                       return a;
                                     },
                                 .objective = loss::final<Real>(system->signature(), field, {}),
                                 .stencil_step = 3e-4});
}

TEST(RecurrentLoop, ManySmallWorldsMeetTheContract) {
  const soft::MassSpringModel dumbbell{
      .masses = {1, 2},
      .springs = {{.rest_length = 1, .stiffness = 30, .damping = 0.4, .muscle = 0, .strength = 0.3}},
      .drag = 0.5,
      .dt = 0.01};
  contract<double>(soft::make_system<double>(dumbbell), kNetwork, "x");
  contract<float>(soft::make_system<float>(dumbbell), kNetwork, "policy/memory");
}

TEST(RecurrentLoop, OneLargeWorldMeetsTheContract) {
  const auto pond = grid::wave<double>({.nx = 6, .ny = 5, .dt = 0.05, .sources = {7, 20}});
  contract<double>(pond, {.observations = {{{{3, 1}}}, {{{40, 1}}}}, .memory = 3}, "policy/memory");
}

// The layer of gru.h, on samples as lanes, remembers the same.
TEST(RecurrentLoop, RemembersAsTheLayerOfManySamples) {
  Signature fields;
  fields.state("x", 3).control("u");
  const auto still = [](auto x, auto, auto) { return std::array{0.0 * x[0], 0.0 * x[1], 0.0 * x[2]}; };
  const std::shared_ptr<System<double>> plant =
      lambda_system<double, Sizes{.states = 3, .controls = 1}>(fields, still, euler(0.1), 8);
  const auto loop = closed_loop<double>(
      plant, {.observations = {{{{0, 1}}}, {{{1, 1}}}, {{{2, 1}}}}, .memory = 5, .seed = 7});
  Rollout<double> rollout(loop, {.steps = 4});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0.3, -1.2, 0.7, 0.1, -0.2, 0.3, -0.4, 0.5};
  for (double& d : at.parameters["policy/d"]) d = 0.3;
  const std::vector<double> found = rollout.simulate(at).final_state;
  std::vector<double> weights;
  for (const char* name : {"policy/W", "policy/U", "policy/b", "policy/d"})
    weights.insert(weights.end(), at.parameters[name].begin(), at.parameters[name].end());
  const Gru<double> layer(3, 5);
  std::vector<double> h(at.x0.begin() + 3, at.x0.end()), next(5);
  GruPass<double> pass;
  for (int k = 0; k < 4; ++k, h = next) layer.forward(weights, 1, at.x0.data(), h.data(), next.data(), pass);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(found[3 + i], h[i], 1e-14);
}

TEST(RecurrentLoop, MistakesAreErrors) {
  Signature fields;
  fields.state("x").control("u");
  const auto decay = [](auto x, auto u, auto) { return std::array{u[0] - x[0]}; };
  const std::shared_ptr<System<double>> plant =
      lambda_system<double, Sizes{.states = 1, .controls = 1}>(fields, decay, euler(0.1), 8);
  expect_error(
      [&] {
        return closed_loop<double>(plant, RecurrentNetwork{.observations = {{{{1, 1}}}}});
      },
      "state number 1, but there are 1");
  expect_error([&] { return closed_loop<double>(plant, RecurrentNetwork{}); }, "one observation");
}

}  // namespace
}  // namespace costate::learn
