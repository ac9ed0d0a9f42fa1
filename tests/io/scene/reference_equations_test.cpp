// Problems with known answers (closed forms and quad-precision solutions), from their files, by every adjoint
// that applies.
#include <gtest/gtest.h>

#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/fields/lambda_field.h"
#include "costate/ode/sundials/sundials_backend.h"
#include "tests/io/scene/studies.h"
#include "tests/ode/problems.h"

namespace costate::io::test {
namespace {

struct Expected {
  std::string input;  // "start.u1", "parameters.p1"
  double derivative;
};

struct Reference {
  std::string file, adjoint;
  std::vector<Setting> settings;
  double loss;
  std::vector<Expected> gradient;
  double tolerance;  // relative
};

void PrintTo(const Reference& r, std::ostream* out) { *out << r.file << " by " << r.adjoint; }

double derivative(const Equations& problem, const ode::Gradient& g, const std::string& input) {
  const bool parameter = input.starts_with("parameters.");
  const std::string name = input.substr(input.find('.') + 1);
  for (const Named& v : parameter ? problem.parameters : problem.states) {
    if (v.name == name)
      return parameter ? g.parameters["p"][std::size_t(v.offset)] : g.x0[std::size_t(v.offset)];
  }
  ADD_FAILURE() << "there is no " << input;
  return 0;
}

class ReferenceEquation : public testing::TestWithParam<Reference> {};

TEST_P(ReferenceEquation, LossAndGradientAreThoseOfTheReference) {
  const Reference& r = GetParam();
  if (r.adjoint == "cvodes" && !ode::sundials::available()) GTEST_SKIP() << "built without SUNDIALS";
  const Equations problem = reference(r.file, r.settings);
  const ode::Solution solution = solve(problem);
  const ode::Gradient g = gradient(problem, solution, r.adjoint);
  EXPECT_NEAR(g.value, r.loss, r.tolerance * std::abs(r.loss));
  for (const Expected& e : r.gradient)
    EXPECT_NEAR(derivative(problem, g, e.input), e.derivative, r.tolerance * std::abs(e.derivative))
        << e.input;
}

const std::vector<Expected> kFinal = {
    {"start.u1", 0.2995995083036823},      {"start.u2", -0.01415181634485351},
    {"parameters.p1", 0.6219615855512809}, {"parameters.p2", 0.06800140415087434},
    {"parameters.p3", 0.1691764639958928}, {"parameters.p4", 0.2725606939500075}};
const std::vector<Expected> kRunning = {
    {"start.u1", -52.00977041079382},    {"start.u2", -12.97267296259073},
    {"parameters.p1", 3.62353837542988}, {"parameters.p2", -55.2370917032541},
    {"parameters.p3", 51.5740834030593}, {"parameters.p4", -181.286366072316}};
const std::vector<Expected> kLorenz = {{"parameters.rho", 2.275542510621602}};
const std::vector<Expected> kVanDerPol = {{"parameters.mu", -1.314040887531950},
                                          {"start.y", -1.772753497832712}};
const std::vector<Expected> kDrag = {{"parameters.b", -12.86249251168838},
                                     {"parameters.m", 1.286249251168838},
                                     {"parameters.g", -0.4113768880870467},
                                     {"start.v", 0.6061405035740307}};
const std::vector<Expected> kBall = {{"parameters.e", 314.56883995768527},
                                     {"parameters.g", -7.277029744509887},
                                     {"start.h", 1.5961821700760583}};
const std::vector<Expected> kRobertson = {{"parameters.p1", -4.24755877}};
const std::vector<Expected> kRobertsonRunning = {
    {"parameters.p1", 7.68377327e5}, {"parameters.p2", -3.06892092}, {"parameters.p3", 5.11488998e-4}};

const double kFinalLoss = 4.424874073408009e-3, kRunningLoss = 85.7705072010927, kLorenzZ = 14.64914586660444,
             kVanDerPolY = -0.8370774502947651, kDragY = 3.316160783656088, kBallH = 8.494217007606046,
             kRobertsonY1 = 0.71582706872;

const std::string kTightest = "1e-14";
const std::vector<Setting> kTight = {
    {"run.solver", "dop853"}, {"run.rtol", kTightest}, {"run.atol", kTightest}};

// As many of the printed digits as rounding leaves: what a sum of some hundred steps in double can hold. The
// cost at the end of Lotka-Volterra is a small difference, and dG/dp1 one of numbers fifty times as large.
INSTANTIATE_TEST_SUITE_P(
    AllDigits, ReferenceEquation,
    testing::Values(Reference{"lotka_volterra_final", "discrete", kTight, kFinalLoss, kFinal, 1e-12},
                    Reference{"lotka_volterra_final", "forward", kTight, kFinalLoss, kFinal, 1e-12},
                    Reference{"lotka_volterra_running", "discrete", kTight, kRunningLoss, kRunning, 4e-12},
                    Reference{"lotka_volterra_running", "forward", kTight, kRunningLoss, kRunning, 4e-12},
                    Reference{"lorenz", "discrete", kTight, kLorenzZ, kLorenz, 3e-14},
                    Reference{"lorenz", "forward", kTight, kLorenzZ, kLorenz, 3e-14},
                    Reference{"van_der_pol", "discrete", kTight, kVanDerPolY, kVanDerPol, 5e-14},
                    Reference{"van_der_pol", "forward", kTight, kVanDerPolY, kVanDerPol, 5e-14},
                    Reference{"drag", "discrete", kTight, kDragY, kDrag, 1e-14},
                    Reference{"drag", "forward", kTight, kDragY, kDrag, 1e-14},
                    Reference{"bouncing_ball", "discrete", kTight, kBallH, kBall, 3e-14},
                    Reference{"bouncing_ball", "forward", kTight, kBallH, kBall, 3e-14}),
    [](const auto& r) { return r.param.file + "_" + r.param.adjoint; });

INSTANTIATE_TEST_SUITE_P(
    Files, ReferenceEquation,
    testing::Values(
        // Exact derivatives of the steps.
        Reference{"lotka_volterra_final", "discrete", {}, kFinalLoss, kFinal, 1e-10},
        Reference{"lotka_volterra_final", "forward", {}, kFinalLoss, kFinal, 1e-10},
        Reference{"lotka_volterra_running", "discrete", {}, kRunningLoss, kRunning, 1e-10},
        Reference{"lotka_volterra_running", "forward", {}, kRunningLoss, kRunning, 1e-10},
        Reference{"lorenz", "discrete", {}, kLorenzZ, kLorenz, 1e-12},
        Reference{"lorenz", "forward", {}, kLorenzZ, kLorenz, 1e-12},
        Reference{"van_der_pol", "discrete", {}, kVanDerPolY, kVanDerPol, 1e-12},
        Reference{"van_der_pol", "forward", {}, kVanDerPolY, kVanDerPol, 1e-12},
        Reference{"drag", "discrete", {}, kDragY, kDrag, 1e-12},
        Reference{"drag", "forward", {}, kDragY, kDrag, 1e-12},
        Reference{
            "drag", "discrete", {{"parameters.b", "0"}}, 5.1, {{"parameters.b", -25.33666666666667}}, 1e-12},
        Reference{"bouncing_ball", "discrete", {}, kBallH, kBall, 1e-12},
        Reference{"bouncing_ball", "forward", {}, kBallH, kBall, 1e-12},
        Reference{"robertson", "discrete", {}, kRobertsonY1, kRobertson, 1e-9},
        Reference{"robertson", "forward", {}, kRobertsonY1, kRobertson, 1e-9},
        Reference{"robertson", "discrete", {{"run.solver", "rodas5p"}}, kRobertsonY1, kRobertson, 1e-8},
        Reference{"robertson_running", "discrete", {}, 3.9982528209e7, kRobertsonRunning, 1e-8},
        // Derivatives of the flow, to the tolerances of another integration.
        Reference{"lotka_volterra_final", "interpolating", {}, kFinalLoss, kFinal, 1e-8},
        Reference{"lotka_volterra_running", "interpolating", {}, kRunningLoss, kRunning, 1e-9},
        Reference{"lotka_volterra_final", "cvodes", {}, kFinalLoss, kFinal, 1e-6},
        Reference{"lotka_volterra_running", "cvodes", {}, kRunningLoss, kRunning, 1e-7},
        Reference{"lorenz", "interpolating", {}, kLorenzZ, kLorenz, 1e-10},
        Reference{"lorenz", "backsolve", {}, kLorenzZ, kLorenz, 1e-7},
        Reference{"lorenz", "cvodes", {}, kLorenzZ, kLorenz, 1e-7},
        Reference{"van_der_pol", "interpolating", {}, kVanDerPolY, kVanDerPol, 1e-10},
        Reference{"van_der_pol", "cvodes", {}, kVanDerPolY, kVanDerPol, 1e-7},
        Reference{"drag", "interpolating", {}, kDragY, kDrag, 1e-10},
        Reference{"drag", "backsolve", {}, kDragY, kDrag, 1e-8},
        Reference{"drag", "cvodes", {}, kDragY, kDrag, 1e-8},
        Reference{"bouncing_ball", "interpolating", {}, kBallH, kBall, 1e-11},
        Reference{"robertson", "cvodes", {}, kRobertsonY1, kRobertson, 1e-6}),
    [](const auto& r) { return r.param.file + "_" + r.param.adjoint + "_" + std::to_string(r.index); });

TEST(ReferenceEquations, StatesAreThoseOfTheReference) {
  const std::vector<double> lotka = solve(reference("lotka_volterra_final")).final_state();
  EXPECT_NEAR(lotka[0], 1.026344767575089, 1e-11);
  EXPECT_NEAR(lotka[1], 0.909691078136042, 1e-11);
  for (const char* method : {"radau5", "rodas5p"}) {
    const std::vector<double> y = solve(reference("robertson", {{"run.solver", method}})).final_state();
    EXPECT_NEAR(y[0], 0.71582706872, 1e-9) << method;
    EXPECT_NEAR(y[1], 9.1855347646e-6, 1e-14) << method;
    EXPECT_NEAR(y[2], 0.28416374575, 1e-9) << method;
  }
}

TEST(ReferenceEquations, BouncesHappenWhenTheClosedFormSays) {
  const ode::Solution s = solve(reference("bouncing_ball"));
  ASSERT_EQ(s.events.size(), 3u);
  EXPECT_NEAR(s.events[0].t, 3.1943828249996993, 1e-12);
  EXPECT_NEAR(s.events[1].t, 8.30539534499922, 1e-12);
  EXPECT_NEAR(s.events[2].t, 12.394205360998836, 1e-12);
}

// A formula of a file and the same one compiled are the same function up to the rounding of fused products.
TEST(ReferenceEquations, AFileAndACompiledLambdaHaveTheSameGradient) {
  const Equations problem = reference("lotka_volterra_final");
  const auto field = ode::make_field<2, 4>(ode::test::lotka_volterra);
  const ode::Loss loss{.final = ode::make_function<2, 4>([](auto, auto x, auto) {
                         return 0.5 * ((1.0 - x[0]) * (1.0 - x[0]) + (1.0 - x[1]) * (1.0 - x[1]));
                       })};
  // The same steps, so that only rounding differs.
  ode::Options fixed{.method = "rk4", .dt = 0.01};
  const ode::Gradient compiled =
      ode::gradient(ode::solve(field, {0, 10}, {1, 1}, {1.5, 1, 3, 1}, fixed), loss);
  const Equations same = reference("lotka_volterra_final", {{"run.solver", "rk4"}, {"run.dt", "0.01"}});
  const ode::Gradient text = gradient(same, solve(same));
  EXPECT_NEAR(text.value, compiled.value, 1e-12 * std::abs(compiled.value));
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(text.parameters["p"][i], compiled.parameters["p"][i],
                1e-12 * std::abs(compiled.parameters["p"][i]))
        << i;
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(text.x0[i], compiled.x0[i], 1e-12) << i;
}

TEST(ReferenceEquations, ABouncingBallFromAFileEqualsTheCompiledOne) {
  const Equations problem = reference("bouncing_ball");
  const auto field = ode::make_field<2, 2>(ode::test::falling);
  const ode::Options options{.rtol = 1e-12,
                             .atol = {1e-12},
                             .events = {{.guard = ode::make_function<2, 2>(ode::test::height),
                                         .direction = -1,
                                         .jump = ode::make_function<2, 2>(ode::test::bounce)}}};
  const ode::Loss loss{.final = ode::make_function<2, 2>(ode::test::height)};
  const ode::Gradient compiled =
      ode::gradient(ode::solve(field, {0, 15}, {50, 0}, {0.8, 9.8}, options), loss);
  const ode::Gradient text = gradient(problem, solve(problem));
  EXPECT_NEAR(text.parameters["p"][0], compiled.parameters["p"][1],
              1e-12 * std::abs(compiled.parameters["p"][1]));  // g
  EXPECT_NEAR(text.parameters["p"][1], compiled.parameters["p"][0],
              1e-12 * std::abs(compiled.parameters["p"][0]));  // e
  EXPECT_NEAR(text.x0[0], compiled.x0[0], 1e-12);
  EXPECT_NEAR(text.x0[1], compiled.x0[1], 1e-12);
}

}  // namespace
}  // namespace costate::io::test
