// A world whose step gives up, as a particle that leaves its grid or a Newton iteration that does not
// converge, is masked like one whose state is not finite.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/system/rollout.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using costate::test::expect_error;

// One world of one number: y = p x^2, and no step from beyond 100. Without a parameter that is positive it is
// no system at all.
class Squares final : public System<double> {
 public:
  Squares() { signature_.state("x", 1).parameter("p", 1.0); }
  const Signature& signature() const override { return signature_; }
  Capabilities capabilities() const override { return {.second_order = true}; }

  void step(const StepContext& at, const Inputs<double>& in, double* y, double*, Workspace&) const override {
    if (in.x[0] > 100)
      throw Error({"x is too large", "step " + std::to_string(at.k), "start lower"}, Error::Kind::numerics);
    if (!(in.p[0] > 0)) throw Error("p is positive");
    y[0] = in.p[0] * in.x[0] * in.x[0];
  }
  void step_jvp(const StepContext& at, const Inputs<double>& in, const Inputs<double>& dot, double* y,
                double* y_dot, Workspace& work) const override {
    step(at, in, y, nullptr, work);
    const double x_dot = dot.x ? dot.x[0] : 0, p_dot = dot.p ? dot.p[0] : 0;
    y_dot[0] = p_dot * in.x[0] * in.x[0] + 2 * in.p[0] * in.x[0] * x_dot;
  }
  void step_vjp(const StepContext&, const Inputs<double>& in, const double*, const double* y_bar,
                const Cotangents<double>& bar, const Activity&, Workspace&) const override {
    if (bar.x) bar.x[0] = 2 * in.p[0] * in.x[0] * y_bar[0];
    if (bar.p) bar.p[0] += in.x[0] * in.x[0] * y_bar[0];
  }
  void step_hvp(const StepContext&, const Inputs<double>& in, const Inputs<double>& dot, const double* y_bar,
                const double* y_bar_dot, const Cotangents<double>& bar, const Cotangents<double>& bar_dot,
                const Activity&, Workspace&) const override {
    const double x = in.x[0], p = in.p[0], x_dot = dot.x ? dot.x[0] : 0, p_dot = dot.p ? dot.p[0] : 0;
    bar.x[0] = 2 * p * x * y_bar[0];
    bar_dot.x[0] = 2 * (p_dot * x + p * x_dot) * y_bar[0] + 2 * p * x * y_bar_dot[0];
    bar.p[0] += x * x * y_bar[0];
    bar_dot.p[0] += 2 * x * x_dot * y_bar[0] + x * x * y_bar_dot[0];
  }

 private:
  Signature signature_;
};

struct Three {
  std::shared_ptr<const Squares> system = std::make_shared<Squares>();
  Rollout<double> rollout;
  Arguments<double> at, direction;
  ObjectivePtr<double> objective = loss::final<double>(system->signature(), "x", {0});

  explicit Three(std::vector<double> x0, Checkpoints checkpoints = store_all(),
                 OnDivergence on = OnDivergence::mask_world)
      : rollout(system, {.steps = 6,
                         .worlds = std::int64_t(x0.size()),
                         .checkpoints = checkpoints,
                         .keep = 1,
                         .on_divergence = on}),
        at(rollout.arguments()),
        direction(at) {
    at.x0 = std::move(x0);
    direction.x0.assign(at.x0.size(), 1.0);
    for (double& p : direction.parameters.values(0)) p = 0.0;
  }
};

TEST(MaskedWorld, OneThatGivesUpIsLeftOut) {
  Three all({1.01, 3.0, 0.9}), others({1.01, 0.9});
  const auto g = all.rollout.value_and_gradient(all.at, *all.objective),
             expected = others.rollout.value_and_gradient(others.at, *others.objective);
  EXPECT_EQ(g.report.masked_worlds, std::vector<std::int64_t>{1});
  EXPECT_TRUE(std::isnan(g.values[1]));
  EXPECT_EQ(g.value, expected.value);
  EXPECT_EQ(g.x0, (std::vector<double>{expected.x0[0], 0.0, expected.x0[1]}));
  EXPECT_EQ(g.parameters["p"][0], expected.parameters["p"][0]);
  EXPECT_EQ(all.rollout.value(all.at, *all.objective), expected.value);
  ASSERT_FALSE(g.report.advice.empty());
  EXPECT_NE(g.report.advice[0].find("world 1 is masked: step 3: x is too large; start lower"),
            std::string::npos)
      << g.report.advice[0];
}

