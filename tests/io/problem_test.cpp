#include "costate/io/problem.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/io/run.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "tests/allocation_guard.h"

namespace costate::io {
namespace {

Problem parse(const std::string& text, const std::vector<Setting>& settings = {}) {
  return parse_problem(text, "f.toml", settings);
}
std::string mistake(const std::string& text, const std::vector<Setting>& settings = {}) {
  try {
    parse(text, settings);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::input);
    return error.what();
  }
}

const std::string kDecay = R"(
[state]
x = 1.0
[parameters]
k = 2.0
[equations]
x = "-k*x"
[solve]
t1 = 1.0
rtol = 1e-12
atol = 1e-14
)";

TEST(Problem, DecayHasTheSolutionAndGradientOfTheClosedForm) {
  const Problem p = parse(kDecay + "[loss]\nfinal = \"x\"\n");
  const ode::Solution s = solve(p);
  EXPECT_NEAR(s.final_state()[0], std::exp(-2), 1e-12);
  const ode::Gradient g = gradient(p, s);
  EXPECT_NEAR(g.value, std::exp(-2), 1e-12);
  EXPECT_NEAR(g.parameters["p"][0], -std::exp(-2), 1e-11);
  EXPECT_NEAR(g.x0[0], std::exp(-2), 1e-11);
  EXPECT_NEAR(g.t1, -2 * std::exp(-2), 1e-10);
}

TEST(Problem, SettingsReplaceWhatTheFileSays) {
  const Problem p =
      parse(kDecay, {{"parameters.k", "3"}, {"state.x", "2"}, {"solve.t1", "2"}, {"solve.method", "tsit5"}});
  EXPECT_EQ(p.p[0], 3);
  EXPECT_EQ(p.y0[0], 2);
  EXPECT_EQ(p.t1, 2);
  EXPECT_EQ(p.options.method, "tsit5");
}

TEST(Problem, SettingsThatNameNothingAreMistakes) {
  EXPECT_NE(mistake(kDecay, {{"parameters.kk", "3"}})
                .find("--set parameters.kk=3: there is no parameters.kk\n  did you mean 'k'?"),
            std::string::npos);
  EXPECT_NE(mistake(kDecay, {{"k", "3"}}).find("names nothing"), std::string::npos);
  EXPECT_NE(mistake(kDecay, {{"parameters.k", "three"}}).find("not a number"), std::string::npos);
  EXPECT_NE(mistake(kDecay, {{"parameters.k", "nan"}}).find("not a finite number"), std::string::npos);
  EXPECT_NE(mistake(kDecay, {{"parameters.k[0]", "1"}}).find("not an array"), std::string::npos);
  EXPECT_NE(mistake(kDecay, {{"solve.t2", "1"}}).find("unknown key 't2'"), std::string::npos);
}

TEST(Problem, AWholeArrayIsSetAtOnce) {
  const std::string text =
      "[state]\nu = [1.0, 2.0]\nw = 1.0\n[equations]\nu = [\"-u[0]\", \"-u[1]\"]\nw = \"0\"\n[solve]\nt1 = "
      "1.0\n";
  EXPECT_EQ(parse(text, {{"state.u", "[3, 4.5]"}}).y0, (std::vector<double>{3, 4.5, 1}));
  EXPECT_NE(mistake(text, {{"state.u", "[3]"}}).find("u is an array of 2 elements, not of 1"),
            std::string::npos);
  EXPECT_NE(mistake(text, {{"state.u", "[3, x]"}}).find("'x' is not a number"), std::string::npos);
  EXPECT_NE(mistake(text, {{"state.w", "[3, 4]"}}).find("w is one number"), std::string::npos);
  EXPECT_NE(mistake(text, {{"state.u", "3"}}).find("u is an array of 2 elements"), std::string::npos);
}

// A leaking tank that is filled whenever it is half empty. The flow is an algebraic state, or put in by hand.
TEST(Problem, EventsAndAlgebraicEquationsGiveWhatEliminationGives) {
  const std::string head = "[state]\nx = 1.0\n", rest = R"(
[[events]]
when = "x - 0.5"
direction = -1
set.x = "x + fill"
[loss]
final = "x"
running = "FLOW^2"
)";
  const std::string parameters = "[parameters]\nk = 1.2\nfill = 0.4\n";
  const std::string solve_table = "[solve]\nt1 = 2.0\nmethod = \"radau5\"\nrtol = 1e-10\natol = 1e-11\n";
  const auto with = [&](std::string text, const std::string& flow) {
    return text.replace(text.find("FLOW"), 4, flow);
  };
  const Problem algebraic = parse(head + "flow = 0.3\n" + parameters +
                                  "[equations]\nx = \"-flow\"\nflow = \"flow + 0.1*flow^3 - k*x\"\n" +
                                  solve_table + "algebraic = [\"flow\"]\n" + with(rest, "flow"));
  const ode::Solution s = solve(algebraic);
  ASSERT_GE(s.events.size(), 2u);
  const ode::Gradient g = gradient(algebraic, s), forward = gradient(algebraic, s, "forward");
  // The same with the root of the cubic written out: 2 sqrt(a) sinh(asinh(10 k x / (2 a^(3/2))) / 3), a = 10/3.
  const std::string c = "(10*k*x/(2*(10/3)*sqrt(10/3)))";
  const std::string flow = "(2*sqrt(10/3)*sinh(log(" + c + " + sqrt(" + c + "^2 + 1))/3))";
  const Problem eliminated =
      parse(head + parameters + "[equations]\nx = \"-" + flow + "\"\n" + solve_table + with(rest, flow));
  const ode::Gradient e = gradient(eliminated, solve(eliminated));
  EXPECT_NEAR(g.value, e.value, 1e-8);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(g.parameters["p"][i], e.parameters["p"][i], 1e-7);
    EXPECT_NEAR(g.parameters["p"][i], forward.parameters["p"][i], 1e-10);
  }
  EXPECT_NEAR(g.x0[0], e.x0[0], 1e-7);
}

