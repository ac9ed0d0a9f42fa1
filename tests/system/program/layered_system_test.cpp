#include "costate/system/program/layered_system.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/ad/builder.h"
#include "costate/core/aligned_buffer.h"
#include "costate/ode/lanes/fixed_scheme.h"
#include "costate/system/program/program_system.h"
#include "tests/system/contract.h"
#include "tests/system/program/network.h"

namespace costate {
namespace {

using ad::Builder;
using ad::Id;
using ad::Op;

using test::fields;
using test::in_layers;
using test::network;

// Worlds of their own; `matrix`: with their own weights and biases, too.
template <class Real>
Arguments<Real> worlds_of(const Rollout<Real>& rollout, bool matrix) {
  Arguments<Real> a = rollout.arguments();
  a.x0.clear();
  a.controls.clear();
  const std::int64_t worlds = rollout.options().worlds, knots = rollout.knots();
  std::vector<Real> damping, weights, biases;
  for (std::int64_t w = 0; w < worlds; ++w) {
    a.x0.push_back(Real(0.7 + 0.01 * double(w)));
    a.x0.push_back(Real(-0.4));
    for (std::int64_t i = 0; i < knots; ++i) a.controls.push_back(Real(0.3 * std::sin(double(i + w))));
    damping.push_back(Real(0.2 + 0.003 * double(w)));
    for (const Real value : a.parameters["w1"]) weights.push_back(value * Real(1 + 0.001 * double(w)));
    for (const Real value : a.parameters["b"]) biases.push_back(value + Real(0.002 * double(w)));
  }
  a.parameters.set("c", damping);
  if (matrix) a.parameters.set("w1", weights);
  if (matrix) a.parameters.set("b", biases);
  return a;
}

TEST(LayeredSystem, MeetsTheContract) {
  for (const std::int64_t worlds : {1, 5, 37}) {
    for (const bool matrix : {false, true}) {
      const auto system = in_layers<double>(fields(), network(), rk4(0.02), worlds);
      test::expect_contract(
          system, {.states = [&](const auto& rollout, unsigned) { return worlds_of(rollout, matrix); },
                   .steps = 30,
                   .worlds = worlds});
    }
  }
}
TEST(LayeredSystem, MeetsTheContractInSinglePrecisionAndByOtherMethods) {
  for (const Scheme& scheme : {Scheme(rk4(0.02)), Scheme(euler(0.02)), ode::fixed_scheme("dopri5", 0.02)}) {
    const auto system = in_layers<float>(fields(), network(), scheme, 37);
    test::expect_contract(system,
                          {.states = [&](const auto& rollout, unsigned) { return worlds_of(rollout, false); },
                           .steps = 30,
                           .worlds = 37});
  }
}

// The program written out is another way to the same numbers.
TEST(LayeredSystem, IsTheProgramWrittenOut) {
  struct Case {
    const char* method;
    std::int64_t worlds;
  };
  for (const auto& [method, worlds] : {Case{"rk4", 1}, {"rk4", 21}, {"tsit5", 21}, {"dop853", 1}}) {
    const Scheme scheme = ode::fixed_scheme(method, 0.02);
    const auto a = in_layers<double>(fields(), network(), scheme, worlds);
    const auto b = program_system<double>(fields(), ad::expand(network()), scheme, worlds);
    const RolloutOptions options{.steps = 100, .worlds = worlds, .hold = 10};
    Rollout<double> first(a, options), second(b, options);
    const auto objective = loss::final<double>(a->signature(), "q", {});
    const Gradient<double> x = first.value_and_gradient(worlds_of(first, true), *objective);
    const Gradient<double> y = second.value_and_gradient(worlds_of(second, true), *objective);
    EXPECT_NEAR(x.value, y.value, 1e-13 * std::abs(y.value));
    for (const char* name : {"c", "w1", "b", "w2", "dt", "t0"}) {
      double difference = 0, size = 0;
      for (std::size_t i = 0; i < y.parameters[name].size(); ++i) {
        difference = std::max(difference, std::abs(x.parameters[name][i] - y.parameters[name][i]));
        size = std::max(size, std::abs(y.parameters[name][i]));
      }
      EXPECT_LT(difference, 1e-12 * size) << name;
    }
  }
}

// What is read from a tape has the bits of what is computed again.
TEST(LayeredSystem, ATapeChangesNoBits) {
  const auto system = in_layers<float>(fields(), network(), ode::fixed_scheme("dopri5", 0.05), 37);
  const Activity active{std::vector<bool>(system->signature().fields(Role::parameter).size(), true), true};
  const std::int64_t size = system->tape(active, {}).size;
  ASSERT_GT(size, 0);
  EXPECT_EQ(system->tape(active, {.numbers = size}).size, size);
  EXPECT_EQ(system->tape(active, {.numbers = size - 1}).size, 0);  // no room
  const std::int64_t n = system->state_size(), np = system->parameter_size(), steps = 7;
  const int lanes = system->lanes();
  AlignedBuffer<float> x((steps + 1) * n), u(lanes), p(np), tape(steps * size * lanes);
  for (std::int64_t i = 0; i < n; ++i) x.data()[i] = 0.02f * float(i) - 0.5f;
  std::fill_n(u.data(), lanes, 0.3f);
  const Parameters<float> defaults(system->signature());
  for (std::size_t f = 0; f < system->signature().fields(Role::parameter).size(); ++f) {
    const Field& field = system->signature().fields(Role::parameter)[f];
    for (std::int64_t i = 0; i < field.size * lanes; ++i)
      p.data()[field.offset * lanes + i] = defaults.values(f)[static_cast<std::size_t>(i / lanes)];
  }
  const costate::Run<float> run{0, steps, 0, 0, u.data(), steps, p.data()};
  const auto work = system->make_workspace();
  system->advance(run, {x.data(), steps + 1, 0}, {tape.data(), size * lanes}, *work);
  // In a run, whose weights are added together, or a step at a time.
  const auto cotangents = [&](const float* from, bool in_run) {
    AlignedBuffer<float> lambda(2 * n), u_bar(lanes), p_bar(np);
    std::fill_n(lambda.data(), n, 1.0f);
    std::fill_n(u_bar.data(), lanes, 0.0f);
    std::fill_n(p_bar.data(), np, 0.0f);
    if (in_run) system->begin_run(p.data(), p_bar.data(), active, *work);
    system->reverse(run, x.data(), {from, size * lanes}, {lambda.data(), 2, 0}, u_bar.data(), p_bar.data(),
                    active, *work);
    if (in_run) system->end_run(p.data(), p_bar.data(), active, *work);
    std::vector<float> all(p_bar.data(), p_bar.data() + np);
    all.insert(all.end(), u_bar.data(), u_bar.data() + lanes);
    all.insert(all.end(), lambda.data() + steps % 2 * n, lambda.data() + (steps % 2 + 1) * n);
    return all;
  };
  const std::vector<float> expected = cotangents(tape.data(), true);
  EXPECT_EQ(cotangents(nullptr, true), expected);
  EXPECT_EQ(cotangents(tape.data(), false), expected);
  EXPECT_EQ(cotangents(nullptr, false), expected);
}

TEST(LayeredSystem, SmallLayersAreWrittenOut) {
  const auto system = layered_system<double>(fields(), network(), rk4(0.02), 5);
  EXPECT_NE(dynamic_cast<ProgramSystem<double>*>(system.get()), nullptr);
}

TEST(LayeredSystem, AMapMayHoldANetwork) {
  Signature s;
  s.state("x", 2).parameter("w", std::vector<double>{0.5, -0.3, 0.2, 0.9});
  Builder f;
  const Id x = f.input_field("x", 2);
  f.input_field("w", 4);
  const Id d = f.input_field(ad::product_field(0), 2);
  f.output_field("value", std::vector<Id>{f.unary(Op::sin, d), f.unary(Op::sin, d + 1)});
  f.output_field(ad::vector_field(0), std::vector<Id>{x, x + 1});
  const auto system = in_layers<double>(s, {f.finish(), {{"w", 2, 2, 0, 2, 1}}}, Scheme(NextState{}), 3);
  Arguments<double> a = Rollout<double>(system, {.steps = 12, .worlds = 3}).arguments();
  a.x0 = {0.4, 1.1, 0.5, 1.0, 0.6, 0.9};
  test::expect_contract(system, {.states = test::starting_at(a), .steps = 12, .worlds = 3, .long_steps = 20});
}

TEST(LayeredSystem, AWorldHasTheSameBitsAloneAndInABlock) {
  const auto final_state = [](std::int64_t worlds) {
    Rollout<double> rollout(in_layers<double>(fields(), network(), rk4(0.02), worlds),
                            {.steps = 50, .worlds = worlds});
    return rollout.simulate(worlds_of(rollout, false)).final_state;
  };
  const auto one = final_state(1), many = final_state(20);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(one[i], many[i]);
}

}  // namespace
}  // namespace costate
