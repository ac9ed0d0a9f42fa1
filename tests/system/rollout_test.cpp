#include "costate/system/rollout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/system/check/spot_check.h"
#include "costate/system/lane_system.h"
#include "costate/system/linearize.h"
#include "costate/system/program/lambda_system.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using costate::test::expect_error;
using ode::Integrator;

// 37 pendulums (not a multiple of any lane count), each with its own start and length.
struct Pendulums {
  static constexpr std::int64_t kWorlds = 37;
  std::shared_ptr<System<double>> system = ode::pendulum<double>(Integrator::rk4, 0.02);
  RolloutOptions options{.steps = 90, .worlds = kWorlds, .hold = 10};
  Rollout<double> rollout{system, options};
  Arguments<double> at = rollout.arguments();
  ObjectivePtr<double> objective =
      loss::sum<double>({loss::final<double>(system->signature(), "q", {0.5}),
                         loss::track<double>(system->signature(), "v", {0, 30, 45, 90}, {0, 1, 2, 3}),
                         loss::effort<double>(system->signature(), 0.01)});
  Pendulums() {
    at.x0.clear();
    at.controls.clear();
    std::vector<double> length;
    for (std::int64_t w = 0; w < kWorlds; ++w) {
      at.x0.insert(at.x0.end(), {0.1 + 0.02 * double(w), -0.3});
      length.push_back(0.8 + 0.01 * double(w));
      for (std::int64_t k = 0; k < rollout.knots(); ++k) at.controls.push_back(0.2 * std::sin(double(k + w)));
    }
    at.parameters.set("length", length);
  }
};

TEST(Rollout, MeetsTheContractWithWorldsThatDiffer) {
  Pendulums p;
  test::expect_contract(p.system, {.states = test::starting_at(p.at),
                                   .objective = p.objective,
                                   .steps = 90,
                                   .worlds = Pendulums::kWorlds,
                                   .hold = 10});
}

TEST(Rollout, EachWorldIsItsOwnRollout) {
  Pendulums p;
  const auto all = p.rollout.value_and_gradient(p.at, *p.objective);
  const auto knots = static_cast<std::size_t>(p.rollout.knots());
  RolloutOptions single = p.options;
  single.worlds = 1;
  Rollout<double> one(p.system, single);
  double gravity = 0;
  for (std::size_t w : {0u, 5u, 15u, 16u, 36u}) {
    Arguments<double> a = one.arguments();
    a.x0 = {p.at.x0[2 * w], p.at.x0[2 * w + 1]};
    a.controls.assign(p.at.controls.begin() + std::ptrdiff_t(w * knots),
                      p.at.controls.begin() + std::ptrdiff_t((w + 1) * knots));
    a.parameters.set("length", p.at.parameters["length"][w]);
    const auto g = one.value_and_gradient(a, *p.objective);
    EXPECT_NEAR(g.value, all.values[w], 1e-13);
    EXPECT_NEAR(g.x0[1], all.x0[2 * w + 1], 1e-12);
    EXPECT_NEAR(g.controls[3], all.controls[w * knots + 3], 1e-12);
    EXPECT_NEAR(g.parameters["length"][0], all.parameters["length"][w], 1e-12);
    gravity += g.parameters["gravity"][0];
  }
  EXPECT_NE(gravity, 0);
}

TEST(Rollout, ValuesOfWorldsAreThoseOfTheGradient) {
  Pendulums p;
  const std::vector<double> values = p.rollout.values(p.at, *p.objective);
  const auto g = p.rollout.value_and_gradient(p.at, *p.objective);
  EXPECT_EQ(values, g.values);
  EXPECT_EQ(p.rollout.value(p.at, *p.objective), g.value);
}

