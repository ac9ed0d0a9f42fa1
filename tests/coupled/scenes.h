// What tests of scene files share.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace costate::io::test {

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace costate::io::test
