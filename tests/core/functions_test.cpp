#include "costate/core/functions.h"

#include <gtest/gtest.h>

#include "tests/core/function_check.h"

namespace costate {
namespace {

using test::check_function;
using test::logarithmic;
using test::positive;
using test::Quad;

// The function of that name in costate, as an object.
#define FUNCTION(name) #name, [](auto... x) { return costate::name(x...); }
#define EXACT(name) [](auto... x) { return test::name(x...); }

TEST(Functions, SinCosTanHoldTwoUlpFromDenormalToHuge) {
  check_function(FUNCTION(sin), EXACT(sinq),
                 {{-7, 7}, {-1e5, 1e5}, logarithmic(0, 1e9), logarithmic(1, 1e300)});
  check_function(FUNCTION(cos), EXACT(cosq),
                 {{-7, 7}, {-1e5, 1e5}, logarithmic(0, 1e9), logarithmic(1, 1e300)});
  check_function(FUNCTION(tan), EXACT(tanq),
                 {{-7, 7}, {-1e5, 1e5}, logarithmic(0, 1e9), logarithmic(1, 1e300)});
}

TEST(Functions, SinNearMultiplesOfPiKeepsItsDigits) {
  const Quad half_pi = 2 * test::atanq(1);
  // The doubles and floats nearest to k pi/2: all of the result comes from the low parts of pi.
  for (int k = 1; k < 200000; k = k + 1 + k / 7) {
    const double d = double(k * half_pi);
    EXPECT_LE(test::ulp_error(sin(d), test::sinq(d)), 2) << k;
    EXPECT_LE(test::ulp_error(cos(d), test::cosq(d)), 2) << k;
    EXPECT_LE(test::ulp_error(tan(d), test::tanq(d)), 2) << k;
    if (k > 60000) continue;
    const float f = float(k * half_pi);
    EXPECT_LE(test::ulp_error(sin(f), test::sinq(f)), 2) << k;
    EXPECT_LE(test::ulp_error(cos(f), test::cosq(f)), 2) << k;
    EXPECT_LE(test::ulp_error(tan(f), test::tanq(f)), 2) << k;
  }
}

TEST(Functions, SinCosGivesTheBitsOfSinAndCos) {
  for (double x = -20; x < 20; x += 0.37) {
    const SinCos<double> t = sincos(x);
    EXPECT_EQ(t.sin, sin(x));
    EXPECT_EQ(t.cos, cos(x));
  }
}

TEST(Functions, ExponentialsHoldTwoUlpUpToOverflowAndIntoDenormals) {
  check_function(FUNCTION(exp), EXACT(expq), {{-1, 1}, {-104, 89}, {-746, 710}, logarithmic(0, 1e3)});
  check_function(FUNCTION(expm1), EXACT(expm1q), {{-1, 1}, {-50, 89}, {-746, 710}, logarithmic(0, 1e3)});
  check_function(FUNCTION(sinh), EXACT(sinhq), {{-1, 1}, {-90, 90}, {-711, 711}, logarithmic(0, 1e3)});
  check_function(FUNCTION(cosh), EXACT(coshq), {{-1, 1}, {-90, 90}, {-711, 711}, logarithmic(0, 1e3)});
  check_function(FUNCTION(tanh), EXACT(tanhq), {{-1, 1}, {-25, 25}, logarithmic(0, 1e3)});
}

TEST(Functions, LogarithmsHoldTwoUlpFromDenormalToLargest) {
  check_function(FUNCTION(log), EXACT(logq), {{0.4, 2.5}, {0.99, 1.01}, positive(0, 1e308)});
  check_function(FUNCTION(log2), EXACT(log2q), {{0.4, 2.5}, {0.99, 1.01}, positive(0, 1e308)});
  check_function(FUNCTION(log1p), EXACT(log1pq), {{-0.999, 3}, {-1e-3, 1e-3}, positive(0, 1e308)});
}

TEST(Functions, RootsHoldTwoUlp) {
  check_function(FUNCTION(sqrt), EXACT(sqrtq), {{0, 4}, positive(0, 1e308)}, 0.5000001);
  check_function(FUNCTION(cbrt), EXACT(cbrtq), {{-8, 8}, logarithmic(0, 1e308)});
}

TEST(Functions, ArcFunctionsHoldTwoUlp) {
  check_function(FUNCTION(asin), EXACT(asinq), {{-1, 1}, {0.999, 1}, logarithmic(0, 1)});
  check_function(FUNCTION(acos), EXACT(acosq), {{-1, 1}, {0.999, 1}, {-1, -0.999}, logarithmic(0, 1)});
  check_function(FUNCTION(atan), EXACT(atanq), {{-3, 3}, logarithmic(0, 1e308)});
  check_function(FUNCTION(atan2), EXACT(atan2q), logarithmic(1e-2, 1e2), logarithmic(1e-2, 1e2));
  check_function(FUNCTION(atan2), EXACT(atan2q), logarithmic(0, 1e308), logarithmic(0, 1e308));
}

TEST(Functions, PowHoldsTwoUlpOverItsRange) {
  check_function(FUNCTION(pow), EXACT(powq), positive(1e-6, 1e6), {-20, 20});
  check_function(FUNCTION(pow), EXACT(powq), {0.5, 2}, {-1000, 1000});
  check_function(FUNCTION(pow), EXACT(powq), {0.9999, 1.0001}, logarithmic(1, 1e9));
  check_function(FUNCTION(pow), EXACT(powq), positive(0, 1e308), {-3, 3});
}

TEST(Functions, HypotHoldsTwoUlpWithoutOverflow) {
  check_function(FUNCTION(hypot), EXACT(hypotq), logarithmic(1e-2, 1e2), logarithmic(1e-2, 1e2));
  check_function(FUNCTION(hypot), EXACT(hypotq), logarithmic(0, 1e308), logarithmic(0, 1e308));
}

TEST(Functions, RoundingAndSignsAreExact) {
  const std::vector<test::Range> ranges = {{-5, 5}, logarithmic(0, 1e308)};
  check_function(FUNCTION(floor), EXACT(floorq), ranges, 0);
  check_function(FUNCTION(trunc), EXACT(truncq), ranges, 0);
  check_function(FUNCTION(round), EXACT(roundq), ranges, 0);
  check_function(FUNCTION(abs), EXACT(fabsq), ranges, 0);
  check_function(FUNCTION(copysign), EXACT(copysignq), logarithmic(0, 1e308), logarithmic(0, 1e308), 0);
  check_function(FUNCTION(min), EXACT(fminq), {-2, 2}, {-2, 2}, 0);
  check_function(FUNCTION(max), EXACT(fmaxq), {-2, 2}, {-2, 2}, 0);
  EXPECT_EQ(round(0.49999999999999994), 0);
  EXPECT_EQ(round(-2.5), -3);
  EXPECT_EQ(sign(-3.0), -1);
  EXPECT_EQ(sign(0.0), 0);
  EXPECT_EQ(sign(7.0f), 1);
}

TEST(Functions, FmaRoundsOnce) {
  // (1 + u)(1 - u) - 1 = -u^2, which a rounded product loses.
  const double u = 0x1p-30;
  EXPECT_EQ(fma(1 + u, 1 - u, -1.0), -u * u);
  const Pack<double, 8> packed = fma(Pack<double, 8>(1 + u), 1 - u, -1.0);
  const Pack<float, 4> single = fma(Pack<float, 4>(1 + 0x1p-14f), 1 - 0x1p-14f, -1.0f);
  EXPECT_EQ(packed[5], -u * u);
  EXPECT_EQ(single[3], -0x1p-28f);
}

TEST(Functions, PlainNumbersMixWithPacks) {
  const Pack<double, 4> x(0.3);
  EXPECT_EQ(max(x, 0.5)[1], 0.5);
  EXPECT_EQ(min(2, x)[0], 0.3);
  EXPECT_EQ(pow(x, 2)[3], pow(0.3, 2.0));
  EXPECT_EQ(atan2(x, 1.0)[2], atan2(0.3, 1.0));
}

}  // namespace
}  // namespace costate