TEST(Rollout, SharedInputsGetTheSumOverWorlds) {
  Pendulums p;
  const auto per_world = p.rollout.value_and_gradient(p.at, *p.objective);
  Arguments<double> shared = p.at;
  shared.x0 = {0.3, 0.1};
  shared.controls.assign(static_cast<std::size_t>(p.rollout.knots()), 0.25);
  Arguments<double> spread = shared;
  spread.x0.clear();
  spread.controls.clear();
  for (std::int64_t w = 0; w < Pendulums::kWorlds; ++w) {
    spread.x0.insert(spread.x0.end(), shared.x0.begin(), shared.x0.end());
    spread.controls.insert(spread.controls.end(), shared.controls.begin(), shared.controls.end());
  }
  const auto a = p.rollout.value_and_gradient(shared, *p.objective),
             b = p.rollout.value_and_gradient(spread, *p.objective);
  ASSERT_EQ(a.x0.size(), 2u);
  double sum = 0, sum_u = 0;
  for (std::size_t w = 0; w < Pendulums::kWorlds; ++w)
    sum += b.x0[2 * w], sum_u += b.controls[w * static_cast<std::size_t>(p.rollout.knots())];
  EXPECT_NEAR(a.x0[0], sum, 1e-11 * std::abs(sum));
  EXPECT_NEAR(a.controls[0], sum_u, 1e-11 * std::abs(sum_u));
  EXPECT_EQ(a.parameters["gravity"].size(), 1u);
  EXPECT_EQ(per_world.parameters["length"].size(), std::size_t(Pendulums::kWorlds));
}

TEST(Rollout, KeepsTheStatesThatWereAskedFor) {
  Pendulums p;
  p.options.keep = 20;
  Rollout<double> rollout(p.system, p.options);
  const auto t = rollout.simulate(p.at);
  EXPECT_EQ(t.kept, (std::vector<std::int64_t>{0, 20, 40, 60, 80}));
  EXPECT_EQ(t.states.size(), 5u * Pendulums::kWorlds * 2);
  for (std::size_t i = 0; i < p.at.x0.size(); ++i) EXPECT_EQ(t.states[i], p.at.x0[i]);
  RolloutOptions forty = p.options;
  forty.steps = 40;
  Rollout<double> shorter(p.system, forty);
  Arguments<double> a = p.at;
  const std::size_t knots = static_cast<std::size_t>(rollout.knots()),
                    few = static_cast<std::size_t>(shorter.knots());
  a.controls.clear();
  for (std::size_t w = 0; w < Pendulums::kWorlds; ++w)
    a.controls.insert(a.controls.end(), p.at.controls.begin() + std::ptrdiff_t(w * knots),
                      p.at.controls.begin() + std::ptrdiff_t(w * knots + few));
  const auto end = shorter.simulate(a).final_state;
  EXPECT_TRUE(test::same_bits(end, std::vector<double>(t.states.begin() + 2 * 2 * Pendulums::kWorlds,
                                                       t.states.begin() + 3 * 2 * Pendulums::kWorlds)));
  EXPECT_TRUE(test::same_bits(rollout.forward(p.at).states, t.states));
}

TEST(Rollout, ZeroStepsIsTheIdentity) {
  Rollout<double> rollout(ode::lorenz<double>(), {.steps = 0});
  Arguments<double> a = rollout.arguments();
  a.x0 = {1, 2, 3};
  const auto g = rollout.value_and_gradient(a, *loss::final<double>(rollout.system().signature(), "y", {}));
  EXPECT_EQ(g.value, 2.0);
  EXPECT_EQ(g.x0, (std::vector<double>{0, 2, 0}));
}

TEST(Rollout, JacobianAgreesWithTheTranspose) {
  Rollout<double> rollout(ode::lorenz<double>(), {.steps = 50, .active = {"rho", "beta"}});
  Arguments<double> a = rollout.arguments();
  a.x0 = {1, 2, 20};
  const auto j = rollout.jacobian(a);
  ASSERT_EQ(j.size(), 3u * 5);
  for (int row = 0; row < 3; ++row) {
    const auto g = rollout.value_and_gradient(
        a, *loss::final_value<double>(rollout.system().signature(), std::string(1, char('x' + row))));
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(j[std::size_t(row * 5 + c)], g.x0[std::size_t(c)], 1e-11);
    EXPECT_NEAR(j[std::size_t(row * 5 + 3)], g.parameters["rho"][0], 1e-11);
    EXPECT_NEAR(j[std::size_t(row * 5 + 4)], g.parameters["beta"][0], 1e-11);
    EXPECT_EQ(g.parameters["sigma"][0], 0.0);
  }
}

