#include "costate/core/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "costate/core/philox.h"

namespace costate {
namespace {

TEST(ExactSum, DoesNotDependOnTheOrderOrOnWhoAdds) {
  std::vector<double> terms;
  for (std::uint32_t i = 0; i < 3000; ++i) terms.push_back(normal(3, i, 0) * std::exp(80 * normal(3, i, 1)));
  const auto sum = [&](std::size_t parts) {
    std::vector<ExactSum> part(parts);
    for (std::size_t i = 0; i < terms.size(); ++i) part[i % parts].add(terms[i]);
    for (std::size_t p = 1; p < parts; ++p) part[0].add(part[p].limbs());
    return part[0].value();
  };
  const double one = sum(1);
  for (std::size_t parts : {2, 3, 7}) EXPECT_EQ(sum(parts), one);
  std::reverse(terms.begin(), terms.end());
  EXPECT_EQ(sum(1), one);
}

TEST(ExactSum, KeepsWhatRoundingWouldLose) {
  ExactSum sum;
  for (double x : {1e308, 1e308, 1.0, -1e308, 5e-324, -1e308}) sum.add(x);
  EXPECT_EQ(sum.value(), 1.0);
  for (double x : {-1.0, -5e-324, -3.0, 0.5}) sum.add(x);
  EXPECT_EQ(sum.value(), -2.5);
  ExactSum tiny;
  for (double x : {5e-324, 5e-324, -1e-310}) tiny.add(x);
  EXPECT_EQ(tiny.value(), 5e-324 + 5e-324 - 1e-310);
  ExactSum nothing;
  EXPECT_EQ(nothing.value(), 0.0);
}

TEST(ExactSum, IsNotANumberWhereATermIsNotFinite) {
  ExactSum sum, other;
  sum.add(1.0);
  other.add(std::numeric_limits<double>::infinity());
  sum.add(other.limbs());
  EXPECT_TRUE(std::isnan(sum.value()));
}

}  // namespace
}  // namespace costate
