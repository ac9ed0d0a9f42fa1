#include "costate/system/devices.h"

#include <gtest/gtest.h>

#include "costate/ode/lanes/fixed_step_systems.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using test::expect_error;

TEST(Devices, TheCpuIsAlwaysThere) {
  EXPECT_EQ(devices()[0].device, "cpu");
  EXPECT_EQ(backend_of<double>("cpu"), cpu_backend<double>());
}

TEST(Devices, AnUnknownOneIsAnErrorThatNamesThoseThereAre) {
  const auto system = ode::lorenz<double>();
  expect_error([&] { return Rollout<double>(system, {.device = "gpu"}); },
               "device = \"gpu\": there is no such device", "use \"cpu\"");
}

// A kind that is registered is found by its name and index.
TEST(Devices, ARegisteredKindIsFound) {
  int asked = -1;
  register_devices({"toy", [](const DeviceChoice&) { return cpu_backend<float>(); },
                    [&](const DeviceChoice& choice) {
                      asked = choice.indices.at(0);
                      return cpu_backend<double>();
                    },
                    [] {
                      return std::vector<DeviceInfo>{{"toy:0", "a toy", 1, 1}};
                    }});
  const auto system = ode::lorenz<double>();
  Rollout<double> rollout(system, {.device = "toy:2"});
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(backend_of<double>("toy"), cpu_backend<double>());
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(devices().back().device, "toy:0");
  for (const char* wrong : {"toy:", "toy:x", "toy:-1", "toy:1x", "toy:0,1", "toy:all", "toy:0+host"})
    expect_error([&] { return backend_of<double>(wrong); }, "a toy device is written \"toy:0\"");
  for (const char* other : {"toys", "toy+host"})
    expect_error([&] { return backend_of<double>(other); }, "there is no such device");
}

TEST(Devices, SeveralOfAKindAndTheirSnapshotsAreChosenByName) {
  DeviceChoice chosen;
  int there = 3;
  register_devices({"gang", [](const DeviceChoice&) { return cpu_backend<float>(); },
                    [&](const DeviceChoice& choice) {
                      chosen = choice;
                      return cpu_backend<double>();
                    },
                    [&] {
                      return std::vector<DeviceInfo>(std::size_t(there), {"gang:0", "one", 1, 1});
                    },
                    "", true});
  const auto expect = [&](const char* name, const std::vector<int>& indices, bool on_host) {
    backend_of<double>(name);
    EXPECT_EQ(chosen.indices, indices) << name;
    EXPECT_EQ(chosen.snapshots_on_host, on_host) << name;
  };
  expect("gang", {0}, false);
  expect("gang:2,0", {2, 0}, false);
  expect("gang:all", {0, 1, 2}, false);
  expect("gang+host", {0}, true);
  expect("gang:1+host", {1}, true);
  expect("gang:all+host", {0, 1, 2}, true);
  for (const char* wrong :
       {"gang:", "gang:0,", "gang:,1", "gang:0;1", "gang:all,1", "gang:0+disk", "gang:+host"})
    expect_error([&] { return backend_of<double>(wrong); }, "several \"gang:0,1\" or \"gang:all\"");
  there = 0;
  expect_error([&] { return backend_of<double>("gang:all"); }, "there is no gang device on this machine");
}

}  // namespace
}  // namespace costate