TEST(Rollout, TruncationDropsTheCotangentAndSaysSo) {
  // x' = x (one step multiplies by 1 + dt): with a loss at every step and windows of 2 the cotangent is
  // known.
  const auto system = ode::pendulum<double>(Integrator::euler, 0.1);
  const auto objective = loss::track<double>(system->signature(), "q", {4}, {0.0});
  Rollout<double> exact(system, {.steps = 4, .hold = 4}),
      cut(system, {.steps = 4, .checkpoints = truncated(2), .hold = 4});
  Arguments<double> a = exact.arguments();
  a.x0 = {0.4, 0.1};
  EXPECT_NE(exact.value_and_gradient(a, *objective).x0[0], 0.0);
  const auto g = cut.value_and_gradient(a, *objective);
  EXPECT_EQ(g.x0[0], 0.0);  // the only term is two windows away
  EXPECT_NE(g.parameters["gravity"][0], 0.0);
  EXPECT_NE(g.report.label.find("biased"), std::string::npos);
  // A window as long as the rollout cuts nothing.
  Rollout<double> whole(system, {.steps = 4, .checkpoints = truncated(4), .hold = 4});
  EXPECT_EQ(whole.value_and_gradient(a, *objective).x0, exact.value_and_gradient(a, *objective).x0);
}

TEST(Rollout, SinglePrecisionSnapshotsAreCloseAndLabelled) {
  Pendulums p;
  RolloutOptions o = p.options;
  o.checkpoints = binomial(5).in_single_precision();
  Rollout<double> rounded(p.system, o);
  const auto exact = p.rollout.value_and_gradient(p.at, *p.objective),
             g = rounded.value_and_gradient(p.at, *p.objective);
  EXPECT_EQ(exact.value, g.value);
  for (std::size_t i = 0; i < g.x0.size(); ++i) EXPECT_NEAR(g.x0[i], exact.x0[i], 1e-5);
  EXPECT_NE(g.report.label, "exact");
}

TEST(Rollout, DivergenceNamesStepFieldAndWorld) {
  set_thread_count(1);
  const test::AllowFloatExceptions allow;
  const auto system = ode::lorenz<double>(Integrator::euler, 0.5);  // far too large a step
  Rollout<double> rollout(system, {.steps = 400, .worlds = 20});
  Arguments<double> a = rollout.arguments();
  a.x0.assign(60, 0.0);  // the origin is a fixed point ...
  a.x0[3 * 17] = 1.0;    // ... but world 17 is not there
  try {
    rollout.simulate(a);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().where.find("world 17"), std::string::npos) << e.what();
    EXPECT_NE(e.message().where.find("step "), std::string::npos);
    EXPECT_EQ(e.kind(), Error::Kind::numerics);
  }
  Rollout<double> masked(system, {.steps = 400, .worlds = 20, .on_divergence = OnDivergence::mask_world});
  const auto g = masked.value_and_gradient(a, *loss::final<double>(system->signature(), "x", {}));
  EXPECT_EQ(g.report.masked_worlds, (std::vector<std::int64_t>{17}));
  EXPECT_TRUE(std::isnan(g.values[17]));
  EXPECT_EQ(g.value, 0.0);
  for (double x : g.x0) EXPECT_TRUE(std::isfinite(x));
  EXPECT_EQ(masked.simulate(a).diverged, (std::vector<std::int64_t>{17}));
  set_thread_count(0);
}

