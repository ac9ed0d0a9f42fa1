// Words in messages: names that people misspell and what they may have meant, and things counted.
// Tests: tests/core/names_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace costate {

// The candidate nearest to `name` in spelling, or "" if none is near enough to be meant.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// The three candidates nearest to `name`, best first, however far.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates);

// "1 world", "3 worlds"; "2 bodies" with a plural of its own.
std::string counted(std::int64_t n, std::string_view one, std::string_view many = {});

}  // namespace costate
