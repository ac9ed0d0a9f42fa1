// Rollouts that a device has to agree with the CPU about.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/system/devices.h"
#include "costate/system/rollout.h"
#include "tests/float_traps.h"

namespace costate::test {

// "host:0", the host in the role of a GPU, is registered on the first call.
void register_host_device();
// What HostDevice says it has free. The old value comes back with the guard.
struct HostMemory {
  explicit HostMemory(std::int64_t bytes);
  ~HostMemory();
  std::int64_t before;
};

inline bool has_device(const std::string& device) {
  for (const DeviceInfo& info : devices())
    if (info.device == device) return true;
  return device.starts_with("host");
}

// A test on a device that its parameter names; skipped where there is no such device.
class OnDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam().starts_with("cuda")) traps_.emplace();
    register_host_device();
    if (!has_device(GetParam())) GTEST_SKIP() << "there is no " << GetParam();
  }

 private:
  std::optional<AllowFloatExceptions> traps_;  // off: the driver is not ours
};

template <class Real>
using SystemPtr = std::shared_ptr<System<Real>>;

// Every input drawn around its default: x0, controls and every second parameter for each world, the others
// shared.
template <class Real>
Arguments<Real> draw(const Rollout<Real>& rollout, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  const auto about = [&](double centre, double spread) {
    return Real(centre + spread * std::uniform_real_distribution<double>(-1, 1)(random));
  };
  const auto worlds = std::size_t(rollout.options().worlds);
  Arguments<Real> a = rollout.arguments();
  a.x0.resize(a.x0.size() * worlds);
  for (Real& x : a.x0) x = about(1, 0.5);
  a.controls.resize(a.controls.size() * worlds);
  for (Real& u : a.controls) u = about(0, 1);
  const auto& fields = rollout.system().signature().fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); f += 2) {
    std::vector<Real> values;
    for (std::size_t w = 0; w < worlds; ++w)
      for (const double value : fields[f].defaults) values.push_back(about(value, 0.1 * std::abs(value)));
    a.parameters.set(fields[f].name, values);
  }
  return a;
}

// The largest difference, relative to the largest number.
template <class A, class B>
double difference(const A& a, const B& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double worst = 0, size = 1e-300;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(double(a[i]) - double(b[i])));
    size = std::max(size, std::abs(double(b[i])));
    if (!std::isfinite(double(a[i]))) return HUGE_VAL;
  }
  return worst / size;
}

template <class Real>
double difference(const Gradient<Real>& a, const Gradient<Real>& b) {
  double worst = std::max({std::abs(a.value - b.value) / std::abs(b.value), difference(a.values, b.values),
                           difference(a.x0, b.x0), difference(a.controls, b.controls),
                           difference(a.report.adjoint_norm, b.report.adjoint_norm)});
  for (std::size_t f = 0; f < b.parameters.signature().fields(Role::parameter).size(); ++f)
    worst = std::max(worst, difference(a.parameters.values(f), b.parameters.values(f)));
  return worst;
}

template <class Real>
bool same_bits(const Gradient<Real>& a, const Gradient<Real>& b) {
  bool same = a.value == b.value && a.values == b.values && a.x0 == b.x0 && a.controls == b.controls;
  for (std::size_t f = 0; f < b.parameters.signature().fields(Role::parameter).size(); ++f)
    same = same && std::ranges::equal(a.parameters.values(f), b.parameters.values(f));
  return same;
}

}  // namespace costate::test