// A loss of 0 would be taken for a perfect one.
TEST(Rollout, MaskedWorldsAreNotNumbers) {
  set_thread_count(1);
  const test::AllowFloatExceptions allow;
  const auto system = ode::lorenz<double>();
  const auto objective = loss::final<double>(system->signature(), "x", {});
  const auto run = [&](std::vector<double> first) {
    Rollout<double> rollout(
        system,
        {.steps = 400, .worlds = std::int64_t(first.size()), .on_divergence = OnDivergence::mask_world});
    Arguments<double> a = rollout.arguments();
    a.x0.assign(3 * first.size(), 1.0);
    for (std::size_t w = 0; w < first.size(); ++w) a.x0[3 * w] = first[w];
    Arguments<double> d = a;
    return std::make_tuple(rollout.value(a, *objective), rollout.value_and_gradient(a, *objective).value,
                           rollout.jvp(a, d, objective.get()));
  };
  const auto [value, with_gradient, tangent] = run({1.0, 1e200});
  EXPECT_TRUE(std::isfinite(value));
  EXPECT_EQ(value, with_gradient);
  EXPECT_TRUE(std::isfinite(tangent.value));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(std::isfinite(tangent.final_state[i]), i < 3);
    EXPECT_EQ(std::isfinite(tangent.final_state_dot[i]), i < 3);
  }
  const auto [none, none_with_gradient, none_tangent] = run({1e200, 1e200});
  EXPECT_TRUE(std::isnan(none));
  EXPECT_TRUE(std::isnan(none_with_gradient));
  EXPECT_TRUE(std::isnan(none_tangent.value));
  set_thread_count(0);
}

TEST(Rollout, ANonFiniteStartIsAnInputError) {
  set_thread_count(1);
  const test::AllowFloatExceptions allow;
  Rollout<double> rollout(ode::lorenz<double>(), {.steps = 10});
  Arguments<double> a = rollout.arguments();
  a.x0[1] = NAN;
  try {
    rollout.simulate(a);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("the initial state is not finite: y is nan"), std::string::npos)
        << e.what();
  }
  set_thread_count(0);
}

TEST(Rollout, WhatTheMachineHasNoRoomForIsRefusedAtOnce) {
  constexpr std::int64_t kSteps = std::int64_t{1} << 50;
  const auto pendulum = ode::pendulum<double>();
  expect_error([&] { return Rollout<double>(pendulum, {.steps = kSteps}); },
               "the controls of 1125899906842624 steps take 2.7e+07 GB, and this machine has ", "hold = ");
  expect_error([&] { return Rollout<double>(pendulum, {.steps = kSteps, .hold = kSteps, .keep = 1}); },
               "the kept states of 1125899906842624 steps take 1.8e+07 GB, and this machine has ",
               "keep = 0 only the last one");
  Rollout<double> rollout(pendulum, {.steps = kSteps, .hold = kSteps});
  const auto loss = loss::final<double>(pendulum->signature(), "q", {});
  expect_error([&] { return rollout.value_and_gradient(rollout.arguments(), *loss); },
               "the states that a gradient of 1125899906842624 steps needs take ",
               "checkpoints = binomial(64)");
}

TEST(Rollout, BadArgumentsAreRefusedWithTheNumbersThatFit) {
  const auto system = ode::pendulum<double>();
  expect_error([&] { return Rollout<double>(system, {.steps = -1}); },
               "steps = -1: a rollout cannot have fewer than 0 steps");
  expect_error([&] { return Rollout<double>(system, {.worlds = 0}); },
               "worlds = 0: a rollout has at least one world");
  expect_error([&] { return Rollout<double>(system, {.hold = 0}); },
               "hold = 0: a control is held for at least one step");
  expect_error([&] { return Rollout<double>(system, {.active = {"lenght"}}); },
               "no parameter matches 'lenght'", "did you mean 'length'");
  expect_error([&] { return Rollout<double>(system, {.steps = 5, .checkpoints = reversible()}); },
               "this physics cannot step backwards", "use binomial(slots) or segments()");
  Rollout<double> rollout(system, {.steps = 5, .worlds = 3});
  Arguments<double> a = rollout.arguments();
  a.x0.resize(5);
  expect_error([&] { return rollout.simulate(a); }, "x0 has 5 numbers instead of 2 (shared) or 6");
  a = rollout.arguments();
  a.parameters = Parameters<double>(ode::lorenz<double>()->signature());
  expect_error([&] { return rollout.simulate(a); },
               "parameters belong to another system: make them from system.signature()");
  a = rollout.arguments();
  a.parameters.set("mass", {1.0, 2.0});
  expect_error([&] { return rollout.simulate(a); },
               "parameter 'mass' is given for 2 worlds, the rollout has 3");
  expect_error([&] { return rollout.backward(*loss::final<double>(system->signature(), "q", {})); },
               "backward() without a forward() before it", "each forward() serves one backward()");
  expect_error([&] { return loss::final<double>(system->signature(), "qq", {}); }, "no state is named 'qq'",
               "did you mean 'q'");
  expect_error(
      [&] {
        return rollout.value(rollout.arguments(), *loss::final<double>(system->signature(), "q", {1, 2}));
      },
      "the target of 'q' has 2 numbers instead of 1");
  expect_error(
      [&] {
        return rollout.value(rollout.arguments(), *loss::track<double>(system->signature(), "q", {6}, {1.0}));
      },
      "a term at step 6, outside the rollout of 5 steps");
  expect_error([&] { return loss::track<double>(system->signature(), "q", {-1}, {1.0}); },
               "cannot have a term at step -1");
  expect_error([&] { return loss::sum<double>({nullptr}); }, "a term of loss::sum is null");
  expect_error([&] { return loss::effort<double>(ode::lorenz<double>()->signature()); },
               "loss::effort needs a system with controls");
}

