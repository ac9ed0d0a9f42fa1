// ExactSum: a sum of doubles that does not depend on its order.
//
// A double is an integer of 53 bits times a power of two, so a sum of doubles is an integer of about 2100
// bits times 2^-1074. It is kept in limbs of 32 bits, each in a 64-bit integer that leaves room for carries
// (Neal, Fast exact summation using small and large superaccumulators, 2015). Sums of two of them add limb by
// limb. The result is computed from the limbs after all carries, which are unique.
// Tests: tests/core/exact_sum_test.cpp.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace costate {

class ExactSum {
 public:
  static constexpr int kLimbs = 68;
  using Limbs = std::array<std::int64_t, kLimbs + 1>;  // the last counts what is not finite

  void add(double x) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    const auto exponent = int(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff) {
      ++limbs_[kLimbs];
      return;
    }
    std::uint64_t mantissa = bits & ((std::uint64_t(1) << 52) - 1);
    if (exponent > 0) mantissa |= std::uint64_t(1) << 52;
    const int place = exponent > 0 ? exponent - 1 : 0;  // of the lowest bit, from 2^-1074 on
    const int limb = place / 32, shift = place % 32;
    constexpr std::uint64_t kMask = 0xffffffff;
    const std::uint64_t low = (mantissa & kMask) << shift, high = (mantissa >> 32) << shift;
    const std::int64_t sign = bits >> 63 ? -1 : 1;
    limbs_[std::size_t(limb)] += sign * std::int64_t(low & kMask);
    limbs_[std::size_t(limb) + 1] += sign * std::int64_t((low >> 32) + (high & kMask));
    limbs_[std::size_t(limb) + 2] += sign * std::int64_t(high >> 32);
    if (++added_ == kMost) carry();
  }
  // What another rank has added, as limbs().
  void add(const Limbs& other) {
    carry();
    for (std::size_t i = 0; i < limbs_.size(); ++i) limbs_[i] += other[i];
  }
  const Limbs& limbs() {
    carry();
    return limbs_;
  }
  // Within a few units in the last place of the exact sum; not a number where a term is not finite.
  double value() {
    carry();
    if (limbs_[kLimbs] != 0) return std::numeric_limits<double>::quiet_NaN();
    // A negative sum has a negative highest limb: of its magnitude, small terms first.
    ExactSum magnitude = *this;
    const bool negative = limbs_[kLimbs - 1] < 0;
    if (negative) {
      for (std::int64_t& limb : magnitude.limbs_) limb = -limb;
      magnitude.carry();
    }
    double sum = 0;
    for (int i = 0; i < kLimbs; ++i)
      sum += std::ldexp(double(magnitude.limbs_[std::size_t(i)]), 32 * i - 1074);
    return negative ? -sum : sum;
  }

 private:
  static constexpr std::int64_t kMost = std::int64_t(1) << 28;  // terms between carries

  // All limbs but the highest in [0, 2^32).
  void carry() {
    for (std::size_t i = 0; i + 1 < kLimbs; ++i) {
      const std::int64_t over = limbs_[i] >> 32;
      limbs_[i] -= over * (std::int64_t(1) << 32);
      limbs_[i + 1] += over;
    }
    added_ = 0;
  }

  Limbs limbs_ = {};
  std::int64_t added_ = 0;
};

}  // namespace costate