TEST(MaskedWorld, ItsStatesAreThoseItReachedAndThenNotNumbers) {
  Three all({1.01, 3.0, 0.9});
  const auto t = all.rollout.simulate(all.at);
  EXPECT_EQ(t.diverged, std::vector<std::int64_t>{1});
  EXPECT_TRUE(std::isnan(t.final_state[1]));
  EXPECT_TRUE(std::isfinite(t.final_state[0]) && std::isfinite(t.final_state[2]));
  for (std::size_t k = 0; k < t.kept.size(); ++k) EXPECT_EQ(std::isnan(t.states[3 * k + 1]), k > 3) << k;
  EXPECT_EQ(t.states[3 * 3 + 1], 6561.0);
}

TEST(MaskedWorld, TangentsAndSecondOrderLeaveItOut) {
  Three all({1.01, 3.0, 0.9}), others({1.01, 0.9});
  const auto t = all.rollout.jvp(all.at, all.direction, all.objective.get()),
             t_expected = others.rollout.jvp(others.at, others.direction, others.objective.get());
  EXPECT_EQ(t.value_dot, t_expected.value_dot);
  EXPECT_TRUE(std::isnan(t.final_state[1]) && std::isnan(t.final_state_dot[1]));
  EXPECT_EQ(t.final_state_dot[2], t_expected.final_state_dot[1]);
  const auto h = all.rollout.hessian_vector(all.at, all.direction, *all.objective),
             h_expected = others.rollout.hessian_vector(others.at, others.direction, *others.objective);
  EXPECT_EQ(h.product.x0, (std::vector<double>{h_expected.product.x0[0], 0.0, h_expected.product.x0[1]}));
  EXPECT_EQ(h.product.parameters["p"][0], h_expected.product.parameters["p"][0]);
}

TEST(MaskedWorld, TheSameUnderEverySchedule) {
  const auto gradient = [](Checkpoints c) {
    Three all({1.01, 3.0, 0.9}, c);
    return all.rollout.value_and_gradient(all.at, *all.objective).x0;
  };
  EXPECT_EQ(gradient(segments(2)), gradient(store_all()));
  EXPECT_EQ(gradient(binomial(2)), gradient(store_all()));
}

TEST(MaskedWorld, ARolloutServesOtherStatesAfterwards) {
  Three one({3.0}), fresh({1.01});
  EXPECT_TRUE(std::isnan(one.rollout.value_and_gradient(one.at, *one.objective).value));
  one.rollout.forward(one.at);
  EXPECT_EQ(one.rollout.backward(*one.objective).x0, std::vector<double>{0.0});
  EXPECT_EQ(one.rollout.value_and_gradient(fresh.at, *one.objective).x0,
            fresh.rollout.value_and_gradient(fresh.at, *fresh.objective).x0);
}

TEST(MaskedWorld, WhatIsWrongWithTheInputsIsAnErrorAllTheSame) {
  Three stop({3.0}, store_all(), OnDivergence::stop);
  expect_error([&] { return stop.rollout.simulate(stop.at); }, "x is too large", "start lower");
  Three mask({1.0});
  mask.at.parameters.set("p", {-1.0});
  expect_error([&] { return mask.rollout.simulate(mask.at); }, "p is positive");
}

// The rate of change of what is dropped is dropped, too.
TEST(Rollout, SecondOrderOfATruncatedGradientIsItsRateOfChange) {
  Three cut({0.9}, truncated(2));
  const double h = 1e-6;
  const auto gradient = [&](double x) {
    Arguments<double> a = cut.at;
    a.x0 = {x};
    return cut.rollout.value_and_gradient(a, *cut.objective).parameters["p"][0];
  };
  const double product =
      cut.rollout.hessian_vector(cut.at, cut.direction, *cut.objective).product.parameters["p"][0];
  EXPECT_NEAR(product, (gradient(0.9 + h) - gradient(0.9 - h)) / (2 * h), 1e-7 * std::abs(product));
}

}  // namespace
}  // namespace costate
