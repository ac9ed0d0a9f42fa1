// MeshLines: the words of a text file of a mesh, line by line, and the numbers in them.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "costate/core/error.h"
#include "costate/core/vec3.h"

namespace costate::io {

inline constexpr double kLargestCoordinate = 1e30;
inline bool reasonable(double x) { return std::isfinite(x) && std::abs(x) <= kLargestCoordinate; }
inline bool reasonable(const Vec3<double>& p) {
  return reasonable(p.x) && reasonable(p.y) && reasonable(p.z);
}

// With as many digits as it takes to read the same number again.
inline std::string shortest(double value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

class MeshLines {
 public:
  MeshLines(const std::string& text, const std::string& path) : text_(text), path_(path) {}

  // The words of the next line that has any.
  bool next(std::vector<std::string_view>& words) {
    words.clear();
    while (at_ < text_.size() && words.empty()) {
      ++line_;
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view rest = std::string_view(text_).substr(at_, end - at_);
      rest = rest.substr(0, rest.find('#'));
      at_ = end + 1;
      while (true) {
        const std::size_t begin = rest.find_first_not_of(" \t\r");
        if (begin == std::string_view::npos) break;
        const std::size_t length = std::min(rest.find_first_of(" \t\r", begin), rest.size()) - begin;
        words.push_back(rest.substr(begin, length));
        rest.remove_prefix(begin + length);
      }
    }
    return !words.empty();
  }
  // What follows the last line.
  std::size_t offset() const { return at_; }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error({what, path_ + ":" + std::to_string(line_), {}});
  }
  double number(std::string_view word) const {
    if (word.starts_with('+')) word.remove_prefix(1);
    double value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || stop != word.data() + word.size())
      fail("'" + std::string(word.substr(0, 40)) + "' is not a number");
    return value;
  }
  // A number that names something, from 0 to `most`.
  std::int64_t index(std::string_view word, std::int64_t most, const char* what) const {
    const double value = number(word);
    if (!(value >= 0 && value <= double(most) && value == std::floor(value)))
      fail(std::string(what) + " " + std::string(word.substr(0, 40)) + ": it is a whole number from 0 to " +
           std::to_string(most));
    return std::int64_t(value);
  }
  // How many of something follow: never more than the file has bytes.
  std::int64_t count(std::string_view word, std::size_t bytes) const {
    const double value = number(word);
    if (!(value >= 0 && value == std::floor(value)))
      fail("'" + std::string(word.substr(0, 40)) + "' is not a count");
    if (value > double(bytes))
      fail("a count of " + std::string(word.substr(0, 40)) + ": more than a file of " +
           std::to_string(bytes) + " bytes can hold");
    return std::int64_t(value);
  }
  Vec3<double> point(const std::vector<std::string_view>& words, std::size_t first) const {
    if (words.size() < first + 3) fail("a vertex needs three numbers");
    const Vec3<double> p{number(words[first]), number(words[first + 1]), number(words[first + 2])};
    if (!reasonable(p)) fail("a vertex is not finite");
    return p;
  }

 private:
  const std::string& text_;
  const std::string& path_;
  std::size_t at_ = 0;
  int line_ = 0;
};

}  // namespace costate::io
