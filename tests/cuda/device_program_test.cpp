// Equations on a device: their source compiles wherever NVRTC is, and what runs agrees with the CPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "costate/cuda/nvrtc.h"
#include "costate/cuda/program_source.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/ode/lanes/problems/lorenz.h"
#include "costate/system/program/lambda_system.h"
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

// Physics that is a Program: compiled where NVRTC is, else walked through by the device. The host in the role
// of a GPU always walks.
class DevicePrograms : public test::OnDevice {
 protected:
  bool on_gpu() const { return GetParam().starts_with("cuda"); }

  // Without NVRTC while it lives.
  struct Walked {
    Walked() : before(std::getenv("COSTATE_NVRTC") ? std::getenv("COSTATE_NVRTC") : "") {
      setenv("COSTATE_NVRTC", "", 1);
    }
    ~Walked() {
      if (before.empty())
        unsetenv("COSTATE_NVRTC");
      else
        setenv("COSTATE_NVRTC", before.c_str(), 1);
    }
    std::string before;
  };

  template <class Real>
  Gradient<Real> expect_same(const test::SystemPtr<Real>& system, double tolerance, int steps = 101,
                             int worlds = 333) {
    RolloutOptions options{.steps = steps, .worlds = worlds, .hold = 3};
    Rollout<Real> cpu(system, options);
    options.device = GetParam();
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
    return a;
  }

  void expect_all_same() {
    expect_same<double>(equations_system<double>(lorenz_fields(), kLorenz, rk4(0.004)), 1e-11);
    expect_same<float>(equations_system<float>(lorenz_fields(), kLorenz, rk4(0.004)), 1e-5);
    expect_same<double>(equations_system<double>(mixed_fields(), kMixed, euler(0.004)), 1e-11);
    expect_same<float>(equations_system<float>(mixed_fields(), kMixed, euler(0.004)), 1e-4);
  }
};

TEST_P(DevicePrograms, AgreeWithTheCpu) { expect_all_same(); }

TEST_P(DevicePrograms, WalkedOnesAgreeWithTheCpuAndSaySo) {
  const Walked without_nvrtc;
  expect_all_same();
  const auto told = [](const GradientReport& report) {
    return std::ranges::count_if(report.advice,
                                 [](const std::string& a) { return a.find("NVRTC") != std::string::npos; });
  };
  const Gradient<double> gradient =
      expect_same<double>(equations_system<double>(lorenz_fields(), kLorenz, rk4(0.004)), 1e-11);
  EXPECT_EQ(told(gradient.report), 1) << gradient.report.to_text();
  EXPECT_EQ(gradient.report.label, "exact");
}

// Every operation and its transpose, one by one: a state that the operation and its slope make.
TEST_P(DevicePrograms, WalkThroughEveryOperation) {
  const Walked without_nvrtc;
  Signature s;
  s.state("x").state("y").parameter("a", 0.7);
  std::istringstream all(R"(
x + a*y; x - a*y; x/(2 + a); -x; sqrt(2 + x); sin(x); cos(x); tan(x/4); exp(x/4); expm1(x/4);
log(3 + x); log1p(1 + x); cbrt(3 + x); sinh(x/4); cosh(x/4); tanh(x); asin(x/4); acos(x/4); atan(x);
atan2(x, 3 + y); pow(3 + x, a); x^3; (3 + x)^(-2); abs(x); sign(x)*x; min(x, a*y); max(x, a*y);
floor(3*x)*x; x < y ? x : a*y; x <= y ? x : a*y; x > y ? x : a*y; x >= y ? x : a*y; x == y ? x : a*y;
x != y ? x : a*y; x < y && x < a ? x : y; x < y || x < a ? x : y; !(x < y) ? x : a*y)");
  int operations = 0;
  for (std::string f; std::getline(all, f, ';'); ++operations) {
    SCOPED_TRACE(f);
    const std::string text = "x_next = y; y_next = 0.5*(" + f + ") + 0.1*a*x";
    expect_same<double>(equations_system<double>(s, text), 1e-11, 5, 7);
  }
  EXPECT_EQ(operations, 37);
}

// A lambda runs wherever Programs do.
TEST_P(DevicePrograms, LambdasAreRecordedForADevice) {
  Signature s;
  s.state("angle").state("rate").control("torque").parameter("length", 1.3);
  const auto pendulum = [](auto x, auto u, auto p) {
    return std::array{x[1], u[0] - 9.81 / p[0] * sin(x[0])};
  };
  constexpr Sizes kSizes{.states = 2, .controls = 1, .parameters = 1};
  expect_same<double>(lambda_system<double, kSizes>(s, pendulum, rk4(0.01), 1), 1e-11);
  expect_same<float>(lambda_system<float, kSizes>(s, pendulum, rk4(0.01), 1), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(On, DevicePrograms, testing::Values("host:0", "cuda:0"),
                         [](const auto& test) { return test.param.substr(0, 4); });

}  // namespace
}  // namespace costate
