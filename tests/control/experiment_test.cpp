#include "costate/control/identify/experiment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"
#include "costate/system/rollout.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;

// x = start + rate t + bend t^2/2: the deviations of a fit of a line, or a parabola, are in every textbook.
Identification parabola(const std::vector<const char*>& unknown) {
  Signature fields;
  fields.state("x").state("v").control("push").parameter("rate", 2.0).parameter("bend", 0.5);
  Identification p;
  p.system = equations_system<double>(fields, "x_dot = v + rate; v_dot = bend*(1 + push)", rk4(0.1));
  p.parameters = Parameters<double>(p.system->signature());
  p.measured = {loss::expression<double>(p.system->signature(), "x")};
  p.sigma = {0.2};
  for (const char* name : unknown) p.unknowns.push_back({.name = name});
  return p;
}
Measurements planned(int steps, double push) {
  return {.y = std::vector<double>(std::size_t(steps) + 1, 0.0), .controls = {push}, .x0 = {0, 0}};
}

TEST(Experiment, DeviationsAreThoseOfALineFit) {
  Identification p = parabola({"rate"});
  p.recordings = {planned(10, 0)};
  p.recordings[0].y[4] = NAN;  // will not be measured
  double sum = 0;
  for (int k = 0; k <= 10; ++k) sum += k == 4 ? 0 : 0.01 * k * k;
  const Foretold f = foretell(p);
  ASSERT_EQ(f.names, std::vector<std::string>{"rate"});
  EXPECT_NEAR(f.deviations[0], 0.2 / std::sqrt(sum), 1e-12);
  EXPECT_NEAR(f.mean, 0.04 / sum / 4, 1e-12) << "the scale of rate is 2";
  EXPECT_NEAR(f.volume, std::log(0.04 / sum / 4), 1e-11);
}

TEST(Experiment, WhatIsForetoldIsWhatAFitThenHas) {
  Identification p = parabola({"rate", "bend"});
  p.recordings = {planned(30, 0)};
  const Foretold before = foretell(p);
  Rollout<double> rollout(std::const_pointer_cast<System<double>>(p.system), {.steps = 30, .keep = 1});
  auto at = rollout.arguments();
  at.x0 = {0, 0};
  const auto states = rollout.simulate(at).states;
  for (std::size_t k = 0; k <= 30; ++k) p.recordings[0].y[k] = states[2 * k];
  const Identified after = identify(p);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(before.deviations[i], after.deviations[i], 1e-8);
  const double det =
      before.covariance[0] * before.covariance[3] - before.covariance[1] * before.covariance[2];
  EXPECT_NEAR(before.volume, std::log(det / (2 * 2 * 0.5 * 0.5)), 1e-10);
}

TEST(Experiment, ChoosesWhatTellsMost) {
  const Identification p = parabola({"rate", "bend"});
  // Harder pushes tell more. Beside the hardest, one without a bend tells more than a weak one: with sums A
  // of t^2, B of t^3 and C of t^4 the determinants are 8 A C - 4 B^2 and 8.5 A C - 6.25 B^2, and B^2 is
  // nearly A C.
  const std::vector<Measurements> candidates = {planned(20, -1), planned(10, 0), planned(20, 0),
                                                planned(20, 3)};
  EXPECT_EQ(choose_experiments(p, candidates, 2), (std::vector<std::size_t>{3, 0}));
  EXPECT_EQ(choose_experiments(p, candidates, 1, Criterion::mean), std::vector<std::size_t>{3});
  Identification one = p;
  one.recordings = {candidates[0]};
  const Foretold blind = foretell(one);
  EXPECT_FALSE(blind.unseen.empty());
  EXPECT_TRUE(std::isinf(blind.volume) && std::isinf(blind.mean));
  expect_error([&] { return choose_experiments(p, candidates, 5); }, "to choose 5 of 4 experiments");
}

}  // namespace
}  // namespace costate::control
