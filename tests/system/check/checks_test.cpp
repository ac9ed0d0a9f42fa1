#include "costate/system/check/checks.h"

#include <gtest/gtest.h>

#include <bit>

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/system/program/lambda_system.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using costate::test::expect_error;

// A pendulum one of whose derivatives is wrong by one part in a million.
struct Wrong final : System<double> {
  enum class In { nothing, state, parameter, control, tangent, last_bit } in;
  std::shared_ptr<System<double>> inner = ode::pendulum<double>(ode::Integrator::rk4, 0.02);
  explicit Wrong(In what) : in(what) {}

  static constexpr double kFactor = 1 + 1e-6;
  void spoil(double* values, std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i) values[i] *= kFactor;
  }
  const Signature& signature() const override { return inner->signature(); }
  int lanes() const override { return inner->lanes(); }
  TapePlan tape(const Activity& active, const TapeBudget& budget) const override {
    return inner->tape(active, budget);
  }
  std::unique_ptr<Workspace> make_workspace() const override { return inner->make_workspace(); }
  void step(const StepContext& at, const Inputs<double>& i, double* y, double* tape,
            Workspace& w) const override {
    inner->step(at, i, y, tape, w);
  }
  void step_jvp(const StepContext& at, const Inputs<double>& i, const Inputs<double>& dot, double* y,
                double* y_dot, Workspace& w) const override {
    inner->step_jvp(at, i, dot, y, y_dot, w);
    if (in == In::tangent) spoil(y_dot, state_size());
    if (in == In::last_bit) {  // 0, 1 or 3 parts in a million
      const auto bits = std::bit_cast<std::uint64_t>(i.x[0]);
      for (int times = bits & 1 ? 1 : bits & 2 ? 3 : 0; times > 0; --times) spoil(y_dot, state_size());
    }
  }
  void step_vjp(const StepContext& at, const Inputs<double>& i, const double* tape, const double* y_bar,
                const Cotangents<double>& bar, const Activity& active, Workspace& w) const override {
    AlignedBuffer<double> u(control_size()), p(parameter_size());
    std::fill_n(u.data(), control_size(), 0.0);
    std::fill_n(p.data(), parameter_size(), 0.0);
    inner->step_vjp(at, i, tape, y_bar, {bar.x, u.data(), p.data()}, active, w);
    if (in == In::state) spoil(bar.x, state_size());
    if (in == In::control) spoil(u.data(), control_size());
    if (in == In::parameter) spoil(p.data(), parameter_size());
    for (std::int64_t k = 0; bar.u && k < control_size(); ++k) bar.u[k] += u.data()[k];
    for (std::int64_t k = 0; bar.p && k < parameter_size(); ++k) bar.p[k] += p.data()[k];
  }
};

struct Checked {
  std::shared_ptr<const System<double>> system;
  Rollout<double> rollout;
  Arguments<double> at;
  ObjectivePtr<double> objective;
  explicit Checked(Wrong::In in)
      : system(std::make_shared<Wrong>(in)),
        rollout(system, {.steps = 40, .hold = 40}),
        at(rollout.arguments()) {
    at.x0 = {0.4, 0.1};
    at.controls = {0.3};
    objective = loss::final<double>(system->signature(), "q", {});
  }
};

TEST(Checks, ARightGradientPasses) {
  Checked c(Wrong::In::nothing);
  EXPECT_TRUE(check::dot_product(c.rollout, c.at).passed());
  EXPECT_TRUE(check::stencil(c.rollout, c.at, *c.objective).passed());
  EXPECT_TRUE(check::taylor(c.rollout, c.at, *c.objective).passed());
}

TEST(Checks, AnErrorOfAMillionthInAnyDerivativeIsCaught) {
  for (const auto in : {Wrong::In::state, Wrong::In::parameter, Wrong::In::control, Wrong::In::tangent}) {
    Checked c(in);
    const auto dot = check::dot_product(c.rollout, c.at);
    EXPECT_FALSE(dot.passed()) << int(in) << ": " << dot.to_text();
    EXPECT_EQ(dot.to_text().substr(0, 4), "FAIL");
    Rollout<double> one(c.system, {.steps = 1});
    EXPECT_FALSE(check::dot_product(one, c.at).passed()) << int(in);
    const auto stencil = check::stencil(c.rollout, c.at, *c.objective);
    EXPECT_EQ(stencil.passed(), in == Wrong::In::tangent) << int(in) << ": " << stencil.to_text();
  }
}

