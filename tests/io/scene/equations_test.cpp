#include "costate/study/equations.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "tests/allocation_guard.h"
#include "tests/expect_error.h"
#include "tests/io/scene/studies.h"

namespace costate::io::test {
namespace {

std::string mistake(const std::string& text, const std::vector<Setting>& settings = {}) {
  try {
    equations(text, settings);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::input);
    return error.what();
  }
}

const std::string kDecay = R"(
[start]
x = 1.0
[parameters]
k = 2.0
[equations]
x = "-k*x"
[run]
t1 = 1.0
rtol = 1e-12
atol = 1e-14
)";

TEST(Equations, DecayHasTheSolutionAndGradientOfTheClosedForm) {
  const Equations p = equations(kDecay + "[[loss]]\nformula = \"x\"\n");
  const ode::Solution s = solve(p);
  EXPECT_NEAR(s.final_state()[0], std::exp(-2), 1e-12);
  const ode::Gradient g = gradient(p, s);
  EXPECT_NEAR(g.value, std::exp(-2), 1e-12);
  EXPECT_NEAR(g.parameters["p"][0], -std::exp(-2), 1e-11);
  EXPECT_NEAR(g.x0[0], std::exp(-2), 1e-11);
  EXPECT_NEAR(g.t1, -2 * std::exp(-2), 1e-10);
}

TEST(Equations, SettingsReplaceWhatTheFileSays) {
  const Equations p =
      equations(kDecay, {{"parameters.k", "3"}, {"start.x", "2"}, {"run.t1", "2"}, {"run.solver", "tsit5"}});
  EXPECT_EQ(p.inputs.p[0], 3);
  EXPECT_EQ(p.inputs.x0[0], 2);
  EXPECT_EQ(p.t1, 2);
  EXPECT_EQ(p.options.method, "tsit5");
}

TEST(Equations, SettingsThatNameNothingAreMistakes) {
  EXPECT_NE(mistake(kDecay, {{"parameters.kk", "3"}})
                .find("--set parameters.kk=3: there is no parameters.kk\n  did you mean 'k'?"),
            std::string::npos);
  EXPECT_NE(mistake(kDecay, {{"k", "3"}}).find("names nothing"), std::string::npos);
  EXPECT_NE(mistake(kDecay, {{"parameters.k", "three"}}).find("not a number"), std::string::npos);
  EXPECT_NE(mistake(kDecay, {{"parameters.k", "nan"}}).find("not a finite number"), std::string::npos);
  EXPECT_NE(mistake(kDecay, {{"parameters.k[0]", "1"}}).find("not an array"), std::string::npos);
  EXPECT_NE(mistake(kDecay, {{"run.t2", "1"}}).find("unknown key 't2'"), std::string::npos);
}

TEST(Equations, AWholeArrayIsSetAtOnce) {
  const std::string text =
      "[start]\nu = [1.0, 2.0]\nw = 1.0\n[equations]\nu = [\"-u[0]\", \"-u[1]\"]\nw = \"0\"\n[run]\nt1 = "
      "1.0\n";
  EXPECT_EQ(equations(text, {{"start.u", "[3, 4.5]"}}).inputs.x0, (std::vector<double>{3, 4.5, 1}));
  EXPECT_NE(mistake(text, {{"start.u", "[3]"}}).find("start.u is an array of 2 elements, not of 1"),
            std::string::npos);
  EXPECT_NE(mistake(text, {{"start.u", "[3, x]"}}).find("'x' is not a number"), std::string::npos);
  EXPECT_NE(mistake(text, {{"start.w", "[3, 4]"}}).find("start.w is one number"), std::string::npos);
  EXPECT_NE(mistake(text, {{"start.u", "3"}}).find("start.u is an array of 2 elements"), std::string::npos);
}