TEST(Rollout, SpotCheckAgreesWhereTheGradientIsRight) {
  Pendulums p;
  p.options.spot_check = true;
  Rollout<double> rollout(p.system, p.options);
  EXPECT_LT(rollout.value_and_gradient(p.at, *p.objective).report.spot_check.value(),
            1e-7);  // central difference at cbrt(epsilon)
}

// A state of micrometres: a step that suits metres turns the sine several times.
TEST(Rollout, SpotCheckShortensItsStepWhereTheLossIsNarrow) {
  Signature fields;
  fields.state("x", 1).parameter("k", 1e5);
  const auto wave = [](auto x, auto, auto p) { return std::array{sin(p[0] * x[0])}; };
  const auto system =
      lambda_system<double, Sizes{.states = 1, .controls = 0, .parameters = 1}>(fields, wave, euler(1.0), 1);
  for (const double factor : {1.0, 1.001}) {
    Rollout<double> rollout(system, {.steps = 1, .active = {}});
    Arguments<double> at = rollout.arguments();
    at.x0 = {3e-6};
    const auto loss = loss::final<double>(fields, "x", {});
    Gradient<double> g = rollout.value_and_gradient(at, *loss);
    g.x0[0] *= factor;
    if (factor == 1)
      EXPECT_LT(spot_check(rollout, at, *loss, g), 1e-4);
    else
      EXPECT_GT(spot_check(rollout, at, *loss, g), 5e-4);
  }
}

TEST(Rollout, ChaosIsReportedWithAdvice) {
  Rollout<double> rollout(ode::lorenz<double>(), {.steps = 6000, .checkpoints = segments()});
  Arguments<double> a = rollout.arguments();
  a.x0 = {1, 2, 20};
  const auto g = rollout.value_and_gradient(a, *loss::final<double>(rollout.system().signature(), "x", {}));
  EXPECT_NEAR(g.report.growth_rate / 0.01, 0.9, 0.25);  // the largest Lyapunov exponent of Lorenz is 0.906
  EXPECT_LT(g.report.signal_horizon, 6000);
  ASSERT_FALSE(g.report.advice.empty());
  EXPECT_NE(g.report.advice[0].find("carries no signal"), std::string::npos) << g.report.to_text();
}

TEST(Rollout, MemoryIsFlatOverAMillionSteps) {
  const auto system = ode::lorenz<double>(Integrator::euler, 1e-5);
  Rollout<double> rollout(system, {.steps = 1000000, .checkpoints = binomial(30), .active = {"rho"}});
  Arguments<double> a = rollout.arguments();
  a.x0 = {1, 2, 20};
  const auto g = rollout.value_and_gradient(a, *loss::final<double>(system->signature(), "x", {}));
  EXPECT_EQ(g.report.advances, binomial_advances(1000000, 30));
  EXPECT_LT(g.report.memory_bytes, 64 * 1024);
  EXPECT_NE(g.parameters["rho"][0], 0.0);
}

