#include "costate/view/pack_frames.h"

#include <algorithm>
#include <cmath>

namespace costate::view {

Box bounding_box(std::span<const float> points) {
  Box box{{0, 0, 0}, {0, 0, 0}};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t axis = i % 3;
    box.low[axis] = i < 3 ? points[i] : std::min(box.low[axis], points[i]);
    box.high[axis] = i < 3 ? points[i] : std::max(box.high[axis], points[i]);
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const float size = std::max(std::abs(box.low[axis]), std::abs(box.high[axis]));
    box.high[axis] = std::max(box.high[axis], box.low[axis] + 1e-6F * std::max(1.0F, size));
  }
  return box;
}

std::vector<std::uint16_t> quantise(std::span<const float> points, const Box& box) {
  std::vector<std::uint16_t> packed(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double low = box.low[i % 3], edge = double(box.high[i % 3]) - low;
    packed[i] = std::uint16_t(std::lround(std::clamp((points[i] - low) / edge, 0.0, 1.0) * 65535));
  }
  return packed;
}

std::vector<std::uint8_t> quantise(std::span<const float> values, float largest) {
  std::vector<std::uint8_t> packed(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    packed[i] =
        largest > 0 ? std::uint8_t(std::lround(std::clamp(values[i] / largest, 0.0F, 1.0F) * 255)) : 0;
  return packed;
}

std::string base64(const void* data, std::size_t size) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::string text;
  text.reserve((size + 2) / 3 * 4);
  for (std::size_t i = 0; i < size; i += 3) {
    const std::size_t left = size - i;
    const unsigned word = unsigned(bytes[i]) << 16 | (left > 1 ? unsigned(bytes[i + 1]) << 8 : 0) |
                          (left > 2 ? unsigned(bytes[i + 2]) : 0);
    text += kDigits[word >> 18];
    text += kDigits[word >> 12 & 63];
    text += left > 1 ? kDigits[word >> 6 & 63] : '=';
    text += left > 2 ? kDigits[word & 63] : '=';
  }
  return text;
}

}  // namespace costate::view
