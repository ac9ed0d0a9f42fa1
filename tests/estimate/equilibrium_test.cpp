#include <cmath>

#include "costate/core/philox.h"
#include "costate/estimate/samples.h"
#include "costate/md/model.h"
#include "costate/md/observable/thermodynamics.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"

namespace costate::estimate {
namespace {

using costate::test::expect_error;

struct Well {
  std::shared_ptr<System<double>> system;
  Arguments<double> at;
  explicit Well(double b, const std::string& integrator = "BAOAB") {
    system = md::make_system<double>({.dimensions = 1,
                                      .masses = {1},
                                      .potentials = {{.kind = "double_well", .parameters = {{"b", {b}}}}},
                                      .integrator = integrator,
                                      .dt = 0.05,
                                      .kT = 0.5,
                                      .friction = 1});
    at = Rollout<double>(system, {.steps = 1}).arguments();
    at.x0.assign(at.x0.size(), 0.0);
    at.x0[0] = -0.5;
  }
};

void expect_truth(double estimate, double error, double truth, const char* what) {
  EXPECT_NEAR(estimate, truth, 4 * error) << what;
  EXPECT_LT(error, std::abs(truth) / 8) << what;
}

TEST(Reinforce, HasTheDerivativesOfEquilibriumAverages) {
  struct Truth {
    double b;
    const char* of;
    double value, slope;
  };
  for (const Truth& t : {Truth{0, "x", 0, -1.7042723043566637},
                         {0, "0.5 + 0.5*sign(x)", 0.5, -.8680900885825935},
                         {0.5, "x", -.69873558162, -.92661389973},
                         {0.5, "0.5 + 0.5*sign(x)", .15058411995, -.43947519633}}) {
    const Well well(t.b);
    const auto loss = loss::expression<double>(well.system->signature(), t.of);
    const auto g = gradient<double>(
        well.system, {.steps = 1200, .seed = 1}, well.at, *loss,
        {.method = Method::reinforce, .samples = 1 << 13, .parameters = {"double_well/b"}, .every = 100});
    EXPECT_NEAR(g.value, t.value, 4 * g.value_error) << t.of;
    expect_truth(g.gradient[0], g.standard_error[0], t.slope, t.of);
    EXPECT_NE(g.label.find("equilibrium"), std::string::npos);
  }
}

// Losses of energies store packs of derivatives, which must begin where a pack may: <U> = kT / 2 per harmonic
// coordinate, whatever its stiffness.
TEST(Reinforce, OfAnEnergyIsEquipartition) {
  const md::Model model{.dimensions = 3,
                        .masses = {1, 2},
                        .potentials = {{.kind = "harmonic", .parameters = {{"k", {1.5}}}}},
                        .dt = 0.1,
                        .kT = 0.7};
  const auto system = md::make_system<double>(model);
  const auto at = Rollout<double>(system, {.steps = 1}).arguments();
  const auto energy = md::observe<double>(model, md::Observe{});
  const auto g = gradient<double>(
      system, {.steps = 400, .seed = 1}, at, *energy,
      {.method = Method::reinforce, .samples = 1 << 12, .parameters = {"kT", "harmonic/k"}, .every = 20});
  EXPECT_NEAR(g.value, 3 * 0.7, 4 * g.value_error);
  ASSERT_EQ(g.names.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(g.gradient[i], g.names[i] == "kT" ? 3 : 0, 4 * g.standard_error[i]) << g.names[i];
  EXPECT_LT(g.standard_error[0], 0.3);
  EXPECT_LT(g.standard_error[1], 0.1);
}

// One long run instead of many: correlated samples, so the error is blocked.
TEST(Reinforce, BlocksTheErrorOfOneLongRun) {
  const Well well(0);
  const auto square = loss::final<double>(well.system->signature(), "x", {}, 2);
  const auto g = gradient<double>(
      well.system, {.steps = 400'000, .seed = 1}, well.at, *square,
      {.method = Method::reinforce, .samples = 2, .parameters = {"double_well/a"}, .every = 4});
  EXPECT_NEAR(g.value, .8521361521783303, 4 * g.value_error);
  EXPECT_NEAR(g.gradient[0], .07593218456890441, 4 * g.standard_error[0]);
  EXPECT_GT(g.correlation_time, 1);
}

TEST(Reinforce, RefusesWhatItDoesNotApplyTo) {
  const Well well(0), verlet(0, "verlet");
  const auto path = loss::track<double>(well.system->signature(), "x", {10, 20}, {0, 0});
  const auto end = loss::final<double>(well.system->signature(), "x", {});
  const auto ask = [&](const Well& of, const auto& loss, const char* parameter) {
    return [&, parameter] {
      return gradient<double>(of.system, {.steps = 20}, of.at, *loss,
                              {.method = Method::reinforce, .samples = 16, .parameters = {parameter}});
    };
  };
  expect_error(ask(well, path, "double_well/a"), "it depends on the path", "use girsanov");
  expect_error(ask(well, end, "friction"), "the equilibrium of positions does not depend on it",
               "leave it out");
  expect_error(ask(verlet, end, "double_well/a"), "has no temperature", "use pathwise");
}

TEST(Reweighting, HasTheDerivativeAtOtherParameters) {
  const Well well(0.5);
  const auto x = loss::final_value<double>(well.system->signature(), "x");
  Sampling sampling{.method = Method::reweighting,
                    .samples = 1 << 14,
                    .parameters = {"double_well/b"},
                    .reference = {{"double_well/b", {0.4}}}};
  const auto g = gradient<double>(well.system, {.steps = 1200, .seed = 4}, well.at, *x, sampling);
  EXPECT_NEAR(g.value, -.69873558162, 4 * g.value_error);
  expect_truth(g.gradient[0], g.standard_error[0], -.92661389973, "d<x>/db");
  EXPECT_LT(g.effective_samples, double(g.samples));
  EXPECT_GT(g.effective_samples, 0.5 * double(g.samples));
  sampling.samples = 512;
  sampling.reference = {{"double_well/b", {-0.5}}};
  sampling.least_effective_share = 0.5;
  expect_error([&] { return gradient<double>(well.system, {.steps = 400}, well.at, *x, sampling); },
               "samples count: the reference is too far", "draw samples nearer");
}

// x' = r x + xi has the correlation time (1 + r) / (2 (1 - r)).
TEST(BlockedError, KnowsTheCorrelationTime) {
  std::vector<double> series(1 << 16);
  double x = 0;
  for (std::size_t i = 0; i < series.size(); ++i) series[i] = x = 0.9 * x + normal<double>(1, 0, i);
  const Blocked b = blocked_error(series);
  EXPECT_NEAR(b.correlation_time, 0.5 * 1.9 / 0.1, 3);
  EXPECT_NEAR(b.error, 10 / std::sqrt(double(series.size())), 0.2 * 10 / std::sqrt(double(series.size())));
}

}  // namespace
}  // namespace costate::estimate
