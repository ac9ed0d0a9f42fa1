// The elementary functions, dual numbers and random numbers of a GPU thread.
#include "tests/cuda/device_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "costate/system/devices.h"
#include "tests/core/function_check.h"
#include "tests/float_traps.h"

namespace costate {
namespace {

using test::Function;
using test::Quad;
using test::Range;
using test::ulp_error;

// Largest error of f on the GPU over `range_x` x `range_y`, in ulp, and how often its bits differ from the
// host's.
template <class T, class Host, class Exact>
void check_on_device(const char* name, Function f, const Host& host, const Exact& exact, Range range_x,
                     Range range_y, double max_ulp) {
  const std::size_t n = 100000;
  test::Arguments<T> first(range_x), second(range_y);
  second.next();  // out of step with the first
  std::vector<T> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = first.next(), y[i] = second.next();
  const std::vector<T> got = test::evaluate_on_device(f, x, y);
  double worst = 0;
  std::size_t at = 0, different = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double error = ulp_error(got[i], exact(Quad(x[i]), Quad(y[i])));
    if (error > worst) worst = error, at = i;
    different += !test::same_bits(got[i], host(x[i], y[i]));
  }
  std::printf("  %-6s %-6s %8.2f ulp   bits differ from the host's: %zu of %zu\n", name,
              sizeof(T) == 8 ? "double" : "float", worst, different, n);
  EXPECT_LE(worst, max_ulp) << name << " at " << x[at] << ", " << y[at];
}

template <class Host, class Exact>
void check_on_device(const char* name, Function f, const Host& host, const Exact& exact, Range x,
                     Range y = {0, 1}, double max_ulp = 2) {
  check_on_device<double>(name, f, host, exact, x, y, max_ulp);
  check_on_device<float>(name, f, host, exact, x, y, max_ulp);
}

class DeviceFunctions : public testing::Test {
 protected:
  void SetUp() override {
    for (const DeviceInfo& info : devices())
      if (info.device == "cuda:0") return;
    GTEST_SKIP() << "there is no GPU";
  }
  test::AllowFloatExceptions traps_;  // off: the driver is not ours, and results may overflow
};

TEST_F(DeviceFunctions, ErrByAtMostTwoUlp) {
  check_on_device(
      "sin", Function::sin, [](auto x, auto) { return sin(x); }, [](Quad x, Quad) { return test::sinq(x); },
      {-100, 100});
  check_on_device(
      "cos", Function::cos, [](auto x, auto) { return cos(x); }, [](Quad x, Quad) { return test::cosq(x); },
      {-100, 100});
  check_on_device(
      "exp", Function::exp, [](auto x, auto) { return exp(x); }, [](Quad x, Quad) { return test::expq(x); },
      {-110, 89});
  check_on_device(
      "log", Function::log, [](auto x, auto) { return log(x); }, [](Quad x, Quad) { return test::logq(x); },
      test::positive(0, 1e308));
  check_on_device(
      "tanh", Function::tanh, [](auto x, auto) { return tanh(x); },
      [](Quad x, Quad) { return test::tanhq(x); }, {-25, 25});
  check_on_device(
      "atan2", Function::atan2, [](auto y, auto x) { return atan2(y, x); },
      [](Quad y, Quad x) { return test::atan2q(y, x); }, test::logarithmic(1e-300, 1e300),
      test::logarithmic(1e-300, 1e300));
  check_on_device(
      "pow", Function::pow, [](auto x, auto y) { return pow(x, y); },
      [](Quad x, Quad y) { return test::powq(x, y); }, test::positive(1e-6, 1e6), {-6, 6});
  check_on_device(
      "sqrt", Function::sqrt, [](auto x, auto) { return sqrt(x); },
      [](Quad x, Quad) { return test::sqrtq(x); }, test::positive(0, 1e308), {0, 1}, 0.5);
}

// Past the fast reduction of sin and cos a thread asks CUDA's library.
TEST_F(DeviceFunctions, LargeAnglesAreReducedExactly) {
  check_on_device(
      "sin", Function::sin, [](auto x, auto) { return sin(x); }, [](Quad x, Quad) { return test::sinq(x); },
      test::logarithmic(1e5, 1e30));
  check_on_device(
      "cos", Function::cos, [](auto x, auto) { return cos(x); }, [](Quad x, Quad) { return test::cosq(x); },
      test::logarithmic(1e5, 1e30));
}

TEST_F(DeviceFunctions, SecondDerivativesAreThoseOfTheHost) {
  using D = Dual<double>;
  std::vector<double> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01 + 0.0019 * double(i);
  const test::Derivatives got = test::sample_on_device(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Dual<D> expected = test::sample(Dual<D>(D(x[i], 1.0), D(1.0, 0.0)));
    ASSERT_NEAR(got.value[i], expected.v.v, 1e-14 * (1 + std::abs(expected.v.v)));
    ASSERT_NEAR(got.first[i], expected.v.d[0], 1e-14 * (1 + std::abs(expected.v.d[0])));
    ASSERT_NEAR(got.second[i], expected.d[0].d[0], 1e-13 * (1 + std::abs(expected.d[0].d[0])));
    // And the host's is the slope of the function.
    const double h = 1e-5, slope = (test::sample(x[i] + h) - test::sample(x[i] - h)) / (2 * h);
    ASSERT_NEAR(got.first[i], slope, 1e-7 * (1 + std::abs(slope)));
  }
}

template <class T>
void expect_the_hosts_noise() {
  const std::uint64_t seed = 0x123456789abcdef, step = 77;
  const test::Noise<T> got = test::noise_on_device<T>(seed, step, 100000);
  double worst = 0;
  for (std::size_t w = 0; w < got.uniform.size(); ++w) {
    ASSERT_TRUE(test::same_bits(got.uniform[w], uniform<T>(seed, std::uint32_t(w), step))) << "world " << w;
    worst = std::max(worst, ulp_error(got.normal[w], Quad(normal<T>(seed, std::uint32_t(w), step, 1))));
  }
  std::printf("  normal %-6s %8.2f ulp from the host's\n", sizeof(T) == 8 ? "double" : "float", worst);
  EXPECT_LE(worst, 2);
}
TEST_F(DeviceFunctions, UniformsHaveTheHostsBitsAndNormalsItsDigits) {
  expect_the_hosts_noise<float>();
  expect_the_hosts_noise<double>();
}

}  // namespace
}  // namespace costate
