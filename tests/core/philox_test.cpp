#include "costate/core/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace costate {
namespace {

using Block = PhiloxBlock<std::uint64_t>;

void expect_block(Block counter, std::uint64_t key, Block expected) {
  const Block r = philox4x32(counter, key);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(r.word[i], expected.word[i]) << "word " << i;
}

TEST(Philox, GivesThePublishedKnownAnswers) {
  // kat_vectors of Random123, philox4x32 with 10 rounds.
  expect_block({{0, 0, 0, 0}}, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect_block({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffffffffffff,
               {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect_block({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822,
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

template <class P>
void expect_lanes_are_worlds() {
  using T = value_t<P>;
  for (const std::uint32_t world : {0u, 17u, 0xfffffffdu}) {
    const P u = uniform<P>(99, world, 1234567890123, 5), z = normal<P>(99, world, 1234567890123, 5);
    for (int i = 0; i < P::lanes; ++i) {
      const std::uint32_t own = world + std::uint32_t(i);
      EXPECT_EQ(u[i], uniform<T>(99, own, 1234567890123, 5));
      EXPECT_EQ(z[i], normal<T>(99, own, 1234567890123, 5));
    }
  }
}
TEST(Philox, LanesOfAPackAreConsecutiveWorlds) {
  expect_lanes_are_worlds<Pack<double, 8>>();
  expect_lanes_are_worlds<Pack<double, 4>>();
  expect_lanes_are_worlds<Pack<float, 16>>();
  expect_lanes_are_worlds<Pack<float, 4>>();
}

TEST(Philox, EveryArgumentChangesTheNumber) {
  const double u = uniform(1, 2, 3, 4);
  EXPECT_EQ(u, uniform(1, 2, 3, 4));
  EXPECT_NE(u, uniform(2, 2, 3, 4));
  EXPECT_NE(u, uniform(1 + (1ull << 32), 2, 3, 4));
  EXPECT_NE(u, uniform(1, 3, 3, 4));
  EXPECT_NE(u, uniform(1, 2, 4, 4));
  EXPECT_NE(u, uniform(1, 2, 3 + (1ull << 32), 4));
  EXPECT_NE(u, uniform(1, 2, 3, 5));
}

TEST(Philox, UniformStaysInTheOpenIntervalAtBothEnds) {
  const std::uint64_t ones = 0xffffffff, none = 0;
  EXPECT_LT(simd::open_unit<double>(ones, ones), 1);
  EXPECT_LT(simd::open_unit<float>(ones, ones), 1);
  EXPECT_GT(simd::open_unit<double>(none, none), 0);
  EXPECT_GT(simd::open_unit<float>(none, none), 0);
}

// Largest distance between the empirical distribution of the sample and the true one, times sqrt(n):
// below 1.95 with probability 0.999 (Kolmogorov).
template <class Cdf>
double kolmogorov_smirnov(std::vector<double> sample, const Cdf& cdf) {
  std::sort(sample.begin(), sample.end());
  const double n = double(sample.size());
  double distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double p = cdf(sample[i]);
    distance = std::max({distance, std::fabs(p - double(i) / n), std::fabs(double(i + 1) / n - p)});
  }
  return distance * std::sqrt(n);
}

// Samples over worlds at one step, and over steps of one world: 4 standard errors are allowed.
struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const std::vector<double>& x) {
  Moments m;
  for (const double v : x) m.mean += v / double(x.size());
  for (const double v : x) m.variance += (v - m.mean) * (v - m.mean) / double(x.size());
  return m;
}
template <class Draw>
std::vector<double> draws(int n, const Draw& draw) {
  std::vector<double> r(n);
  for (int i = 0; i < n; ++i) r[i] = draw(std::uint32_t(i));
  return r;
}
constexpr int kSamples = 100000;

TEST(Philox, UniformHasTheRightDistributionOverWorldsStepsAndIndices) {
  const auto flat = [](double x) { return x; };
  for (const auto& sample : {draws(kSamples, [](auto i) { return uniform(7, i, 11); }),
                             draws(kSamples, [](auto i) { return uniform(7, 3, i); }),
                             draws(kSamples, [](auto i) { return uniform(7, 3, 11, i); }),
                             draws(kSamples, [](auto i) { return double(uniform<float>(7, i, 12)); })}) {
    const Moments m = moments(sample);
    EXPECT_NEAR(m.mean, 0.5, 4 * std::sqrt(1.0 / 12 / kSamples));
    EXPECT_NEAR(m.variance, 1.0 / 12, 4 * std::sqrt(1.0 / 180 / kSamples));
    EXPECT_LT(kolmogorov_smirnov(sample, flat), 1.95);
  }
}

TEST(Philox, NormalHasTheRightDistributionOverWorldsAndSteps) {
  const auto gaussian = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  for (const auto& sample : {draws(kSamples, [](auto i) { return normal(7, i, 11); }),
                             draws(kSamples, [](auto i) { return normal(7, 3, i); }),
                             draws(kSamples, [](auto i) { return normal_pair(7, i, 13).second; }),
                             draws(kSamples, [](auto i) { return double(normal<float>(7, i, 12)); })}) {
    const Moments m = moments(sample);
    EXPECT_NEAR(m.mean, 0, 4 / std::sqrt(kSamples));
    EXPECT_NEAR(m.variance, 1, 4 * std::sqrt(2.0 / kSamples));
    EXPECT_LT(kolmogorov_smirnov(sample, gaussian), 1.95);
  }
}

TEST(Philox, NeighboursAreUncorrelated) {
  const auto correlation = [](const auto& a, const auto& b) {
    double sum = 0;
    for (std::uint32_t i = 0; i < kSamples; ++i) sum += a(i) * b(i);
    return sum / kSamples;
  };
  const auto here = [](std::uint32_t i) { return normal(7, i, 11); };
  const double bound = 4 / std::sqrt(kSamples);
  EXPECT_LT(std::fabs(correlation(here, [](auto i) { return normal(7, i + 1, 11); })), bound);
  EXPECT_LT(std::fabs(correlation(here, [](auto i) { return normal(7, i, 12); })), bound);
  EXPECT_LT(std::fabs(correlation(here, [](auto i) { return normal(8, i, 11); })), bound);
  EXPECT_LT(std::fabs(correlation(here, [](auto i) { return normal(7, i, 11, 1); })), bound);
  EXPECT_LT(std::fabs(correlation(here, [](auto i) { return normal_pair(7, i, 11).second; })), bound);
}

}  // namespace
}  // namespace costate