TEST(Rollout, TheTimeStepCheckSeesAResolvedProblem) {
  const auto system = ode::pendulum<double>(Integrator::rk4, 0.02);
  Rollout<double> rollout(system, {.steps = 50, .hold = 50});
  Arguments<double> a = rollout.arguments();
  a.x0 = {0.4, 0.1};
  const auto result = check::time_step<double>(system, rollout.options(), a,
                                               *loss::final<double>(system->signature(), "q", {}));
  EXPECT_LT(result.error, 1e-6) << result.to_text();
}

// A term that cannot be differentiated.
struct Refusing final : Objective<double> {
  void check(std::int64_t, std::int64_t) const override {}
  std::int64_t next(std::int64_t k, std::int64_t steps) const override { return k <= steps ? steps : kNever; }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override { return k >= steps ? steps : -1; }
  void value(const At&, double*) const override {}
  void vjp(const At&, const Cotangents<double>&) const override { throw Error("no derivative"); }
};

TEST(Rollout, ABackwardPassThatFailsUsesUpItsForwardPass) {
  Pendulums p;
  p.rollout.forward(p.at);
  expect_error([&] { return p.rollout.backward(Refusing()); }, "no derivative");
  expect_error([&] { return p.rollout.backward(*p.objective); }, "backward() without a forward() before it");
  p.rollout.forward(p.at);
  EXPECT_TRUE(test::same_bits(p.rollout.backward(*p.objective).x0,
                              p.rollout.value_and_gradient(p.at, *p.objective).x0));
}

// x+ = x (1 + p noise(world, step))
struct NoisyGrowth {
  static constexpr int states = 1, controls = 0, parameters = 1;
  template <class S>
  static S noise(const StepContext& at) {
    if constexpr (requires(S s) { s.d; })
      return S(noise<decltype(S().v)>(at));
    else
      return uniform<S>(at.seed, std::uint32_t(at.world), std::uint64_t(at.k));
  }
  template <class S>
  static Vec<S, 1> step(const StepContext& at, const Vec<S, 1>& x, const Vec<S, 0>&, const Vec<S, 1>& p) {
    return {{x[0] * (S(1) + p[0] * noise<S>(at))}};
  }
  template <class S>
  static Vec<S, 1> step_vjp(const StepContext& at, const Vec<S, 1>& x, const Vec<S, 0>&, const Vec<S, 1>& p,
                            const Vec<S, 1>& y_bar, Vec<S, 0>&, Vec<S, 1>& p_bar) {
    p_bar[0] += y_bar[0] * x[0] * noise<S>(at);
    return {{y_bar[0] * (S(1) + p[0] * noise<S>(at))}};
  }
};

TEST(Rollout, AllColumnsOfAJacobianSeeTheNoiseOfItsWorld) {
  Signature signature;
  signature.state("x", 1).parameter("p", 0.5);
  const std::shared_ptr<System<double>> system = std::make_shared<LaneSystem<NoisyGrowth, double>>(signature);
  Rollout<double> rollout(system, {.steps = 3, .seed = 7});
  Arguments<double> a = rollout.arguments();
  for (const double start : {1.3, 0.0}) {  // from 0 the noise moves derivatives alone
    a.x0 = {start};
    const auto g = rollout.value_and_gradient(a, *loss::final_value<double>(signature, "x"));
    const auto j = rollout.jacobian(a);
    EXPECT_NEAR(j[0], g.x0[0], 1e-13);
    EXPECT_NEAR(j[1], g.parameters["p"][0], 1e-13);
    const auto along = linearize<double>(system, rollout.options(), a);
    EXPECT_NEAR(along.a[0] * along.a[1] * along.a[2], g.x0[0], 1e-13);
    EXPECT_NEAR((along.c[0] * along.a[1] + along.c[1]) * along.a[2] + along.c[2], j[1], 1e-13);
  }
}

}  // namespace
}  // namespace costate
