#include "costate/control/filter/twin.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>

#include "costate/control/filter/estimation.h"
#include "costate/core/philox.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"
#include "costate/system/rollout.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;

constexpr double kDt = 0.02;

// A driven pendulum whose length and damping are known roughly.
TwinProblem pendulum() {
  Signature fields;
  fields.state("angle").state("rate").control("torque").parameter("length", 1.0).parameter("damping", 0.3);
  TwinProblem p;
  p.system = equations_system<double>(
      fields, "angle_dot = rate; rate_dot = torque - 9.81/length*sin(angle) - damping*rate", rk4(kDt));
  p.parameters = Parameters<double>(p.system->signature());
  p.measured = {loss::expression<double>(p.system->signature(), "angle")};
  p.measurement_noise = {0.01 * 0.01};
  p.process_noise = {1e-8, 0, 0, 1e-5};
  p.x0 = {0.5, 0}, p.P0 = {0.01, 0, 0, 0.01};
  p.tuned = {{.name = "length", .deviation = 0.05, .lower = 0.2, .upper = 5},
             {.name = "damping", .deviation = 0.05}};
  return p;
}

double torque(std::int64_t k) { return 2 * std::sin(0.05 * double(k)) + std::sin(0.13 * double(k)); }

// One truth, drawn from what the twin believes at first: its states step by step.
class Truth {
 public:
  Truth(const TwinProblem& p, std::uint32_t seed)
      : seed_(seed), plant_parameters_(p.parameters), system_(p.system), noise_(p.process_noise) {
    for (std::size_t i = 0; i < 2; ++i) x[i] = p.x0[i] + std::sqrt(p.P0[3 * i]) * draw();
    for (const Tuned& t : p.tuned) {
      theta.push_back(p.parameters[t.name][0] + t.deviation * draw());
      plant_parameters_.set(t.name, theta.back());
    }
  }
  double draw() { return normal<double>(seed_, 0, count_++, 0); }
  void step(double u) {
    const Plant plant(system_, plant_parameters_, StateSpace());
    auto block = plant.take();
    double y[2];
    plant.step(0, x, &u, y, *block);
    for (std::size_t i = 0; i < 2; ++i) x[i] = y[i] + std::sqrt(noise_[3 * i]) * draw();
  }
  double angle() { return x[0] + 0.01 * draw(); }
  void change(const std::string& name, double value) { plant_parameters_.set(name, value); }

  double x[2];
  std::vector<double> theta;

 private:
  std::uint32_t seed_;
  std::uint64_t count_ = 0;
  Parameters<double> plant_parameters_;
  std::shared_ptr<const System<double>> system_;
  std::vector<double> noise_;
};

// e'P^-1 e per number, of state and parameters.
double nees(const Twin& twin, const Truth& truth) {
  Eigen::Vector4d e(twin.x()[0] - truth.x[0], twin.x()[1] - truth.x[1], twin.values()[0] - truth.theta[0],
                    twin.values()[1] - truth.theta[1]);
  const std::vector<double> P = twin.covariance();
  return e.dot(Eigen::Map<const Eigen::Matrix4d>(P.data()).ldlt().solve(e)) / 4;
}

double mean_nees(std::int64_t window, int iterations) {
  double sum = 0;
  for (std::uint32_t run = 0; run < 100; ++run) {
    TwinProblem p = pendulum();
    p.window = window, p.iterations = iterations;
    Truth truth(p, 100 + run);
    Twin twin(p);
    twin.measure({truth.angle()});
    for (std::int64_t k = 0; k < 150; ++k) {
      truth.step(torque(k));
      twin.step({torque(k)}, {truth.angle()});
      if (k % 50 == 49) sum += nees(twin, truth) / 300;
    }
  }
  return sum;
}

TEST(Twin, ItsErrorBarsAreRight) {
  const double filter = mean_nees(0, 1), window = mean_nees(5, 2);
  EXPECT_GT(filter, 0.8);
  EXPECT_LT(filter, 1.2);
  EXPECT_GT(window, 0.8);
  EXPECT_LT(window, 1.2);
}

TEST(Twin, WithNothingToTuneItIsTheExtendedFilter) {
  TwinProblem p = pendulum();
  p.tuned.clear();
  Truth truth(p, 7);
  std::vector<double> y = {truth.angle()}, u;
  Twin twin(p);
  twin.measure({y[0]});
  for (std::int64_t k = 0; k < 40; ++k) {
    u.push_back(torque(k)), truth.step(u.back()), y.push_back(truth.angle());
    twin.step({u.back()}, {y.back()});
  }
  Estimation e;
  e.system = p.system, e.parameters = p.parameters, e.measured = p.measured;
  e.process_noise = p.process_noise, e.measurement_noise = p.measurement_noise, e.x0 = p.x0, e.P0 = p.P0;
  e.controls = u;
  const Estimate found = filter(e, y);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(twin.x()[i], found.x[80 + i], 1e-12);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(twin.covariance()[i], found.P[160 + i], 1e-14);
}

