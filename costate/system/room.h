// Refuses what this machine has no room for before it is asked for: otherwise its memory is filled first,
// which takes long and ends in std::bad_alloc.
//
// Tests: tests/system/rollout_test.cpp, tests/system/linearize_test.cpp.
#pragma once

#include <string>

namespace costate {

double memory_bytes();  // of this machine

// An Error: `what` "take 51.5 GB, and this machine has 24.9 GB".
void expect_room(const std::string& what, double bytes, const std::string& advice);

}  // namespace costate
