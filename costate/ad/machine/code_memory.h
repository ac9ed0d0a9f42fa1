// Pages for machine code: written first, then executable, never both (W^X). And pages for the work of writing
// it, so that making code during a run leaves the heap alone. On systems without mmap, or where making pages
// executable is refused, allocate_pages() returns null.
#pragma once

#include <cstddef>
#include <memory_resource>

namespace costate::ad {

// What the processor that runs this can execute, for vectors of `bytes`.
bool machine_code_possible(int bytes);

void* allocate_pages(std::size_t bytes);               // readable and writable; null if refused
bool make_executable(void* pages, std::size_t bytes);  // and no longer writable
void free_pages(void* pages, std::size_t bytes);

// Memory straight from the system. Throws std::bad_alloc.
class PageResource final : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* pages, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace costate::ad
