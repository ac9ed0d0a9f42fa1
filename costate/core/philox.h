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
#include <cstring>

#include "costate/core/functions.h"

namespace costate {

namespace simd {

inline constexpr std::uint64_t kLowHalf = 0xFFFFFFFF;

// 64-bit words of N worlds, in as many registers as they fill. Only their low halves count: what is in the
// high ones is left there, and taken off at the end.
template <int N>
struct PhiloxWords {
  static constexpr int kWide = N * 8 < kSimdBytes ? N : kSimdBytes / 8, kParts = N / kWide;
  using Vector = typename VectorOf<std::uint64_t, kWide>::type;
  Vector part[kParts];

  template <class F>
  static COSTATE_INLINE PhiloxWords each(const F& f) {
    PhiloxWords r;
    for (int i = 0; i < kParts; ++i) r.part[i] = f(i);
    return r;
  }
  COSTATE_INLINE std::uint64_t operator[](int lane) const { return part[lane / kWide][lane % kWide]; }
  friend COSTATE_INLINE PhiloxWords operator^(const PhiloxWords& a, const PhiloxWords& b) {
    return each([&](int i) { return a.part[i] ^ b.part[i]; });
  }
  friend COSTATE_INLINE PhiloxWords operator^(const PhiloxWords& a, std::uint64_t b) {
    return each([&](int i) { return a.part[i] ^ b; });
  }
  friend COSTATE_INLINE PhiloxWords operator&(const PhiloxWords& a, std::uint64_t b) {
    return each([&](int i) { return a.part[i] & b; });
  }
  friend COSTATE_INLINE PhiloxWords operator>>(const PhiloxWords& a, int bits) {
    return each([&](int i) { return a.part[i] >> bits; });
  }
};

// The product of the low half of a with m < 2^32: one instruction where a register is asked for it. (A
// product of 64-bit words is three, and as many shifts and sums.)
COSTATE_HD COSTATE_INLINE std::uint64_t half_product(std::uint64_t a, std::uint64_t m) {
  return (a & kLowHalf) * m;
}
template <int N>
COSTATE_INLINE PhiloxWords<N> half_product(const PhiloxWords<N>& a, std::uint64_t m) {
  using Vector = typename PhiloxWords<N>::Vector;
  return PhiloxWords<N>::each([&](int i) -> Vector {
#if defined(COSTATE_X86_SIMD) && defined(__AVX512F__)
    if constexpr (sizeof(Vector) == 64)
      return (Vector)_mm512_maskz_mul_epu32(0xFF, (__m512i)a.part[i], _mm512_set1_epi64((long long)m));
#endif
#if defined(COSTATE_X86_SIMD) && defined(__AVX2__)
    if constexpr (sizeof(Vector) == 32)
      return (Vector)_mm256_mul_epu32((__m256i)a.part[i], _mm256_set1_epi64x((long long)m));
#endif
    return (a.part[i] & kLowHalf) * m;
  });
}

}  // namespace simd

// Four 32-bit words, each in its own 64-bit integer or vector of them.
template <class Word>
struct PhiloxBlock {
  Word word[4];
};

template <class Word>
COSTATE_HD COSTATE_INLINE PhiloxBlock<Word> philox4x32(PhiloxBlock<Word> counter, std::uint64_t key) {
  constexpr std::uint64_t m0 = 0xD2511F53, m1 = 0xCD9E8D57;
  std::uint32_t k0 = std::uint32_t(key), k1 = std::uint32_t(key >> 32);
  Word c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2], c3 = counter.word[3];
  for (int round = 0; round < 10; ++round) {
    const Word p0 = simd::half_product(c0, m0), p1 = simd::half_product(c2, m1);
    c0 = (p1 >> 32) ^ c1 ^ std::uint64_t(k0);
    c2 = (p0 >> 32) ^ c3 ^ std::uint64_t(k1);
    c1 = p1;
    c3 = p0;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0 & simd::kLowHalf, c1 & simd::kLowHalf, c2 & simd::kLowHalf, c3 & simd::kLowHalf}};
}

namespace simd {

template <int N>
struct PhiloxWord {
  using type = PhiloxWords<N>;
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
  if constexpr (lanes_of<S> == 1) {
    return philox4x32<Word>({{index, world, step & kLowHalf, step >> 32}}, seed);
  } else {
    using Vector = typename Word::Vector;
    const auto all = [](std::uint64_t value) { return Word::each([&](int) { return Vector{} + value; }); };
    const Word worlds = Word::each([&](int i) {
      Vector v;
      for (int l = 0; l < Word::kWide; ++l) v[l] = std::uint32_t(world + std::uint32_t(i * Word::kWide + l));
      return v;
    });
    return philox4x32<Word>({{all(index), worlds, all(step & kLowHalf), all(step >> 32)}}, seed);
  }
}

// (k + 1/2) / 2^52 (float: 2^23) with k the top bits of two words (one word): in (0, 1), never 0 and never 1.
// k is converted by writing it into the mantissa of 2^52 (float: as a 32-bit integer).
template <Real S, class Word>
COSTATE_HD COSTATE_INLINE S open_unit(const Word& high, const Word& low) {
  using T = value_t<S>;
  if constexpr (lanes_of<S> == 1) {
    if constexpr (is_double<S>)
      return (T((high << 20) | (low >> 12)) + T(0.5)) * T(0x1p-52);
    else
      return (T(high >> 9) + T(0.5)) * T(0x1p-23);
  } else {
    S r;
    constexpr int kWide = Word::kWide;
    for (int i = 0; i < Word::kParts; ++i) {
      typename VectorOf<T, kWide>::type part;
      if constexpr (is_double<S>) {
        const auto bits = (high.part[i] << 20) | (low.part[i] >> 12) | std::uint64_t(0x4330000000000000);
        part = (decltype(part))bits - T(0x1p52);
      } else {
        const auto whole =
            __builtin_convertvector(high.part[i] >> 9, typename VectorOf<std::int32_t, kWide>::type);
        part = __builtin_convertvector(whole, decltype(part));
      }
      std::memcpy((char*)&r.v + i * sizeof part, &part, sizeof part);
    }
    return (r + T(0.5)) * S(is_double<S> ? T(0x1p-52) : T(0x1p-23));
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
