#include "costate/core/text.h"

#include <charconv>
#include <cstdio>

namespace costate {
namespace {

constexpr int kLongest = 32;  // characters of a double with 17 digits, sign and exponent: 24

template <class... Format>
std::string written(double value, Format... format) {
  char text[kLongest];
  return {text, std::to_chars(text, text + kLongest, value, format...).ptr};
}

}  // namespace

std::string number(double value, int digits) { return written(value, std::chars_format::general, digits); }

std::string scientific(double value, int decimals) {
  return written(value, std::chars_format::scientific, decimals);
}

std::string in_words(const char* format, double a, double b) {
  char text[160];
  std::snprintf(text, sizeof text, format, a, b);
  return text;
}

std::string exact_number(double value) {
  for (int digits = 1; digits < 17; ++digits) {
    std::string text = number(value, digits);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    if (back == value) return text;
  }
  return number(value, 17);
}

}  // namespace costate
