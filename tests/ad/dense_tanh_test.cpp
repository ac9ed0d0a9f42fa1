#include "costate/ad/dense_tanh.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace costate::ad {
namespace {

// Every 53rd float from 0 up, its neighbour below 0, and the ends.
TEST(DenseTanh, IsWithinItsErrorForFloats) {
  std::vector<float> z{0.0f, -0.0f, 1e30f, -1e30f, std::numeric_limits<float>::max()};
  for (std::uint32_t bits = 1; bits < 0x41800000u; bits += 53) {  // to 16
    float x;
    std::memcpy(&x, &bits, sizeof x);
    z.push_back(bits % 2 == 0 ? x : -x);
  }
  std::vector<float> y = z;
  tanh_all(y.data(), static_cast<std::int64_t>(y.size()));
  double worst = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double exact = std::tanh(double(z[i]));
    const float rounded = std::abs(float(exact));
    const double ulp = double(std::nextafter(rounded, 2.0f)) - double(rounded);
    const double below = double(rounded) - double(std::nextafter(rounded, -1.0f));
    worst = std::max(worst, std::abs(double(y[i]) - exact) / std::min(ulp, rounded == 1 ? below : ulp));
    ASSERT_LE(std::abs(y[i]), 1.0f) << z[i];
    ASSERT_EQ(std::signbit(y[i]), std::signbit(z[i])) << z[i];
  }
  EXPECT_LE(worst, kTanhUlp);
  EXPECT_GT(worst, 1);  // or the bound could be sharper
}

TEST(DenseTanh, TakesAnyNumberOfThemWithTheSameBits) {
  std::vector<float> z;
  for (int i = 0; i < 67; ++i) z.push_back(std::sin(3.0f * float(i)) * float(i) * 0.1f);
  std::vector<float> together = z;
  tanh_all(together.data(), 67);
  for (std::size_t i = 0; i < z.size(); ++i) {
    float alone = z[i];
    tanh_all(&alone, 1);
    EXPECT_EQ(alone, together[i]);
  }
}

TEST(DenseTanh, TransposeIsTheDerivative) {
  for (int count : {1, 8, 21}) {
    std::vector<double> y, bar;
    for (int i = 0; i < count; ++i) y.push_back(0.3 * i - 2), bar.push_back(1 + 0.1 * i);
    std::vector<double> got = bar;
    tanh_all(y.data(), count);
    tanh_all_vjp(y.data(), got.data(), count);
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double c = std::cosh(0.3 * i - 2);
      EXPECT_NEAR(got[at], bar[at] / (c * c), 1e-13 * bar[at]);
    }
  }
}

}  // namespace
}  // namespace costate::ad