// A leaking tank that is filled whenever it is half empty. The flow is an algebraic state, or put in by hand.
TEST(Equations, EventsAndAlgebraicEquationsGiveWhatEliminationGives) {
  const std::string head = "[start]\nx = 1.0\n", rest = R"(
[[events]]
when = "x - 0.5"
direction = -1
set.x = "x + fill"
[[loss]]
formula = "x"
[[loss]]
integral = true
formula = "FLOW^2"
)";
  const std::string parameters = "[parameters]\nk = 1.2\nfill = 0.4\n";
  const std::string solve_table = "[run]\nt1 = 2.0\nsolver = \"radau5\"\nrtol = 1e-10\natol = 1e-11\n";
  const auto with = [&](std::string text, const std::string& flow) {
    return text.replace(text.find("FLOW"), 4, flow);
  };
  const Equations algebraic = equations(head + "flow = 0.3\n" + parameters +
                                        "[equations]\nx = \"-flow\"\nflow = \"flow + 0.1*flow^3 - k*x\"\n" +
                                        solve_table + "algebraic = [\"flow\"]\n" + with(rest, "flow"));
  const ode::Solution s = solve(algebraic);
  ASSERT_GE(s.events.size(), 2u);
  const ode::Gradient g = gradient(algebraic, s), forward = gradient(algebraic, s, "forward");
  // The same with the root of the cubic written out: 2 sqrt(a) sinh(asinh(10 k x / (2 a^(3/2))) / 3),
  // a = 10/3.
  const std::string c = "(10*k*x/(2*(10/3)*sqrt(10/3)))";
  const std::string flow = "(2*sqrt(10/3)*sinh(log(" + c + " + sqrt(" + c + "^2 + 1))/3))";
  const Equations eliminated =
      equations(head + parameters + "[equations]\nx = \"-" + flow + "\"\n" + solve_table + with(rest, flow));
  const ode::Gradient e = gradient(eliminated, solve(eliminated));
  EXPECT_NEAR(g.value, e.value, 1e-8);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(g.parameters["p"][i], e.parameters["p"][i], 1e-7);
    EXPECT_NEAR(g.parameters["p"][i], forward.parameters["p"][i], 1e-10);
  }
  EXPECT_NEAR(g.x0[0], e.x0[0], 1e-7);
}

TEST(Equations, StatesParametersAndDefinitionsMayBeArrays) {
  const Equations p = equations(R"(
[start]
u = [1.0, 2.0]
w = 3.0
[parameters]
k = [0.5, 0.25]
[definitions]
flow = ["k[0]*u[0]", "k[1]*u[1]"]
total = "flow[0] + flow[1]"
[equations]
w = "total"
u = ["-flow[0]", "-flow[1]"]
[run]
t1 = 1.0
rtol = 1e-12
atol = 1e-13
[[loss]]
formula = "w + 0*k[1]"
)");
  const ode::Solution s = solve(p);
  EXPECT_NEAR(s.final_state()[0], std::exp(-0.5), 1e-11);
  EXPECT_NEAR(s.final_state()[1], 2 * std::exp(-0.25), 1e-11);
  EXPECT_NEAR(s.final_state()[2], 6 - std::exp(-0.5) - 2 * std::exp(-0.25), 1e-11);
  const ode::Gradient g = gradient(p, s);
  EXPECT_NEAR(g.parameters["p"][0], std::exp(-0.5), 1e-10);
  EXPECT_NEAR(g.parameters["p"][1], 2 * std::exp(-0.25), 1e-10);
  EXPECT_EQ(
      equations("[start]\nu=[1,2]\n[equations]\nu=[0,0]\n[run]\nt1=1\n", {{"start.u[1]", "5"}}).inputs.x0[1],
      5);
}

TEST(Equations, LossesAddUp) {
  const Equations p = equations(kDecay + R"([[loss]]
formula = "k*x"
[[loss]]
integral = true
formula = "x^2"
[[loss]]
formula = "(x - data)^2 + t*k"
times = [0.25, 0.5]
values = [0.5, 0.25]
weight = 2.0
)");
  const ode::Solution s = solve(p);
  const auto x = [](double t, double k) { return std::exp(-k * t); };
  const auto loss = [&](double k) {
    double sum = k * x(1, k) + (1 - std::exp(-2 * k)) / (2 * k);
    sum += std::pow(x(0.25, k) - 0.5, 2) + std::pow(x(0.5, k) - 0.25, 2) + 0.75 * k;
    return sum;
  };
  const ode::Gradient g = gradient(p, s), f = gradient(p, s, "forward");
  EXPECT_NEAR(g.value, loss(2), 1e-9);  // dense output of order 4
  EXPECT_NEAR(g.parameters["p"][0], (loss(2 + 1e-4) - loss(2 - 1e-4)) / 2e-4, 1e-7);
  EXPECT_NEAR(f.parameters["p"][0], g.parameters["p"][0], 1e-13);
  EXPECT_NEAR(f.x0[0], g.x0[0], 1e-13);
}

