#include "costate/study/fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/io/scene/load_study.h"
#include "costate/study/optimise.h"
#include "tests/expect_error.h"

namespace costate::study {
namespace {

using costate::test::expect_error;

const std::string kScene = COSTATE_SOURCE "/scenes/double_pendulum_identify.toml";

std::unique_ptr<Study> with(const std::vector<std::pair<std::string, std::string>>& settings) {
  return io::load_study(kScene, {.settings = settings});
}

TEST(Fit, FindsWhatMadeTheRecordingWithinItsErrorBars) {
  const auto study = with({});
  const Optimum o = optimise(*study);
  const double truth[] = {0.62, 0.03, 0.02, 1.9, 0.6};
  ASSERT_EQ(o.best.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(o.best[i] * study->variables()[i].scale, truth[i], 4 * o.standard_deviation[i]);
  EXPECT_NEAR(o.residual_rms, 1, 0.1);
  EXPECT_TRUE(o.unseen.empty());
  EXPECT_NEAR(o.correlation[0], 1, 1e-12);
}

// From three times the mass the whole recording has another minimum; pieces lead past it.
TEST(Fit, PiecesFindTheNeighbourhoodFromFarAway) {
  const std::vector<std::pair<std::string, std::string>> far = {{"parameters.body/lower/mass", "3.0"}};
  const auto study = with(far);
  const Optimum pieces = optimise(*study);
  EXPECT_NEAR(pieces.best[0], 0.62, 4 * pieces.standard_deviation[0]);
}

TEST(Fit, ItsJacobianIsThatOfDifferences) {
  const auto study = with({{"fit.robust", "cauchy"}});
  FitResiduals residuals(*study);
  const int m = residuals.count(), n = int(study->variables().size());
  const std::vector<double> at = study->start();
  std::vector<double> r(std::size_t(m), 0.0), J(std::size_t(m * n), 0.0), up(r), down(r);
  residuals.evaluate(at, r.data(), J.data());
  for (int i = 0; i < n; ++i) {
    const double h = 1e-6;
    std::vector<double> z = at;
    z[std::size_t(i)] += h;
    residuals.evaluate(z, up.data(), nullptr);
    z[std::size_t(i)] -= 2 * h;
    residuals.evaluate(z, down.data(), nullptr);
    double size = 0;
    for (int k = 0; k < m; ++k) size = std::max(size, std::abs(J[std::size_t(k * n + i)]));
    for (int k = 0; k < m; ++k)
      EXPECT_NEAR(J[std::size_t(k * n + i)], (up[std::size_t(k)] - down[std::size_t(k)]) / (2 * h),
                  1e-5 * size);
  }
}

// x' = -k x from x(0) = 1: y = exp(-k t) / 2, so that the Hessian is known. dopri5 follows it to 1e-10.
TEST(Fit, LaplaceOfADecayIsTheClosedForm) {
  const auto study = io::parse_study(
      "[start]\nx = 1.0\n[parameters]\nk = 0.5\n[equations]\nx = \"-k*x\"\n[run]\nt1 = 2.0\nrtol = 1e-12\n"
      "atol = 1e-14\n[fit]\nlaplace = true\nvariables = [\"parameters.k\"]\n"
      "data = {times = [0.5, 1.0, 2.0], formula = \"0.5*x\", values = [0.45, 0.2, 0.2], sigma = 0.1}\n",
      "f.toml");
  const Optimum o = optimise(*study);
  const double k = o.best[0] * study->variables()[0].scale, y[] = {0.45, 0.2, 0.2}, t[] = {0.5, 1, 2};
  double gauss_newton = 0, hessian = 0;
  for (int i = 0; i < 3; ++i) {
    const double x = 0.5 * std::exp(-k * t[i]);
    gauss_newton += t[i] * t[i] * x * x / 0.01;
    hessian += t[i] * t[i] * x * (x + x - y[i]) / 0.01;
  }
  EXPECT_NEAR(o.standard_deviation[0] * std::sqrt(gauss_newton), 1, 1e-9);
  EXPECT_NEAR(o.laplace_deviation[0] * std::sqrt(hessian), 1, 1e-9);
  EXPECT_GT(std::abs(gauss_newton / hessian - 1), 0.01);
}

// Gradients of the loss of a fit are J'r; their differences are the columns of J'J + C.
void expect_correction_of_differences(Study& study) {
  FitResiduals residuals(study);
  const std::size_t m = std::size_t(residuals.count()), n = study.variables().size();
  const std::vector<double> at = study.start();
  std::vector<double> r(m), J(m * n);
  const auto gradient = [&](const std::vector<double>& z) {
    residuals.evaluate(z, r.data(), J.data());
    std::vector<double> g(n);
    for (std::size_t k = 0; k < m; ++k)
      for (std::size_t i = 0; i < n; ++i) g[i] += r[k] * J[k * n + i];
    return g;
  };
  std::vector<double> H(n * n);
  const double h = 1e-3;
  for (std::size_t j = 0; j < n; ++j)
    for (const auto& [i, weight] : {std::pair(1, 45.0), {2, -9.0}, {3, 1.0}})
      for (const int sign : {1, -1}) {
        std::vector<double> z = at;
        z[j] += sign * i * h;
        const std::vector<double> g = gradient(z);
        for (std::size_t l = 0; l < n; ++l) H[l * n + j] += sign * weight * g[l] / (60 * h);
      }
  gradient(at);
  const std::vector<double> C = residuals.correction(at);
  double size = 0;
  for (const double number : H) size = std::max(size, std::abs(number));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double whole = C[i * n + j];
      for (std::size_t k = 0; k < m; ++k) whole += J[k * n + i] * J[k * n + j];
      EXPECT_NEAR(whole, H[i * n + j], 1e-8 * size) << i << " " << j;
    }
}

TEST(Fit, TheHessianOfLaplaceIsThatOfDifferences) {
  const std::string data =
      "laplace = true\nrobust = \"cauchy\"\nvariables = [\"parameters.*\", \"start.a\"]\n"
      "data = {times = [0.5, 1.0, 1.5, 2.0], formula = \"a + 0.1*a^2\", values = [0.2, -0.8, -0.6, 0.5], "
      "sigma = 0.3}\n";
  const auto study = io::parse_study(
      "[start]\na = 1.0\nv = 0.0\n[parameters]\nl = 1.2\nd = 0.1\n[equations]\na = \"v\"\n"
      "v = \"-9.81/l*sin(a) - d*v\"\n[run]\nt1 = 2.0\nsolver = \"rk4\"\ndt = 0.02\n[fit]\n" +
          data,
      "f.toml");
  expect_correction_of_differences(*study);
}

// Springs with a muscle: parameters, a start and the points of a path, seen through a product of means.
TEST(Fit, TheHessianOfLaplaceOfARolloutIsThatOfDifferences) {
  const auto study = io::parse_study(
      "[springs]\nstiffness = 30.0\n[[masses]]\nname = \"a\"\nposition = [0.0, 1.0]\n[[masses]]\nname = "
      "\"b\"\n"
      "position = [0.4, 1.2]\nvelocity = [0.1, 0.3]\n[[links]]\nbetween = [\"a\", \"b\"]\nrest_length = 0.3\n"
      "muscle = \"m\"\n[run]\nduration = 0.2\ndt = 0.01\n[controls]\n"
      "m = {values = [0.1, 0.5, 0.2, 0.4], interpolation = \"spline\"}\n[fit]\nlaplace = true\n"
      "variables = [\"controls.m\", \"start.x\", \"parameters.spring/stiffness\"]\n"
      "data = {times = [0.1, 0.2], formula = \"c[0]*c[1] + b[0]\", quantities = {c = \"masses/mean\", "
      "b = \"mass/b\"}, values = [0.5, 0.6], sigma = 0.1}\n",
      "f.toml");
  ASSERT_GT(study->variables().size(), 8u);
  expect_correction_of_differences(*study);
}

// Angles of joints, observed: the second derivatives are those of the steps and of what is measured.
TEST(Fit, TheHessianOfLaplaceOfRigidQuantitiesIsThatOfDifferences) {
  expect_correction_of_differences(*with({{"fit.laplace", "true"}}));
}

TEST(Fit, LaplaceInSinglePrecisionIsRefused) {
  const auto study = with({{"fit.laplace", "true"}, {"run.precision", "float"}});
  expect_error([&] { return optimise(*study); }, "laplace needs second derivatives");
}

TEST(Fit, APriorHoldsWhatItKnows) {
  const auto study = io::parse_study(
      "[start]\nx = 1.0\n[parameters]\nk = 0.5\n[equations]\nx = \"-k*x\"\n[run]\nt1 = 2.0\n"
      "[fit]\nvariables = [{name = \"parameters.k\", prior = {mean = 0.4, deviation = 1e-6}}]\n"
      "data = {times = [1.0, 2.0], formula = \"x\", values = [0.5, 0.25], sigma = 0.1}\n",
      "f.toml");
  EXPECT_NEAR(optimise(*study).best[0], 0.4, 1e-5);
}

TEST(Fit, SaysWhatTheDataCannotSee) {
  const auto study = io::parse_study(
      "[start]\na = 1.0\nv = 0.0\n[parameters]\ng = 9.81\nl = 1.2\nm = 1.0\n[equations]\na = \"v\"\n"
      "v = \"-g/l*sin(a) + 0*m\"\n[run]\nt1 = 2.0\n[fit]\nvariables = [\"parameters.*\"]\n"
      "data = {times = [0.5, 1.0, 1.5, 2.0], formula = \"a\", values = [0.2, -0.8, -0.6, 0.5]}\n",
      "f.toml");
  const Optimum o = optimise(*study);
  ASSERT_EQ(o.unseen.size(), 2u);
  EXPECT_TRUE(std::isinf(o.standard_deviation[0]) && std::isinf(o.standard_deviation[2]));
  const std::string all = o.unseen[0] + ";" + o.unseen[1];
  EXPECT_NE(all.find("the data cannot tell parameters.g from parameters.l"), std::string::npos) << all;
  EXPECT_NE(all.find("the data do not depend on parameters.m"), std::string::npos) << all;
}

TEST(Fit, MistakesAreTold) {
  const std::string head =
      "[start]\nx = 1.0\n[parameters]\nk = 0.5\n[equations]\nx = \"-k*x\"\n[run]\nt1 = 2.0\n";
  const auto parse = [&](const std::string& rest) { return io::parse_study(head + rest, "f.toml"); };
  const std::string data = "data = {times = [1.0], formula = \"x\", values = [0.5]}\n";
  expect_error([&] { return parse("[fit]\nsegment = 0.1\nvariables = [\"parameters.k\"]\n" + data); },
               "equations are not cut into segments", "leave segment out");
  expect_error([&] { return parse("[fit]\nrobust = \"hubert\"\nvariables = [\"parameters.k\"]\n" + data); },
               "hubert");
  expect_error(
      [&] {
        return parse(
            "[fit]\nvariables = [\"parameters.k\"]\ndata = {file = \"/nonexistent.csv\", column = \"x\", "
            "formula = \"x\"}\n");
      },
      "there is no such file");
  expect_error(
      [&] {
        return parse(
            "[[loss]]\nformula = \"x\"\n[optimize]\nvariables = [{name = \"parameters.k\", "
            "prior = {mean = 1, deviation = 1}}]\n");
      },
      "a prior is for [fit]");
}

}  // namespace
}  // namespace costate::study
