// Random numbers as a pure function of (seed, world, step, index): Philox 4x32-10 [1].
//
// A counter-based generator has no state. A block of four 32-bit words is a bijective scrambling of a 128-bit
// counter under a 64-bit key, ten rounds of
//
//   (c0, c1, c2, c3) -> (hi(M1 c2) ^ c1 ^ k0,  lo(M1 c2),  hi(M0 c0) ^ c3 ^ k1,  lo(M0 c0)),    k += (W0, W1)
//
// with hi, lo the halves of the 64-bit product. Here the key is the seed and the counter names who asks:
// {index, world, step}. So any step of any world can be replayed, run backwards and differentiated, in any
// order and on any number of threads, and gets the same noise. `index` tells apart the draws of one world in
// one step.
//
// One source serves scalars and packs: lane l of uniform<Pack<T, N>>(seed, world, ...) is world + l, with the
// scalar's bits. Words are kept in 64-bit lanes because that is where products of two words live.
//
// [1] Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC11.
//
// Tests: tests/core/philox_test.cpp, with the known answers of the authors' Random123 library.
#pragma once

#include <cstdint>

#include "costate/core/functions.h"

namespace costate {

// Four 32-bit words, each in its own 64-bit integer or vector of them.
template <class Word>
struct PhiloxBlock {
  Word word[4];
};

template <class Word>
COSTATE_HD COSTATE_INLINE PhiloxBlock<Word> philox4x32(PhiloxBlock<Word> counter, std::uint64_t key) {
  constexpr std::uint64_t m0 = 0xD2511F53, m1 = 0xCD9E8D57, low = 0xFFFFFFFF;
  std::uint32_t k0 = std::uint32_t(key), k1 = std::uint32_t(key >> 32);
  Word c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2], c3 = counter.word[3];
  for (int round = 0; round < 10; ++round) {
    const Word p0 = c0 * m0, p1 = c2 * m1;
    c0 = (p1 >> 32) ^ c1 ^ std::uint64_t(k0);
    c2 = (p0 >> 32) ^ c3 ^ std::uint64_t(k1);
    c1 = p1 & low;
    c3 = p0 & low;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

namespace simd {

template <int N>
struct PhiloxWord {
  using type = typename VectorOf<std::uint64_t, N>::type;
};
template <>
struct PhiloxWord<1> {
  using type = std::uint64_t;
};

// The block of world + lane.
template <Real S>
COSTATE_HD COSTATE_INLINE auto philox_block(std::uint64_t seed, std::uint32_t world, std::uint64_t step,
                                            std::uint32_t index) {
  using Word = typename PhiloxWord<lanes_of<S>>::type;
  const Word zero{};
  Word worlds = zero + std::uint64_t(world);
  if constexpr (lanes_of < S >> 1) {
    for (int i = 0; i < lanes_of<S>; ++i) worlds[i] = std::uint32_t(world + std::uint32_t(i));
  }
  return philox4x32<Word>(
      {{zero + std::uint64_t(index), worlds, zero + (step & 0xFFFFFFFF), zero + (step >> 32)}}, seed);
}

// (k + 1/2) / 2^52 (float: 2^23) with k the top bits of two words (one word): in (0, 1), never 0 and never 1.
template <Real S, class Word>
COSTATE_HD COSTATE_INLINE S open_unit(Word high, Word low) {
  using T = value_t<S>;
  const auto convert = [](std::uint64_t hi, std::uint64_t lo) {
    if constexpr (is_double<S>)
      return (T((hi << 20) | (lo >> 12)) + T(0.5)) * T(0x1p-52);
    else
      return (T(hi >> 9) + T(0.5)) * T(0x1p-23);
  };
  if constexpr (lanes_of<S> == 1) {
    return convert(high, low);
  } else {
    S r;
    for (int i = 0; i < lanes_of<S>; ++i) r.set(i, convert(high[i], low[i]));
    return r;
  }
}

}  // namespace simd

// Uniform in the open interval (0, 1).
template <Real S = double>
COSTATE_HD inline S uniform(std::uint64_t seed, std::uint32_t world, std::uint64_t step,
                            std::uint32_t index = 0) {
  const auto block = simd::philox_block<S>(seed, world, step, index);
  return simd::open_unit<S>(block.word[0], block.word[1]);
}

// Two independent standard normals by the Box-Muller transform: sqrt(-2 log u) (cos 2 pi w, sin 2 pi w).
// Within +-8.6 (float 5.8).
template <class S>
struct NormalPair {
  S first, second;
};
template <Real S = double>
COSTATE_HD inline NormalPair<S> normal_pair(std::uint64_t seed, std::uint32_t world, std::uint64_t step,
                                            std::uint32_t index = 0) {
  using T = value_t<S>;
  const auto block = simd::philox_block<S>(seed, world, step, index);
  const S u = simd::open_unit<S>(block.word[0], block.word[1]);
  const S w = simd::open_unit<S>(block.word[2], block.word[3]);
  const S radius = sqrt(S(-2) * log(u));
  const SinCos<S> direction = sincos(S(T(6.28318530717958648)) * w);
  return {radius * direction.cos, radius * direction.sin};
}

// Standard normal: mean 0, variance 1.
template <Real S = double>
COSTATE_HD inline S normal(std::uint64_t seed, std::uint32_t world, std::uint64_t step,
                           std::uint32_t index = 0) {
  return normal_pair<S>(seed, world, step, index).first;
}

}  // namespace costate
