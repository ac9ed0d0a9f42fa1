// AllocationGuard counts the calls of operator new, on all threads, while it lives. The replacement operators
// are in allocation_guard.cpp, linked into every test executable.
#pragma once

#include <cstdint>

namespace costate::test {

std::int64_t allocations_so_far();

class AllocationGuard {
 public:
  AllocationGuard() : start_(allocations_so_far()) {}
  std::int64_t count() const { return allocations_so_far() - start_; }

 private:
  std::int64_t start_;
};

}  // namespace costate::test
