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