TEST(Equations, AlgebraicStatesFollowTheOthersAndSoDoDerivatives) {
  // z = k x, so x' = -z is decay at rate k; the file's z is only a guess.
  const Equations p = equations(R"(
[start]
x = 1.0
z = 0.3
[parameters]
k = 2.0
[equations]
x = "-z"
z = "k*x - z"
[run]
t1 = 1.0
solver = "radau5"
rtol = 1e-10
atol = 1e-12
algebraic = ["z"]
[[loss]]
formula = "z"
)");
  const ode::Solution s = solve(p);
  EXPECT_NEAR(s.final_state()[0], std::exp(-2), 1e-9);
  for (const char* adjoint : {"discrete", "forward"}) {
    const ode::Gradient g = gradient(p, s, adjoint);
    EXPECT_NEAR(g.value, 2 * std::exp(-2), 1e-9);
    EXPECT_NEAR(g.parameters["p"][0], -std::exp(-2), 1e-8) << adjoint;  // d(k e^-k)/dk
    EXPECT_NEAR(g.x0[0], 2 * std::exp(-2), 1e-8) << adjoint;
    EXPECT_EQ(g.x0[1], 0) << adjoint;
  }
  costate::test::expect_error([&] { return gradient(p, s, "interpolating"); },
                              "knows no algebraic equations");
}

TEST(Equations, TimeMayRunBackwards) {
  const Equations p = equations(R"(
[start]
x = 1.0
[equations]
x = "2*t*x"
[run]
t0 = 1.0
t1 = 0.0
rtol = 1e-12
atol = 1e-13
[[loss]]
formula = "x"
)");
  EXPECT_NEAR(solve(p).final_state()[0], std::exp(-1), 1e-11);
}

TEST(Equations, EulersNumberYieldsToAParameterOfThatName) {
  const std::string file = "[start]\nx = 0\n[equations]\nx = \"e\"\n[run]\nt1 = 1\n";
  EXPECT_NEAR(solve(equations(file)).final_state()[0], 2.718281828459045, 1e-12);
  EXPECT_NEAR(solve(equations("[parameters]\ne = 0.5\n" + file)).final_state()[0], 0.5, 1e-12);
}

TEST(Equations, MistakesInFormulasAreFoundInTheFile) {
  EXPECT_EQ(mistake(R"([start]
x = 1.0
[equations]
x = "-2*xx"
[run]
t1 = 1.0
)"),
            "f.toml:4:9: unknown name 'xx'\n"
            "  x = \"-2*xx\"\n"
            "          ^\n"
            "  did you mean 'x'?");
  // In a string of several lines, and in one with escapes.
  EXPECT_EQ(mistake("[start]\nx = 1\n[equations]\nx = '''\n1 +\n  (2 + y)'''\n[run]\nt1 = 1\n").substr(0, 10),
            "f.toml:5:4");
  EXPECT_EQ(mistake("[start]\nx = 1\n[equations]\nx = \"\\u0079\"\n[run]\nt1 = 1\n").substr(0, 11),
            "f.toml:4:5:");
}

TEST(Equations, AnEventThatNeverHappensIsNoted) {
  const Equations p = equations(kDecay + "[[events]]\nname = \"empty\"\nwhen = \"x + 1\"\n");
  const ode::Solution s = solve(p);
  ASSERT_FALSE(s.notes.empty());
  EXPECT_EQ(s.notes.back(), "event \"empty\" never happened");
}

TEST(Equations, EvaluatingAFieldFromTextAllocatesNothing) {
  const Equations p = equations(kDecay + "[[loss]]\nformula = \"x\"\n");
  std::vector<double> scratch(p.field->scratch_size());
  double x = 1, dx = 0, t_bar = 0, x_bar = 0, p_bar = 0, f_x = 0;
  const double one = 1;
  const costate::test::AllocationGuard guard;
  p.field->value(0, &x, p.inputs.p.data(), &dx, scratch.data());
  p.field->jvp(0, &x, p.inputs.p.data(), 0, &one, nullptr, &dx, scratch.data());
  p.field->vjp(0, &x, p.inputs.p.data(), &one, &t_bar, &x_bar, &p_bar, scratch.data());
  p.field->vjp_jvp(0, &x, p.inputs.p.data(), &one, 0, &one, nullptr, nullptr, &t_bar, &x_bar, &p_bar,
                   scratch.data());
  p.field->jacobian(0, &x, p.inputs.p.data(), &f_x, scratch.data());
  EXPECT_EQ(guard.count(), 0);
}

}  // namespace
}  // namespace costate::io::test
