// The random numbers of step k of a world: the (k R + i)-th, i < R, of its standard normals.
//
// A block of the counter generator (core/philox.h) has four words of 32 bits. In double precision they make
// two normals, in single precision four: 23 bits are a uniform number there, so each pair of words is a pair
// of Box and Muller's.
// Tests: tests/md/equilibrium_test.cpp, integrator_test.cpp.
#pragma once

#include <array>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/core/philox.h"
#include "costate/system/system.h"

namespace costate::md {

template <class S>
class Normals {
  using P = std::remove_cvref_t<decltype(primal(std::declval<S>()))>;
  static constexpr std::size_t kDrawn = sizeof(value_t<P>) == 8 ? 2 : 4;

 public:
  void fill(const StepContext& at, std::vector<S>& to) {
    const auto first = std::uint64_t(at.k) * to.size();
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::uint64_t j = first + i;
      draw(at, j / kDrawn);
      to[i] = S(drawn_[j % kDrawn]);
    }
  }

 private:
  static constexpr std::uint32_t kStream = 0x6d64;
  void draw(const StepContext& at, std::uint64_t block) {
    if (block == block_ && at.seed == seed_ && at.world == world_) return;
    if constexpr (kDrawn == 2) {
      const NormalPair<P> pair = normal_pair<P>(at.seed, std::uint32_t(at.world), block, kStream);
      drawn_ = {pair.first, pair.second};
    } else {
      const auto words = simd::philox_block<P>(at.seed, std::uint32_t(at.world), block, kStream);
      for (std::size_t half = 0; half < 2; ++half) {
        const P u = simd::open_unit<P>(words.word[2 * half], words.word[2 * half]);
        const P w = simd::open_unit<P>(words.word[2 * half + 1], words.word[2 * half + 1]);
        const P radius = sqrt(P(-2) * log(u));
        const SinCos<P> direction = sincos(P(value_t<P>(6.28318530717958648)) * w);
        drawn_[2 * half] = radius * direction.cos;
        drawn_[2 * half + 1] = radius * direction.sin;
      }
    }
    block_ = block, seed_ = at.seed, world_ = at.world;
  }
  std::array<P, kDrawn> drawn_ = {};
  std::uint64_t block_ = ~std::uint64_t(0), seed_ = 0;
  std::int64_t world_ = -1;
};

}  // namespace costate::md