// Of a linear system, filter and window are the same estimate.
TEST(Twin, AWindowChangesNothingWhereTheSystemIsLinear) {
  Signature fields;
  fields.state("x").state("v").control("force").parameter("bias", 0.0);
  TwinProblem p;
  p.system = equations_system<double>(fields, "x_dot = v; v_dot = force + bias - 0.2*v - x", rk4(0.1));
  p.parameters = Parameters<double>(p.system->signature());
  p.measured = {loss::expression<double>(p.system->signature(), "x")};
  p.measurement_noise = {0.04}, p.process_noise = {1e-3, 0, 0, 1e-2};
  p.x0 = {0, 0}, p.P0 = {1, 0, 0, 1};
  p.tuned = {{.name = "bias", .deviation = 0.5, .drift = 0.01}};
  Twin filter(p);
  p.window = 8, p.iterations = 2;
  Twin window(p);
  for (Twin* twin : {&filter, &window}) {
    twin->measure({0.3});
    for (int k = 0; k < 30; ++k) twin->step({std::sin(0.3 * k)}, {std::cos(0.2 * k)});
  }
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(filter.x()[i], window.x()[i], 1e-9);
  EXPECT_NEAR(filter.values()[0], window.values()[0], 1e-9);
  EXPECT_NEAR(filter.deviations()[0], window.deviations()[0], 1e-9);
}

// A cart of 1 kg is loaded with another half on the way.
TEST(Twin, FollowsAChangeOfMassWithinThreeSeconds) {
  Signature fields;
  fields.state("x").state("v").control("force").parameter("mass", 1.0);
  TwinProblem p;
  p.system = equations_system<double>(fields, "x_dot = v; v_dot = (force - 0.5*v)/mass", rk4(kDt));
  p.parameters = Parameters<double>(p.system->signature());
  p.measured = {loss::expression<double>(p.system->signature(), "x")};
  p.measurement_noise = {1e-6}, p.process_noise = {1e-10, 0, 0, 1e-8};
  p.x0 = {0, 0}, p.P0 = {1e-4, 0, 0, 1e-4};
  p.tuned = {{.name = "mass", .deviation = 0.2, .drift = 0.02, .lower = 0.1, .upper = 10}};
  Truth truth(p, 3);
  truth.change("mass", 1.0);
  Twin twin(p);
  const auto run = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      const double force = 3 * std::sin(0.1 * double(k)) + 2 * std::sin(0.31 * double(k));
      truth.step(force);
      twin.step({force}, {truth.x[0] + 1e-3 * truth.draw()});
    }
  };
  run(0, 200);
  EXPECT_NEAR(twin.values()[0], 1.0, 4 * twin.deviations()[0]);
  EXPECT_LT(twin.deviations()[0], 0.1);
  truth.change("mass", 1.5);
  run(200, 350);  // 3 s
  EXPECT_NEAR(twin.values()[0], 1.5, 4 * twin.deviations()[0]);
  EXPECT_NEAR(twin.values()[0], 1.5, 0.1);
  EXPECT_EQ(twin.parameters()["mass"][0], twin.values()[0]);
}

TEST(Twin, WhatWasNotMeasuredWidensTheErrorBars) {
  TwinProblem p = pendulum();
  Twin seen(p), blind(p);
  seen.measure({0.5}), blind.measure({NAN});
  for (int k = 0; k < 20; ++k) seen.step({0}, {0.5}), blind.step({0}, {});
  EXPECT_LT(seen.covariance()[0], 0.1 * blind.covariance()[0]);
  EXPECT_EQ(blind.values()[0], 1.0);
}

TEST(Twin, MistakesAreTold) {
  TwinProblem p = pendulum();
  p.tuned[0].deviation = 0;
  expect_error([&] { return Twin(p).steps(); }, "the deviation of length is not positive", "how far off");
  p = pendulum();
  p.tuned[0].name = "lenght";
  expect_error([&] { return Twin(p).steps(); }, "lenght");
  p = pendulum();
  p.P0 = {1};
  expect_error([&] { return Twin(p).steps(); }, "P0 has 1 numbers instead of 4");
  Twin twin(pendulum());
  expect_error([&] { return twin.measure({INFINITY}), 0; }, "a measurement is infinite", "write NaN");
  expect_error([&] { return twin.step({0, 0}, {}), 0; }, "the control has 2 numbers instead of 1");
}

}  // namespace
}  // namespace costate::control
