// Laplace's covariance: closed forms of a linear system, and differences of exact gradients.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <array>
#include <cmath>

#include "costate/control/identify/curvature.h"
#include "costate/control/identify/identify.h"
#include "costate/core/philox.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"
#include "costate/system/rollout.h"
#include "tests/control/problems.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;

constexpr int kSteps = 40;
constexpr double kSigma = 0.05;

Measurements noisy(const std::shared_ptr<const System<double>>& system, const Parameters<double>& truth,
                   std::vector<double> x0, double noise, double (*measure)(const double*)) {
  Rollout<double> rollout(system, {.steps = kSteps, .keep = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = x0, at.parameters = truth;
  for (std::size_t k = 0; k < at.controls.size(); ++k) at.controls[k] = 2 * std::sin(0.2 * double(k));
  const auto states = rollout.simulate(at).states;
  Measurements r{.y = {}, .controls = at.controls, .x0 = std::move(x0)};
  for (std::uint32_t k = 0; k <= kSteps; ++k)
    r.y.push_back(measure(&states[2 * k]) + noise * normal<double>(3, 0, k, 0));
  return r;
}

// pos' = pos + 0.1 vel, vel' = a vel: pos_k = pos_0 + 0.1 vel_0 (1 + a + ... + a^(k-1)).
Identification coasting(double noise) {
  Identification p;
  p.system = test::coasting();
  p.parameters = Parameters<double>(p.system->signature()).set("a", 0.93);
  p.recordings = {noisy(p.system, p.parameters, {0.2, 3.0}, noise, [](const double* x) { return x[0]; })};
  p.measured = {loss::expression<double>(p.system->signature(), "pos")};
  p.sigma = {kSigma};
  p.unknowns = {{.name = "a"}};
  return p;
}

struct Sums {  // of a^j for j < k, with derivatives with respect to a
  double value = 0, first = 0, second = 0;
};
Sums sums(double a, int k) {
  Sums s;
  for (int j = 0; j < k; ++j) {
    s.value += std::pow(a, j);
    if (j > 0) s.first += j * std::pow(a, j - 1);
    if (j > 1) s.second += j * (j - 1) * std::pow(a, j - 2);
  }
  return s;
}

TEST(Laplace, OfALinearSystemIsTheClosedForm) {
  const Identification p = coasting(kSigma);
  const Identified found = identify(p, {.tolerance = 1e-12, .laplace = true});
  double gauss_newton = 0, hessian = 0;
  for (int k = 0; k <= kSteps; ++k) {
    const Sums s = sums(found.values[0], k);
    const double r = 0.2 + 0.3 * s.value - p.recordings[0].y[std::size_t(k)];
    gauss_newton += std::pow(0.3 * s.first / kSigma, 2);
    hessian += (std::pow(0.3 * s.first, 2) + r * 0.3 * s.second) / (kSigma * kSigma);
  }
  ASSERT_TRUE(found.laplace.minimum);
  EXPECT_NEAR(found.covariance[0] * gauss_newton, 1, 1e-12);
  EXPECT_NEAR(found.laplace.covariance[0] * hessian, 1, 1e-12);
  EXPECT_GT(std::abs(hessian / gauss_newton - 1), 1e-3);  // so that the two can be told apart
}

// With the start unknown too: of the inverse of the 3 x 3 Hessian of (pos_0, vel_0, a), the number for a.
TEST(Laplace, TakesTheUnknownStartIntoAccount) {
  Identification p = coasting(kSigma);
  p.recordings[0].x0_free = true;
  const Identified found = identify(p, {.tolerance = 1e-12, .laplace = true});
  Matrix H = Matrix::Zero(3, 3);
  const double pos = found.x0[0][0], vel = found.x0[0][1];
  for (int k = 0; k <= kSteps; ++k) {
    const Sums s = sums(found.values[0], k);
    const double r = pos + 0.1 * vel * s.value - p.recordings[0].y[std::size_t(k)];
    const Eigen::Vector3d by(1, 0.1 * s.value, 0.1 * vel * s.first);
    H += by * by.transpose();
    H(1, 2) += r * 0.1 * s.first, H(2, 1) += r * 0.1 * s.first, H(2, 2) += r * 0.1 * vel * s.second;
  }
  const Matrix inverse = (H / (kSigma * kSigma)).eval().inverse();
  EXPECT_NEAR(found.laplace.covariance[0] / inverse(2, 2), 1, 1e-10);
  EXPECT_GT(std::abs(found.laplace.covariance[0] / found.covariance[0] - 1), 1e-4);
}

Identification pendulum(double noise, Robust robust = Robust::none) {
  Identification p;
  p.system = test::damped_pendulum();
  p.parameters = Parameters<double>(p.system->signature());
  p.recordings = {
      noisy(p.system, p.parameters, {1, 0}, noise, [](const double* x) { return 1.2 * std::sin(x[0]); })};
  p.measured = {loss::expression<double>(p.system->signature(), "sin(angle)*length")};
  p.sigma = {kSigma};
  p.unknowns = {{.name = "length", .lower = 0.1, .upper = 10}, {.name = "damping", .lower = -1, .upper = 10}};
  p.robust = robust, p.robust_width = 1;
  return p;
}

// The misfit of the pendulum above as a loss of a rollout.
double misfit(const Identification& p, const double* v, double* gradient) {
  const Signature& s = p.system->signature();
  std::vector<ObjectivePtr<double>> terms;
  for (std::int64_t k = 0; k <= kSteps; ++k) {
    const std::string r =
        "((sin(angle)*length - (" + std::to_string(p.recordings[0].y[std::size_t(k)]) + "))/0.05)";
    terms.push_back(loss::expression<double>(
        s, p.robust == Robust::cauchy ? "0.5*log(1 + " + r + "^2)" : "0.5*" + r + "^2", loss::at_steps({k})));
  }
  Rollout<double> rollout(p.system, {.steps = kSteps});
  Arguments<double> at = rollout.arguments();
  at.x0 = p.recordings[0].x0, at.controls = p.recordings[0].controls;
  at.parameters.set("length", v[0]).set("damping", v[1]);
  const auto g = rollout.value_and_gradient(at, *loss::sum<double>(terms));
  gradient[0] = g.parameters["length"][0], gradient[1] = g.parameters["damping"][0];
  return g.value;
}

TEST(Laplace, OfAPendulumIsThatOfDifferencesOfTheGradient) {
  for (const Robust robust : {Robust::none, Robust::cauchy}) {
    Identification p = pendulum(kSigma, robust);
    for (double& y : p.recordings[0].y) y = std::stod(std::to_string(y));  // as the loss above reads it
    const Identified found = identify(p, {.tolerance = 1e-11, .laplace = true});
    ASSERT_TRUE(found.laplace.minimum);
    Matrix H(2, 2);
    for (int j = 0; j < 2; ++j) {
      double g[2], sum[2] = {0, 0};
      const double h = 3e-4;
      for (const auto& [i, weight] : {std::pair(1, 45.0), {2, -9.0}, {3, 1.0}})
        for (const int sign : {1, -1}) {
          double v[2] = {found.values[0], found.values[1]};
          v[j] += sign * i * h;
          misfit(p, v, g);
          for (int l = 0; l < 2; ++l) sum[l] += sign * weight * g[l] / (60 * h);
        }
      H(0, j) = sum[0], H(1, j) = sum[1];
    }
    const Matrix inverse = H.inverse();
    for (int i = 0; i < 4; ++i)
      EXPECT_NEAR(found.laplace.covariance[std::size_t(i)] / inverse(i / 2, i % 2), 1, 1e-8) << int(robust);
    EXPECT_GT(std::abs(found.laplace.deviations[0] / found.deviations[0] - 1), 1e-4) << int(robust);
  }
}

TEST(Laplace, IsGaussNewtonWhereTheResidualsVanish) {
  for (const std::int64_t segment : {0, 10}) {
    Identification p = pendulum(0);
    p.segment = segment;
    p.unknowns[1].mean = 0.3, p.unknowns[1].deviation = 0.1;
    const Identified found = identify(p, {.tolerance = 1e-13, .laplace = true});
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(found.laplace.covariance[i] / found.covariance[i], 1, 1e-9) << segment;
  }
}

// Pieces are one rollout as their gaps are allowed less: the difference is of the order of gap_sigma^2, and
// extrapolated to none it vanishes.
TEST(Laplace, OfJoinedPiecesTendsToThatOfTheWhole) {
  Identification p = pendulum(kSigma);
  const Identified whole = identify(p, {.tolerance = 1e-11, .laplace = true});
  p.parameters = whole.parameters, p.segment = 15;
  std::vector<double> found[2];
  for (int j = 0; j < 2; ++j) {
    p.gap_sigma = j == 0 ? 2e-4 : 1e-4;
    found[j] = identify(p, {.tolerance = 1e-9, .laplace = true}).laplace.covariance;
  }
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR((4 * found[1][i] - found[0][i]) / (3 * whole.laplace.covariance[i]), 1, 1e-5);
}

TEST(Laplace, SaysWhereThereIsNoMinimum) {
  const std::vector<double> J = {1, 0, 0, 1}, bent = {-2, 0, 0, 0};
  EXPECT_FALSE(laplace(J.data(), 2, 2, bent.data(), {"a", "b"}, {1, 1}).minimum);
  const std::vector<double> blind = {1, 1, 1, 1}, none(4, 0.0);
  const Laplace unseen = laplace(blind.data(), 2, 2, none.data(), {"a", "b"}, {1, 1});
  EXPECT_TRUE(unseen.minimum);
  EXPECT_TRUE(std::isinf(unseen.deviations[0]) && std::isinf(unseen.deviations[1]));
}

TEST(Laplace, NeedsSecondDerivatives) {
  class FirstOrder final : public System<double> {
   public:
    FirstOrder() { fields_.state("x", 1).parameter("a", 0.9); }
    const Signature& signature() const override { return fields_; }
    void step(const StepContext&, const Inputs<double>& in, double* y, double*, Workspace&) const override {
      y[0] = in.p[0] * in.x[0];
    }

   private:
    Signature fields_;
  };
  Identification p;
  p.system = std::make_shared<FirstOrder>();
  p.parameters = Parameters<double>(p.system->signature());
  p.recordings = {{.y = {1, 0.8}, .controls = {}, .x0 = {1}}};
  p.measured = {loss::expression<double>(p.system->signature(), "x")};
  p.sigma = {1};
  p.unknowns = {{.name = "a"}};
  expect_error([&] { return identify(p, {.laplace = true}); }, "needs second derivatives",
               "leave laplace out");
}

}  // namespace
}  // namespace costate::control
