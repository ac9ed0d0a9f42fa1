// Grids on a device against the CPU: the host in the role of a GPU always, a GPU where there is one.
#include <gtest/gtest.h>

#include "costate/grid/burgers.h"
#include "costate/grid/gray_scott.h"
#include "costate/grid/heat.h"
#include "costate/grid/shallow_water.h"
#include "costate/grid/wave.h"
#include "tests/cuda/device_cases.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using grid::HeatSide;
using test::difference;

class DeviceGrid : public test::OnDevice {
 protected:
  // Value, gradient with respect to everything and report of both, from the same inputs.
  template <class Real>
  void expect_same(const test::SystemPtr<Real>& system, RolloutOptions options, double scale) {
    Rollout<Real> cpu(system, options);
    options.device = GetParam();
    Rollout<Real> device(system, options);
    Arguments<Real> at = cpu.arguments();
    at.x0.resize(at.x0.size() * std::size_t(options.worlds));
    std::mt19937_64 random(7);
    const auto draw = [&](double size) {
      return Real(size * (1 + 0.5 * std::uniform_real_distribution<double>(-1, 1)(random)));
    };
    for (Real& x : at.x0) x = draw(scale);
    for (Real& u : at.controls) u = draw(1);
    std::vector<ObjectivePtr<Real>> terms;
    for (const Field& f : system->signature().fields(Role::state)) {
      terms.push_back(loss::final<Real>(system->signature(), f.name, {}));
      terms.push_back(
          loss::track<Real>(system->signature(), f.name, {3}, std::vector<Real>(std::size_t(f.size))));
    }
    const auto objective = loss::sum<Real>(terms);
    const Gradient<Real> a = device.value_and_gradient(at, *objective),
                         b = cpu.value_and_gradient(at, *objective);
    EXPECT_LT(difference(a, b), sizeof(Real) == 8 ? 1e-11 : 1e-4);
    EXPECT_EQ(a.report.energy_drift.has_value(), b.report.energy_drift.has_value());
    EXPECT_LT(difference(device.values(at, *objective), b.values), sizeof(Real) == 8 ? 1e-11 : 1e-5);
    EXPECT_TRUE(test::same_bits(device.value_and_gradient(at, *objective), a));
  }
  // Two sources in one cell, one elsewhere.
  const std::vector<std::int64_t> cells_ = {17, 40, 17};
};

template <class Real>
std::shared_ptr<System<Real>> heat(const HeatSide& west, const HeatSide& east, const HeatSide& south,
                                   const HeatSide& north) {
  grid::HeatOptions o;
  o.nx = 13, o.ny = 9, o.dx = 0.1, o.dt = 1e-3, o.capacity = 1.3;
  o.west = west, o.east = east, o.south = south, o.north = north;
  o.heaters = {17, 40, 17};
  return grid::heat<Real>(o);
}

TEST_P(DeviceGrid, HeatWithEveryKindOfSide) {
  const HeatSide warm{HeatSide::Kind::temperature, 2.0}, flux{HeatSide::Kind::gradient, 0.7},
      around{HeatSide::Kind::periodic, 0};
  const RolloutOptions options{.steps = 15, .hold = 4};
  expect_same<double>(heat<double>(warm, flux, flux, warm), options, 1);
  expect_same<double>(heat<double>(around, around, warm, flux), options, 1);
  expect_same<double>(heat<double>(warm, warm, around, around), options, 1);
  expect_same<float>(heat<float>(warm, flux, flux, warm), options, 1);
}

TEST_P(DeviceGrid, WaveWithEverySchedule) {
  grid::WaveOptions o;
  o.nx = 12, o.ny = 10, o.dx = 0.1, o.dt = 0.02, o.damping = 0.3;
  o.sources = cells_;
  for (const Checkpoints& schedule : {store_all(), segments(4), binomial(3), reversible(), truncated(5)}) {
    SCOPED_TRACE(schedule.name());
    const RolloutOptions options{.steps = 16, .worlds = 2, .checkpoints = schedule, .hold = 3};
    expect_same<double>(grid::wave<double>(o), options, 0.1);
    expect_same<float>(grid::wave<float>(o), options, 0.1);
  }
}

TEST_P(DeviceGrid, TheOtherGrids) {
  const RolloutOptions options{.steps = 12};
  grid::GrayScottOptions gray_scott;
  gray_scott.nx = 12, gray_scott.ny = 11;
  expect_same<double>(grid::gray_scott<double>(gray_scott), options, 0.5);
  grid::ShallowWaterOptions water;
  water.nx = 14, water.ny = 8;
  expect_same<double>(grid::shallow_water<double>(water), options, 0.01);
  grid::BurgersOptions burgers;
  burgers.nx = 32;
  expect_same<double>(grid::burgers<double>(burgers), options, 0.1);
}

TEST_P(DeviceGrid, AStepThatIsTooLongIsRefused) {
  grid::WaveOptions o;
  o.nx = 8, o.ny = 8, o.dx = 0.1, o.dt = 0.02;
  const auto system = grid::wave<double>(o);
  Rollout<double> rollout(system, {.steps = 2, .device = GetParam()});
  Arguments<double> at = rollout.arguments();
  at.parameters.set("dt", 1.0);
  test::expect_error([&] { return rollout.simulate(at); }, "Courant number");
}

INSTANTIATE_TEST_SUITE_P(On, DeviceGrid, testing::Values("host:0", "cuda:0"),
                         [](const auto& test) { return test.param.substr(0, test.param.find(':')); });

}  // namespace
}  // namespace costate