TEST(Problem, StatesParametersAndDefinitionsMayBeArrays) {
  const Problem p = parse(R"(
[state]
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
[solve]
t1 = 1.0
rtol = 1e-12
atol = 1e-13
[loss]
final = "w + 0*k[1]"
)");
  const ode::Solution s = solve(p);
  EXPECT_NEAR(s.final_state()[0], std::exp(-0.5), 1e-11);
  EXPECT_NEAR(s.final_state()[1], 2 * std::exp(-0.25), 1e-11);
  EXPECT_NEAR(s.final_state()[2], 6 - std::exp(-0.5) - 2 * std::exp(-0.25), 1e-11);
  const ode::Gradient g = gradient(p, s);
  EXPECT_NEAR(g.parameters["p"][0], std::exp(-0.5), 1e-10);
  EXPECT_NEAR(g.parameters["p"][1], 2 * std::exp(-0.25), 1e-10);
  EXPECT_EQ(parse("[state]\nu=[1,2]\n[equations]\nu=[0,0]\n[solve]\nt1=1\n", {{"state.u[1]", "5"}}).y0[1], 5);
}

TEST(Problem, LossesAddUp) {
  const Problem p = parse(kDecay + R"([loss]
final = "k*x"
running = "x^2"
samples = {at = [0.25, 0.5], value = "(x - data)^2 + t*k", data = [0.5, 0.25]}
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

TEST(Problem, AlgebraicStatesFollowTheOthersAndSoDoDerivatives) {
  // z = k x, so x' = -z is decay at rate k; the file's z is only a guess.
  const Problem p = parse(R"(
[state]
x = 1.0
z = 0.3
[parameters]
k = 2.0
[equations]
x = "-z"
z = "k*x - z"
[solve]
t1 = 1.0
method = "radau5"
rtol = 1e-10
atol = 1e-12
algebraic = ["z"]
[loss]
final = "z"
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
  EXPECT_THROW(gradient(p, s, "interpolating"), Error);
}

TEST(Problem, TimeMayRunBackwards) {
  const Problem p = parse(R"(
[state]
x = 1.0
[equations]
x = "2*t*x"
[solve]
t0 = 1.0
t1 = 0.0
rtol = 1e-12
atol = 1e-13
[loss]
final = "x"
)");
  EXPECT_NEAR(solve(p).final_state()[0], std::exp(-1), 1e-11);
}

TEST(Problem, EulersNumberYieldsToAParameterOfThatName) {
  const std::string file = "[state]\nx = 0\n[equations]\nx = \"e\"\n[solve]\nt1 = 1\n";
  EXPECT_NEAR(solve(parse(file)).final_state()[0], 2.718281828459045, 1e-12);
  EXPECT_NEAR(solve(parse("[parameters]\ne = 0.5\n" + file)).final_state()[0], 0.5, 1e-12);
}

TEST(Problem, MistakesInFormulasAreFoundInTheFile) {
  EXPECT_EQ(mistake(R"([state]
x = 1.0
[equations]
x = "-2*xx"
[solve]
t1 = 1.0
)"),
            "f.toml:4:9: unknown name 'xx'\n"
            "  x = \"-2*xx\"\n"
            "          ^\n"
            "  did you mean 'x'?");
  // In a string of several lines, and in one with escapes.
  EXPECT_EQ(
      mistake("[state]\nx = 1\n[equations]\nx = '''\n1 +\n  (2 + y)'''\n[solve]\nt1 = 1\n").substr(0, 10),
      "f.toml:5:4");
  EXPECT_EQ(mistake("[state]\nx = 1\n[equations]\nx = \"\\u0079\"\n[solve]\nt1 = 1\n").substr(0, 11),
            "f.toml:4:5:");
}

TEST(Problem, AnEventThatNeverHappensIsNoted) {
  const Problem p = parse(kDecay + "[[events]]\nname = \"empty\"\nwhen = \"x + 1\"\n");
  const ode::Solution s = solve(p);
  ASSERT_FALSE(s.notes.empty());
  EXPECT_EQ(s.notes.back(), "event \"empty\" never happened");
}

TEST(Problem, EvaluatingAFieldFromTextAllocatesNothing) {
  const Problem p = parse(kDecay + "[loss]\nfinal = \"x\"\n");
  std::vector<double> scratch(p.field->scratch_size());
  double x = 1, dx = 0, t_bar = 0, x_bar = 0, p_bar = 0, f_x = 0;
  const double one = 1;
  const costate::test::AllocationGuard guard;
  p.field->value(0, &x, p.p.data(), &dx, scratch.data());
  p.field->jvp(0, &x, p.p.data(), 0, &one, nullptr, &dx, scratch.data());
  p.field->vjp(0, &x, p.p.data(), &one, &t_bar, &x_bar, &p_bar, scratch.data());
  p.field->vjp_jvp(0, &x, p.p.data(), &one, 0, &one, nullptr, nullptr, &t_bar, &x_bar, &p_bar,
                   scratch.data());
  p.field->jacobian(0, &x, p.p.data(), &f_x, scratch.data());
  EXPECT_EQ(guard.count(), 0);
}

}  // namespace
}  // namespace costate::io
