// Frames packed for the page: numbers in few bits, bytes as text.
// Tests: tests/view/replay_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace costate::view {

// Axis-aligned, with an edge of at least 1e-6 so that quantising never divides by zero.
struct Box {
  std::array<float, 3> low, high;
};
Box bounding_box(std::span<const float> points);

// (value - low) / (high - low) in 16 bits per coordinate, rounded to nearest.
std::vector<std::uint16_t> quantise(std::span<const float> points, const Box& box);
// value / largest in 8 bits.
std::vector<std::uint8_t> quantise(std::span<const float> values, float largest);

// RFC 4648, section 4.
std::string base64(const void* data, std::size_t size);

}  // namespace costate::view
