#include "tests/allocation_guard.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace costate::test {
namespace {
std::atomic<std::int64_t> count{0};
}
std::int64_t allocations_so_far() { return count.load(); }
}  // namespace costate::test

// The sanitizers bring their own operators; counting is left to the plain build.
#if !defined(__SANITIZE_ADDRESS__)
namespace {
void* counted(std::size_t size, std::size_t alignment) {
  costate::test::count.fetch_add(1, std::memory_order_relaxed);
  void* p = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace
void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#endif
