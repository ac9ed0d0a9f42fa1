#include "costate/core/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

namespace costate {
namespace {

std::string printed(const char* format, int digits, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, digits, value);
  return text;
}

TEST(Text, NumbersHaveNoMoreDigitsThanTheyNeed) {
  EXPECT_EQ(number(0.0005), "0.0005");
  EXPECT_EQ(number(3e-7), "3e-07");
  EXPECT_EQ(number(100000), "100000");
  EXPECT_EQ(number(123456789), "1.23457e+08");
  EXPECT_EQ(number(2.0 / 3, 3), "0.667");
  EXPECT_EQ(number(-0.0), "-0");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(scientific(0.00123456), "1.23e-03");
  EXPECT_EQ(scientific(0.00123456, 1), "1.2e-03");
}

TEST(Text, NumbersAreThoseOfPrintf) {
  std::mt19937_64 random(1);
  for (int k = 0; k < 2000; ++k) {
    const double value = std::ldexp(double(random()) - 9e18, int(random() % 400) - 200);
    for (const int digits : {1, 3, 6, 15, 17}) {
      EXPECT_EQ(number(value, digits), printed("%.*g", digits, value));
      EXPECT_EQ(scientific(value, digits), printed("%.*e", digits, value));
    }
  }
}

TEST(Text, ExactNumbersReadBackAsTheyWere) {
  EXPECT_EQ(exact_number(0.1), "0.1");
  EXPECT_EQ(exact_number(1e5), "1e+05");
  EXPECT_EQ(exact_number(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(exact_number(0.1 + 0.2), "0.30000000000000004");
  std::mt19937_64 random(2);
  for (int k = 0; k < 2000; ++k) {
    const double value = std::ldexp(double(random()) - 9e18, int(random() % 2000) - 1070);
    const std::string text = exact_number(value);
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
  }
}

}  // namespace
}  // namespace costate
