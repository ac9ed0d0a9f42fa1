#include "costate/control/identify/identify.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/philox.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"
#include "costate/system/rollout.h"
#include "tests/control/problems.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;

// A recording of the pendulum's angle with given noise, from known numbers.
constexpr double kLength = 1.2, kDamping = 0.3;
Measurements record(const std::shared_ptr<const System<double>>& system, double noise, std::uint64_t seed) {
  Rollout<double> rollout(system, {.steps = 120, .keep = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = {1, 0};
  for (std::size_t k = 0; k < 120; ++k) at.controls[k] = std::sin(0.1 * double(k));
  const auto states = rollout.simulate(at).states;
  Measurements r{.y = {}, .controls = at.controls, .x0 = at.x0};
  for (std::uint32_t k = 0; k <= 120; ++k)
    r.y.push_back(states[2 * k] + noise * normal<double>(seed, 0, k, 0));
  return r;
}
Identification pendulum(double noise, std::uint64_t seed = 1) {
  Identification p;
  p.system = test::damped_pendulum();
  p.parameters = Parameters<double>(p.system->signature());
  p.recordings = {record(p.system, noise, seed)};
  p.parameters.set("length", 1.0).set("damping", 0.1);
  p.measured = {loss::expression<double>(p.system->signature(), "angle")};
  p.sigma = {noise > 0 ? noise : 0.01};
  p.unknowns = {{.name = "length", .lower = 0.1, .upper = 10}, {.name = "damping", .lower = 0, .upper = 10}};
  return p;
}

TEST(Identify, FindsTheNumbersOfACleanRecording) {
  for (const std::int64_t segment : {0, 20, 33}) {
    Identification p = pendulum(0);
    p.segment = segment;
    p.recordings[0].x0_free = true;
    p.recordings[0].x0 = {0.9, 0.1};
    const Identified found = identify(p);
    EXPECT_TRUE(found.converged) << found.reason;
    EXPECT_NEAR(found.parameters["length"][0], kLength, 1e-8) << segment;
    EXPECT_NEAR(found.parameters["damping"][0], kDamping, 1e-8) << segment;
    EXPECT_NEAR(found.x0[0][0], 1, 1e-8);
    EXPECT_TRUE(found.unseen.empty());
  }
}

// Over many noisy recordings the errors have the standard deviations that each of them says.
TEST(Identify, StandardDeviationsAreRight) {
  double square[2] = {0, 0}, rms = 0;
  const int runs = 40;
  for (int i = 0; i < runs; ++i) {
    const Identified found = identify(pendulum(0.02, std::uint64_t(i + 1)));
    square[0] += std::pow((found.values[0] - kLength) / found.deviations[0], 2) / runs;
    square[1] += std::pow((found.values[1] - kDamping) / found.deviations[1], 2) / runs;
    rms += found.residual_rms / runs;
  }
  // A mean of 40 squares of standard normal numbers: 1 with a standard deviation of 0.22.
  EXPECT_NEAR(square[0], 1, 0.7);
  EXPECT_NEAR(square[1], 1, 0.7);
  EXPECT_NEAR(rms, 1, 0.05);
}

// The start is far off: one long rollout ends in another minimum, short pieces find the truth.
TEST(Identify, ShortPiecesFindWhatOneRolloutMisses) {
  Identification p = pendulum(0.01);
  p.parameters.set("length", 3.5).set("damping", 0.0);
  const double whole = identify(p).value;
  p.segment = 10, p.gap_sigma = 0.1;
  const Identified pieces = identify(p);
  EXPECT_NEAR(pieces.values[0], kLength, 0.05);
  p.parameters = pieces.parameters, p.segment = 0;
  const Identified both = identify(p);
  EXPECT_NEAR(both.values[0], kLength, 0.01);
  EXPECT_LE(both.value, whole * (1 + 1e-9));
}

TEST(Identify, RobustLossesLeaveOutliersAlone) {
  Identification p = pendulum(0.01);
  for (std::size_t k = 5; k < 120; k += 10) p.recordings[0].y[k] += 1.5;
  const double plain = std::fabs(identify(p).values[0] - kLength);
  for (const Robust robust : {Robust::huber, Robust::cauchy}) {
    p.robust = robust;
    EXPECT_LT(std::fabs(identify(p).values[0] - kLength), 0.3 * plain) << int(robust);
  }
}

TEST(Identify, APriorHoldsWhatTheDataLeaveOpen) {
  Identification p = pendulum(0.02);
  p.unknowns[1].mean = 0.5, p.unknowns[1].deviation = 1e-6;
  const Identified held = identify(p);
  EXPECT_NEAR(held.values[1], 0.5, 1e-3);
  EXPECT_LT(held.deviations[1], 1.1e-6);
}

// Only the quotient of gravity and length is seen.
TEST(Identify, SaysWhatTheDataCannotSee) {
  Signature fields;
  fields.state("angle").state("rate").parameter("gravity", 9.81).parameter("length", 1.2);
  Identification p;
  p.system =
      equations_system<double>(fields, "angle_dot = rate; rate_dot = -gravity/length*sin(angle)", rk4(0.05));
  p.parameters = Parameters<double>(p.system->signature());
  p.measured = {loss::expression<double>(p.system->signature(), "angle")};
  p.sigma = {0.01};
  Rollout<double> rollout(p.system, {.steps = 60, .keep = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = {1, 0};
  const auto states = rollout.simulate(at).states;
  Measurements r{.y = {}, .controls = {}, .x0 = {1, 0}};
  for (std::size_t k = 0; k <= 60; ++k) r.y.push_back(states[2 * k]);
  p.recordings = {r};
  p.unknowns = {{.name = "gravity"}, {.name = "length"}};
  const Identified found = identify(p);
  ASSERT_EQ(found.unseen.size(), 1u);
  EXPECT_EQ(found.unseen[0], "the data cannot tell gravity from length");
  EXPECT_TRUE(std::isinf(found.deviations[0]) && std::isinf(found.deviations[1]));
}

TEST(Identify, RefusesWhatDoesNotFit) {
  Identification p = pendulum(0.01);
  p.sigma = {};
  expect_error([&] { return identify(p); }, "sigma has 0 numbers instead of 1");
  p = pendulum(0.01);
  p.unknowns[0].name = "lenght";
  expect_error([&] { return identify(p); }, "lenght");
  p = pendulum(0.01);
  p.recordings[0].x0 = {1};
  expect_error([&] { return identify(p); }, "recording 0: x0 has 1 numbers instead of 2");
  p = pendulum(0.01);
  p.measured.push_back(p.measured[0]), p.sigma.push_back(1);
  p.recordings[0].y.push_back(0);
  p.recordings[0].y[3] = INFINITY;
  expect_error([&] { return identify(p); }, "recording 0: a measurement is infinite", "write NaN");
  p = pendulum(0.01);
  p.unknowns[0].index = 1;
  expect_error([&] { return identify(p); }, "'length' has 1 numbers, counted from 0");
}

}  // namespace
}  // namespace costate::control