// A tangent that the last bit of the state decides: forward and reverse mode cannot be compared there.
TEST(Checks, ADerivativeThatARoundingDecidesIsNotCompared) {
  Checked c(Wrong::In::last_bit);
  Rollout<double> one(c.system, {.steps = 1});
  c.at.x0 = {0x1.0000000000001p-1, 0.1};
  const auto dot = check::dot_product(one, c.at);
  EXPECT_TRUE(dot.skipped) << dot.to_text();
  EXPECT_NE(dot.detail.find("when the start changes by a rounding"), std::string::npos) << dot.to_text();
  c.at.x0 = {0.5, 0.1};
  EXPECT_EQ(check::dot_product(one, c.at).to_text().substr(0, 4), "pass");
}

// y = x^2: with a slope that is wrong by one part in a hundred the remainder is of first order, however short
// the steps.
TEST(Checks, TaylorSeesASlopeThatIsWrongByOnePart) {
  Signature s;
  s.state("x").parameter("a", 1.0);
  const auto system = lambda_system<double, Sizes{.states = 1, .parameters = 1}>(
      s, [](auto x, auto, auto p) { return p[0] * x[0] * x[0]; });
  Rollout<double> rollout(system, {.steps = 1, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0.7};
  const auto right = check::taylor(rollout, at, *loss::final_value<double>(s, "x"));
  EXPECT_TRUE(right.passed()) << right.to_text();
  for (const double factor : {1.0, 1.01}) {
    check::Line line{"x", 0.49, 1.4 * factor, 1.4};
    line.loss = [](double h) { return (0.7 + h) * (0.7 + h); };
    const auto result = check::compare_taylor(line, {.step = 1e-3 / 64, .noise = 1e-14}, 0.05);
    EXPECT_EQ(result.passed(), factor == 1) << result.to_text();
  }
}

// A stencil that is too long for the curvature is shortened; one that starts beside a corner, too.
TEST(Checks, StepsShrinkUntilTheyFit) {
  Signature s;
  s.state("x").parameter("a", 1.0);
  const auto wavy = lambda_system<double, Sizes{.states = 1, .parameters = 1}>(
      s, [](auto x, auto, auto p) { return p[0] * sin(100.0 * x[0]); });
  Rollout<double> rollout(wavy, {.steps = 1, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0.3};
  const auto objective = loss::final<double>(s, "x", {});
  const auto right = check::stencil(rollout, at, *objective, {.step = 0.01});
  EXPECT_TRUE(right.passed()) << right.to_text();
  const auto corner = lambda_system<double, Sizes{.states = 1, .parameters = 1}>(
      s, [](auto x, auto, auto p) { return p[0] * max(x[0] - 0.3001, 0.0 * x[0]); });
  Rollout<double> beside(corner, {.steps = 1, .active = {}});
  EXPECT_TRUE(check::stencil(beside, at, *loss::final_value<double>(s, "x")).passed());
  // On the corner there is no derivative: the checks say what they saw, and compare beside it.
  at.x0 = {0.3001};
  for (const auto& on : {check::stencil(beside, at, *loss::final_value<double>(s, "x")),
                         check::taylor(beside, at, *loss::final_value<double>(s, "x"))}) {
    EXPECT_TRUE(on.passed()) << on.to_text();
    EXPECT_NE(on.detail.find("of the scales off the start: kink at direction"), std::string::npos)
        << on.to_text();
  }
}

// At its minimum a loss is zero; what it grows to has a rounding too.
TEST(Checks, TheMinimumOfASumOfSquaresIsNoAlarm) {
  Signature s;
  s.state("x");
  const auto fading = lambda_system<double, Sizes{.states = 1}>(
      s, [](auto x, auto, auto) { return 0.9 * x[0] + 0.03 * x[0] * x[0]; });
  Rollout<double> rollout(fading, {.steps = 3, .active = {}});
  const auto result = check::stencil(rollout, rollout.arguments(), *loss::final<double>(s, "x", {}));
  EXPECT_TRUE(result.passed()) << result.to_text();
}

// A loss that moves by the error of a method wherever the method takes another number of parts. No derivative
// sees the jumps; it is right between them.
TEST(Checks, SmallJumpsNearbyAreNoAlarmAndHideNoWrongGradient) {
  const auto among = [](double jump, double apart, double factor) {
    check::Line line{"x", 1.0, 3 * factor, 3.0};
    line.loss = [=](double h) { return 1 + std::sin(3 * h) + h * h + jump * std::floor(h / apart + 0.3); };
    const check::Stencil how{.step = 1e-3, .gate = 1e-9, .noise = 1e-14};
    return std::pair{check::compare_stencil({line}, how).result,
                     check::compare_taylor(line, {.step = 1e-3 / 64, .noise = 1e-14}, 0.05)};
  };
  const auto [stencil, taylor] = among(1e-9, 2.7e-7, 1);
  EXPECT_TRUE(stencil.passed()) << stencil.to_text();
  EXPECT_TRUE(taylor.passed()) << taylor.to_text();
  EXPECT_NE(stencil.detail.find("the loss jumps by 1.0e-09 within"), std::string::npos) << stencil.to_text();
  EXPECT_TRUE(stencil.skipped);
  const auto [wrong_stencil, wrong_taylor] = among(1e-9, 2.7e-7, 1 + 1e-4);
  EXPECT_FALSE(wrong_stencil.passed()) << wrong_stencil.to_text();
  EXPECT_FALSE(wrong_taylor.passed()) << wrong_taylor.to_text();
  // Stairs: what the gradient leaves out is as much as it has.
  const auto stairs = among(3e-6, 1e-6, 1).first;
  EXPECT_FALSE(stairs.passed()) << stairs.to_text();
}

// A linear loss has no remainder: that is not a slope of 2.
TEST(Checks, TaylorSaysWhereThereIsNothingToMeasure) {
  Signature s;
  s.state("x").parameter("a", 1.0);
  const auto system = lambda_system<double, Sizes{.states = 1, .parameters = 1}>(
      s, [](auto x, auto, auto p) { return x[0] + p[0]; });
  Rollout<double> rollout(system, {.steps = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0.7};
  const auto linear = check::taylor(rollout, at, *loss::final_value<double>(s, "x"));
  EXPECT_TRUE(linear.skipped) << linear.to_text();
  EXPECT_EQ(linear.to_text().substr(0, 4), "skip");
  const auto square = check::taylor(rollout, at, *loss::final<double>(s, "x", {}));
  EXPECT_FALSE(square.skipped) << square.to_text();
  EXPECT_TRUE(square.passed()) << square.to_text();
}

// A ball on a stiff spring floor, semi-implicit Euler: bounces at -1 of its speed for every dt, with a slope
// that is not -1.
std::shared_ptr<System<double>> bouncing_ball() {
  Signature s;
  s.state("z").state("v").parameter("dt", 0.002);
  return lambda_system<double, Sizes{.states = 2, .parameters = 1}>(s, [](auto x, auto, auto p) {
    const auto force = select(x[0] < 0.0 * x[0], -1e4 * x[0], 0.0 * x[0]);
    const auto v = x[1] + p[0] * force;
    return std::array{x[0] + p[0] * v, v};
  });
}

TEST(Checks, AGradientOfTheTimeGridIsCalledThat) {
  const auto system = bouncing_ball();
  Rollout<double> rollout(system, {.steps = 1000, .time_step_check = true});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0.9371, -1};
  const auto objective = loss::final_value<double>(system->signature(), "z");
  const Gradient<double> g = rollout.value_and_gradient(at, *objective);
  EXPECT_NEAR(g.value, 2 - 0.9371 - 3.14159 / 100,
              0.003);                     // half a period on the floor: the trajectory is right
  EXPECT_GT(std::abs(g.x0[0] + 1), 0.5);  // its slope is not
  EXPECT_TRUE(g.report.discretisation_dominated());
  EXPECT_EQ(g.report.label, "discretisation-dominated");
  EXPECT_NE(g.report.to_text().find("gradient of the time grid"), std::string::npos) << g.report.to_text();
  const auto result = check::time_step<double>(system, {.steps = 1000}, at, *objective);
  EXPECT_FALSE(result.passed());
  EXPECT_NE(result.detail.find("discretisation-dominated"), std::string::npos);
  EXPECT_EQ(result.error, g.report.gradient_by_time_step.value());
}

TEST(Checks, AResolvedGradientKeepsItsLabel) {
  const auto system = ode::pendulum<double>(ode::Integrator::rk4, 0.02);
  Rollout<double> rollout(system, {.steps = 50, .hold = 50, .time_step_check = true});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0.4, 0.1};
  const auto g = rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {}));
  EXPECT_LT(g.report.gradient_by_time_step.value(), 1e-6);
  EXPECT_FALSE(g.report.discretisation_dominated());
  EXPECT_EQ(g.report.label, "exact");
}

TEST(Checks, TheTimeStepCheckSaysWhatItNeeds) {
  const auto system = ode::pendulum<double>(ode::Integrator::rk4, 0.02);
  Rollout<double> rollout(system, {.steps = 4, .time_step_check = true});
  const Arguments<double> at = rollout.arguments();
  expect_error([&] { return rollout.value_and_gradient(at, *loss::effort<double>(system->signature())); },
               "needs an objective of the final state only");
  Signature s;
  s.state("x");
  const auto map =
      lambda_system<double, Sizes{.states = 1}>(s, [](auto x, auto, auto) { return 0.5 * x[0]; });
  Rollout<double> without(map, {.steps = 4, .time_step_check = true});
  expect_error(
      [&] { return without.value_and_gradient(without.arguments(), *loss::final_value<double>(s, "x")); },
      "no parameter is named 'dt'");
}

}  // namespace
}  // namespace costate
