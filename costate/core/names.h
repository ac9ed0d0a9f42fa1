// Names that people misspell: what they may have meant.
// Tests: tests/core/names_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace costate {

// The candidate nearest to `name` in spelling, or "" if none is near enough to be meant.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// The three candidates nearest to `name`, best first, however far.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace costate
