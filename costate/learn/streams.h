// Streams of random numbers of one seed: what is drawn for one purpose does not show in another.
#pragma once

#include <cstdint>

namespace costate::learn {

enum Stream : std::uint64_t { kStarts, kNoise, kPolicy, kCritic, kShuffle, kStreams };
// Added to the stream of the policy's weights, and to the stream of starts.
constexpr std::uint64_t kMemory = 0x6d656d6f7279, kVariation = 0x7661727969;

constexpr std::uint64_t stream(std::uint64_t seed, Stream of) { return seed * kStreams + of; }

}  // namespace costate::learn
