// Numbers in error messages, as short as they are exact enough to act on: 0.0005 rather than 0.000500, 3e-07 rather than 0.000000.
#pragma once

#include <cstdio>
#include <string>

namespace costate::mpm {

inline std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

}  // namespace costate::mpm
