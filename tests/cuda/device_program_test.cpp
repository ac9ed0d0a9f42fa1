// Equations on a GPU: their source compiles wherever NVRTC is, and agrees with the CPU where there is a GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "costate/cuda/nvrtc.h"
#include "costate/cuda/program_source.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/ode/lanes/problems/lorenz.h"
#include "costate/system/program/program_system.h"
#include "tests/cuda/device_cases.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"

namespace costate {
namespace {

Signature lorenz_fields() {
  Signature s;
  ode::Lorenz::describe(s);
  return s;
}
constexpr const char* kLorenz = "x_dot = sigma*(y - x); y_dot = x*(rho - z) - y; z_dot = x*y - beta*z";

// Something of every operation, with a control and the time.
Signature mixed_fields() {
  Signature s;
  for (const char* name : {"a0", "a1", "a2", "v0", "v1", "v2"}) s.state(name);
  s.control("torque").control("wind").parameter("a", 1.3).parameter("b", 0.4);
  return s;
}
constexpr const char* kMixed =
    "a0_dot = v0; a1_dot = v1; a2_dot = v2; v0_dot = -a*sin(a0) + torque; "
    "v1_dot = tanh(a1)*exp(-b*v1^2) + wind*cos(t) + abs(a0); "
    "v2_dot = min(a2, v0) - log(2 + a1^2)*sqrt(1 + a^2)/(1 + max(b, a0)^2) + atan2(v2, 2 + a2^2) + "
    "sign(a1)*floor(a2)^2 + pow(1 + a0^2, b)";

TEST(ProgramSource, CompilesForEveryArchitecture) {
  if (!cuda::has_nvrtc()) GTEST_SKIP() << "there is no NVRTC";
  const test::AllowFloatExceptions compiler_is_not_ours;
  setenv("COSTATE_CACHE", "", 1);  // none
  const auto system = equations_system<double>(mixed_fields(), kMixed, euler(0.01));
  const Signature& s = system->signature();
  const ad::Program& step = static_cast<const ProgramSystem<double>&>(*system).program();
  Activity activity{std::vector<bool>(s.fields(Role::parameter).size(), true)};
  EXPECT_GT(cuda::compile(cuda::program_source(s, step, activity, false), 9, 0).size(), 1000u);
  activity.parameters[0] = false;
  EXPECT_GT(cuda::compile(cuda::program_source(s, step, activity, true), 7, 5).size(), 1000u);
  test::expect_error([] { return cuda::compile("this is not CUDA", 9, 0); }, "NVRTC cannot compile");
  unsetenv("COSTATE_CACHE");
}

class DevicePrograms : public testing::Test {
 protected:
  void SetUp() override {
    traps_.emplace();
    if (!test::has_device("cuda:0")) GTEST_SKIP() << "there is no GPU";
  }
  std::optional<test::AllowFloatExceptions> traps_;

  template <class Real>
  void expect_same(const Signature& fields, const char* text, const Scheme& scheme, double tolerance) {
    RolloutOptions options{.steps = 101, .worlds = 333, .hold = 3};
    const auto system = equations_system<Real>(fields, text, scheme, options.worlds);
    Rollout<Real> cpu(system, options);
    options.device = "cuda:0";
    Rollout<Real> device(system, options);
    const auto at = test::draw(cpu);
    std::vector<ObjectivePtr<Real>> terms;
    for (const Field& f : system->signature().fields(Role::state))
      terms.push_back(loss::final<Real>(system->signature(), f.name, {}));
    const auto objective = loss::sum<Real>(terms);
    const Gradient<Real> a = device.value_and_gradient(at, *objective),
                         b = cpu.value_and_gradient(at, *objective);
    EXPECT_LT(test::difference(a, b), tolerance);
    EXPECT_TRUE(test::same_bits(device.value_and_gradient(at, *objective), a));
  }
};

TEST_F(DevicePrograms, AgreeWithTheCpu) {
  expect_same<double>(lorenz_fields(), kLorenz, rk4(0.004), 1e-11);
  expect_same<float>(lorenz_fields(), kLorenz, rk4(0.004), 1e-5);
  expect_same<double>(mixed_fields(), kMixed, euler(0.004), 1e-11);
  expect_same<float>(mixed_fields(), kMixed, euler(0.004), 1e-4);
}

}  // namespace
}  // namespace costate
