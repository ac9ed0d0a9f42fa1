// AlignedBuffer: numbers on a cache-line boundary, not initialised, kept for reuse. Growing drops the
// content. Large ones ask for huge pages: a recorded trajectory of gigabytes otherwise costs more in page
// faults than in physics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "costate/core/platform.h"

namespace costate {

template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::int64_t size) { reserve(size); }
  ~AlignedBuffer() { release(); }
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  void reserve(std::int64_t size) {
    if (size <= capacity_) return;
    release();
    const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
    data_ = static_cast<T*>(::operator new(bytes, std::align_val_t(alignment(bytes))));
    capacity_ = size;
#if defined(__linux__)
    if (bytes >= kHugePage)
      madvise(data_, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish: failure changes nothing
#endif
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t capacity() const { return capacity_; }
  std::int64_t bytes() const { return capacity_ * std::int64_t(sizeof(T)); }

 private:
  static constexpr std::size_t kHugePage = std::size_t(2) << 20;
  static constexpr std::size_t alignment(std::size_t bytes) {
    return bytes >= kHugePage ? kHugePage : std::size_t(kAlignment);
  }
  void release() {
    if (data_)
      ::operator delete(data_, std::align_val_t(alignment(static_cast<std::size_t>(capacity_) * sizeof(T))));
    data_ = nullptr;
    capacity_ = 0;
  }
  T* data_ = nullptr;
  std::int64_t capacity_ = 0;
};

}  // namespace costate
