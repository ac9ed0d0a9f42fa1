#include "costate/ad/machine/code_memory.h"

#include <new>

#if defined(__x86_64__) && defined(__unix__)
#include <sys/mman.h>
#define COSTATE_MACHINE_CODE 1
#endif

namespace costate::ad {

#if defined(COSTATE_MACHINE_CODE)

bool machine_code_possible(int bytes) {
  __builtin_cpu_init();
  if (bytes == 64) return __builtin_cpu_supports("avx512f");
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

void* allocate_pages(std::size_t bytes) {
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

bool make_executable(void* pages, std::size_t bytes) {
  return mprotect(pages, bytes, PROT_READ | PROT_EXEC) == 0;
}

void free_pages(void* pages, std::size_t bytes) { munmap(pages, bytes); }

#else

bool machine_code_possible(int) { return false; }
void* allocate_pages(std::size_t) { return nullptr; }
bool make_executable(void*, std::size_t) { return false; }
void free_pages(void*, std::size_t) {}

#endif

void* PageResource::do_allocate(std::size_t bytes, std::size_t) {
  void* const pages = allocate_pages(bytes);
  if (pages == nullptr) throw std::bad_alloc();
  return pages;
}

void PageResource::do_deallocate(void* pages, std::size_t bytes, std::size_t) { free_pages(pages, bytes); }

}  // namespace costate::ad
