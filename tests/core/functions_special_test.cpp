// Elementary functions at zeros, infinities, NaN, denormals and outside their domains.
#include <gtest/gtest.h>

#include "costate/core/functions.h"
#include "tests/core/function_check.h"
#include "tests/float_traps.h"

namespace costate {
namespace {

template <class T>
void check_special_values() {
  const test::AllowFloatExceptions allow;
  const auto check = [](const char* name, auto f, auto library) {
    for (const T x : test::special_values<T>()) {
      Pack<T, 8> p(T(0.75));
      p.set(3, x);
      const Pack<T, 8> r = f(p);
      test::expect_like_library<T>(f(x), library(x), testing::Message() << name << "(" << x << ")");
      EXPECT_TRUE(test::same_bits(T(r[3]), T(f(x)))) << name << "(" << x << ") in a pack";
      EXPECT_TRUE(test::same_bits(T(r[2]), T(f(T(0.75))))) << name << ": a neighbour of " << x << " changed";
    }
  };
#define LIKE_LIBRARY(name) \
  check(                   \
      #name, [](auto x) { return costate::name(x); }, [](T x) { return std::name(x); })
  LIKE_LIBRARY(sin);
  LIKE_LIBRARY(cos);
  LIKE_LIBRARY(tan);
  LIKE_LIBRARY(exp);
  LIKE_LIBRARY(expm1);
  LIKE_LIBRARY(sinh);
  LIKE_LIBRARY(cosh);
  LIKE_LIBRARY(tanh);
  LIKE_LIBRARY(log);
  LIKE_LIBRARY(log1p);
  LIKE_LIBRARY(log2);
  LIKE_LIBRARY(sqrt);
  LIKE_LIBRARY(cbrt);
  LIKE_LIBRARY(asin);
  LIKE_LIBRARY(acos);
  LIKE_LIBRARY(atan);
  LIKE_LIBRARY(abs);
  LIKE_LIBRARY(floor);
  LIKE_LIBRARY(trunc);
  LIKE_LIBRARY(round);
#undef LIKE_LIBRARY
  for (const T x : test::special_values<T>()) {
    for (const T y : test::special_values<T>()) {
      const auto of = [&](const char* name) {
        return testing::Message() << name << "(" << x << ", " << y << ")";
      };
      test::expect_like_library<T>(pow(x, y), std::pow(x, y), of("pow"));
      test::expect_like_library<T>(atan2(x, y), std::atan2(x, y), of("atan2"));
      test::expect_like_library<T>(hypot(x, y), std::hypot(x, y), of("hypot"));
      EXPECT_TRUE(test::same_bits(T(pow(Pack<T, 4>(x), Pack<T, 4>(y))[1]), pow(x, y))) << of("pow");
      EXPECT_TRUE(test::same_bits(T(atan2(Pack<T, 4>(x), Pack<T, 4>(y))[1]), atan2(x, y))) << of("atan2");
    }
    EXPECT_EQ(is_finite(x), std::isfinite(x));
    EXPECT_EQ(is_finite(Pack<T, 8>(x))[6], std::isfinite(x));
  }
}
TEST(Functions, SpecialValuesOfFloatAreThoseOfTheLibrary) { check_special_values<float>(); }
TEST(Functions, SpecialValuesOfDoubleAreThoseOfTheLibrary) { check_special_values<double>(); }

TEST(Functions, MinAndMaxKeepNaNAndPreferTheFirstOfEquals) {
  const test::AllowFloatExceptions allow;
  const double nan = NAN;
  EXPECT_TRUE(std::isnan(min(nan, 1.0)) && std::isnan(min(1.0, nan)));
  EXPECT_TRUE(std::isnan(max(nan, 1.0)) && std::isnan(max(1.0, nan)));
  EXPECT_TRUE(std::isnan(max(Pack<double, 8>(1.0), nan)[7]));
  EXPECT_TRUE(std::signbit(min(-0.0, 0.0)));
  EXPECT_FALSE(std::signbit(max(0.0, -0.0)));
}

TEST(Functions, OutsideTheDomainNothingTraps) {
  // Traps are on: a lane that a select will throw away must stay silent.
  const Pack<double, 8> bad(-2.0), zero(0.0), infinite(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(log(bad)[0]) && std::isnan(log1p(bad)[0]) && std::isnan(asin(bad)[0]) &&
              std::isnan(acos(bad)[0]));
  EXPECT_TRUE(std::isnan(pow(bad, 0.5)[0]));
  EXPECT_EQ(log(zero)[1], -infinite[0]);
  EXPECT_EQ(pow(zero, -1.0)[1], infinite[0]);
  EXPECT_EQ(exp(infinite)[0], infinite[0]);
  EXPECT_EQ(tanh(infinite)[0], 1);
  EXPECT_FALSE(is_finite(log(bad))[0]);
}

}  // namespace
}  // namespace costate
