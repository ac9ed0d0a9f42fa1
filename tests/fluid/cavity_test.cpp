// The lid-driven cavity: the scheme against complex steps of an independent program, digit by digit.
#include <gtest/gtest.h>

#include "tests/fluid/flows.h"

namespace costate::fluid {
namespace {

using std::numbers::pi;
using test::sum;

FlowOptions cavity(Index n, double nu, double dt) {
  FlowOptions o{.cells = {n, n}, .width = {1.0 / double(n), 1.0 / double(n), 1}, .dt = dt, .viscosity = nu};
  o.sides[0] = o.sides[1] = o.sides[2] = wall();
  o.sides[3] = wall({1, 0, 0});
  return o;
}

struct Layout {
  Index n;
  std::size_t u(Index i, Index j) const { return std::size_t(j * (n + 1) + i); }
  std::size_t v(Index i, Index j) const { return std::size_t(n * (n + 1) + j * n + i); }
};

// From a stream function psi = A (S1 S1 + S2 S1 / 2), Sm = sin^2(m pi x).
std::vector<double> swirl(Index n, double amplitude) {
  const Layout at{n};
  const double h = 1.0 / double(n);
  const auto psi = [&](Index i, Index j) {
    const auto s = [&](int m, Index k) {
      const double x = std::sin(m * pi * double(k) * h);
      return x * x;
    };
    return amplitude * (s(1, i) * s(1, j) + s(2, i) * s(1, j) / 2);
  };
  std::vector<double> x(std::size_t(2 * n * (n + 1)));
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i <= n; ++i) x[at.u(i, j)] = (psi(i, j + 1) - psi(i, j)) / h;
  for (Index j = 0; j <= n; ++j)
    for (Index i = 0; i < n; ++i) x[at.v(i, j)] = -(psi(i + 1, j) - psi(i, j)) / h;
  return x;
}

struct Derivatives {
  double value, nu, lid, amplitude, dt, along;
};

class Cavity : public testing::Test {
 protected:
  static constexpr Index kN = 16;
  const Layout at{kN};
  std::shared_ptr<System<double>> system = flow<double>(cavity(kN, 0.01, 0.01));
  Rollout<double> rollout{system, {.steps = 50}};
  Gradient<double> g;

  void differentiate(const Objective<double>& loss) {
    auto from = rollout.arguments();
    from.x0 = swirl(kN, 0.1);
    g = rollout.value_and_gradient(from, loss);
  }
  Derivatives derivatives() const {
    const std::vector<double> unit = swirl(kN, 1);
    Derivatives d{g.value, sum(g.parameters["viscosity"]), sum(g.parameters["north/u"]),
                  0,       g.parameters["dt"][0],          0};
    for (std::size_t i = 0; i < unit.size(); ++i) d.amplitude += g.x0[i] * unit[i];
    for (Index j = 0; j < kN; ++j)
      for (Index i = 1; i < kN; ++i) d.along += g.x0[at.u(i, j)] * std::sin(double(3 * i + 5 * j));
    for (Index j = 1; j < kN; ++j)
      for (Index i = 0; i < kN; ++i) d.along += g.x0[at.v(i, j)] * std::cos(double(2 * i + 7 * j));
    return d;
  }
};

void expect_digits(double got, double wanted) { EXPECT_NEAR(got, wanted, 2e-12 * std::abs(wanted)); }

TEST_F(Cavity, EnergyAndItsDerivativesMatchComplexSteps) {
  differentiate(*test::energy<double>(system->signature(), 1.0 / (kN * kN)));
  const Derivatives d = derivatives();
  expect_digits(d.value, 2.713389533419569e-2);
  expect_digits(d.nu, -0.5234624438714825);
  expect_digits(d.lid, 0.02366701672686145);
  expect_digits(d.amplitude, 0.3036816910319404);
  expect_digits(d.dt, -0.5467229277050709);
  expect_digits(d.along, -1.443907324905421e-4);
  double square = 0;
  for (const double x : g.x0) square += x * x;
  expect_digits(std::sqrt(square), 7.905407673567960e-3);
  const auto near = [&](std::size_t i, double wanted) { EXPECT_NEAR(g.x0[i], wanted, 1e-15); };
  near(at.u(1, 0), -4.326258504116e-6);
  near(at.u(8, 8), -3.232221442976e-4);
  near(at.u(15, 15), 1.475732197245e-5);
  near(at.v(0, 1), 4.340695995193e-6);
  near(at.v(4, 8), -5.663992418344e-4);
  near(at.v(15, 15), -1.472493479642e-5);
}

TEST_F(Cavity, SpeedsInTheMiddleAndTheirDerivativesMatchComplexSteps) {
  differentiate(*loss::final_value<double>(system->signature(), "u", Index(at.u(8, 8))));
  Derivatives d = derivatives();
  expect_digits(d.value, -0.1091975881148937);
  expect_digits(d.nu, -5.374269406455983);
  expect_digits(d.lid, -0.06398980316350118);
  expect_digits(d.amplitude, -0.1260059749981486);
  expect_digits(d.dt, -2.113550661298214);
  expect_digits(d.along, 3.079315426352185e-3);
  differentiate(*loss::final_value<double>(system->signature(), "v", Index(at.v(4, 8)) - Index(at.v(0, 0))));
  d = derivatives();
  expect_digits(d.value, -0.1311728468340986);
  expect_digits(d.nu, 3.170381031563956);
  expect_digits(d.lid, 0.05277708542706228);
  expect_digits(d.amplitude, -1.738123300424532);
  expect_digits(d.dt, 4.184141253434723);
}

// The steady flow at Re 100, by Richardson's rule from 24^2 and 48^2 cells, against spectral elements.
TEST(SteadyCavity, ConvergesToTheReferenceAtReynolds100) {
  std::vector<double> middle, slope;
  for (const Index n : {24, 48}) {
    const double dt = n == 24 ? 0.02 : 0.01;
    const Index steps = std::lround(24 / dt);
    const auto system = flow<double>(cavity(n, 0.01, dt));
    Rollout<double> rollout(system, {.steps = steps, .checkpoints = binomial(60)});
    const Layout at{n};
    std::vector<double> weights(std::size_t(system->signature().states()), 0.0);
    weights[at.u(n / 2, n / 2)] = weights[at.u(n / 2, n / 2 - 1)] = 0.5;
    const auto g = rollout.value_and_gradient(
        rollout.arguments(), *loss::cotangents<double>(system->signature(), {steps}, {weights}));
    middle.push_back(g.value);
    slope.push_back(sum(g.parameters["viscosity"]));
  }
  const auto extrapolated = [](const std::vector<double>& x) { return x[1] + (x[1] - x[0]) / 3; };
  EXPECT_NEAR(extrapolated(middle), -0.209149, 2e-4);
  EXPECT_NEAR(extrapolated(slope), 1.11883, 0.03);
  EXPECT_GT(std::abs(middle[0] + 0.209149), 2 * std::abs(middle[1] + 0.209149));
}

}  // namespace
}  // namespace costate::fluid
