// AlignedBuffer: numbers on a cache-line boundary, not initialised, kept for reuse. Growing drops the content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

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
    data_ = static_cast<T*>(::operator new(static_cast<std::size_t>(size) * sizeof(T), std::align_val_t(kAlignment)));
    capacity_ = size;
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t capacity() const { return capacity_; }
  std::int64_t bytes() const { return capacity_ * std::int64_t(sizeof(T)); }

 private:
  void release() {
    if (data_) ::operator delete(data_, std::align_val_t(kAlignment));
    data_ = nullptr;
    capacity_ = 0;
  }
  T* data_ = nullptr;
  std::int64_t capacity_ = 0;
};

}  // namespace costate
