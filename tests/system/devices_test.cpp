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
  register_devices({"toy", [](int) { return cpu_backend<float>(); },
                    [&](int index) {
                      asked = index;
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
  for (const char* wrong : {"toy:", "toy:x", "toy:-1", "toy:1x"})
    expect_error([&] { return backend_of<double>(wrong); }, "a toy device is written \"toy:0\"");
  expect_error([&] { return backend_of<double>("toys"); }, "there is no such device");
}

}  // namespace
}  // namespace costate
