// Moves of a block's numbers: plain ones, and between rows of worlds and [index][lane].
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace costate {

template <class Real>
void fill_zero(Real* to, std::int64_t count) {
  if (count > 0) std::memset(to, 0, static_cast<std::size_t>(count) * sizeof(Real));
}
template <class Real>
void copy(Real* to, const Real* from, std::int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Real));
}

// Rows of `row` numbers per world, or one row that all worlds share, into [index][lane]. Lane l is world
// `world` + l stride, or the last world past the end.
template <class Real>
void gather_lanes(std::span<const Real> from, std::int64_t row, std::int64_t world, int stride,
                  std::int64_t worlds, int lanes, Real* to) {
  const bool shared = static_cast<std::int64_t>(from.size()) == row;
  if (lanes == 1) return copy(to, from.data() + (shared ? 0 : world * row), row);
  if (shared) {
    for (const Real number : from) to = std::fill_n(to, lanes, number);
    return;
  }
  for (int l = 0; l < lanes; ++l) {
    const std::int64_t w = std::min(world + l * stride, worlds - 1);
    const Real* source = from.data() + w * row;
    for (std::int64_t i = 0; i < row; ++i) to[i * lanes + l] = source[i];
  }
}

// Lane l of [index][lane] as a row.
template <class Real>
void take_lane(const Real* from, std::int64_t row, int lanes, int lane, Real* to) {
  if (lanes == 1) return copy(to, from, row);
  for (std::int64_t i = 0; i < row; ++i) to[i] = from[i * lanes + lane];
}

// Whether `size` numbers of [index][lane] are the same in all lanes, bit by bit.
template <class Real>
bool same_in_all_lanes(const Real* numbers, std::int64_t size, int lanes) {
  const auto bytes = static_cast<std::size_t>(lanes - 1) * sizeof(Real);
  for (std::int64_t i = 0; i < size; ++i, numbers += lanes) {
    if (std::memcmp(numbers, numbers + 1, bytes) != 0) return false;
  }
  return true;
}

// By bits: comparing a NaN would raise a floating-point exception.
template <class Real>
bool finite_bits(Real value) {
  using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
  constexpr Bits kExponent = sizeof(Real) == 8 ? Bits(0x7ff0000000000000ull) : Bits(0x7f800000u);
  return (std::bit_cast<Bits>(value) & kExponent) != kExponent;
}

}  // namespace costate
