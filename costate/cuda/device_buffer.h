// Memory of the GPU with an owner, and CUDA's errors as costate::Error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.h"

namespace costate::cuda {

// `doing` completes "cannot ...".
inline void check(cudaError_t status, const std::string& doing) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that can be got over must not be reported a second time
  std::string advice;
  if (status == cudaErrorMemoryAllocation) advice = "use fewer worlds, fewer steps, or longer segments";
  if (status == cudaErrorNoKernelImageForDevice) advice = "build for this GPU: -D COSTATE_CUDA_ARCH=native";
  throw Error({"cannot " + doing + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")",
               {},
               advice});
}

// Waits for the kernels launched so far; a launch that was refused is found here as well.
inline void finish(const std::string& doing) {
  check(cudaGetLastError(), doing);
  check(cudaDeviceSynchronize(), doing);
}

template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t size) : size_(size) {
    if (size > 0) check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), "allocate " + in_words());
  }
  explicit DeviceBuffer(const std::vector<T>& from) : DeviceBuffer(from.size()) { upload(from); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceBuffer() { cudaFree(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

  void upload(const std::vector<T>& from) {
    if (from.size() != size_)
      throw Error("expected " + std::to_string(size_) + " numbers for the GPU, got " +
                  std::to_string(from.size()));
    if (size_ > 0)
      check(cudaMemcpy(data_, from.data(), bytes(), cudaMemcpyHostToDevice),
            "copy " + in_words() + " to the GPU");
  }
  std::vector<T> download() const {
    std::vector<T> to(size_);
    if (size_ > 0)
      check(cudaMemcpy(to.data(), data_, bytes(), cudaMemcpyDeviceToHost),
            "copy " + in_words() + " from the GPU");
    return to;
  }
  void fill_bytes(int byte) {
    if (size_ > 0) check(cudaMemset(data_, byte, bytes()), "fill " + in_words() + " of the GPU");
  }

 private:
  std::size_t bytes() const { return size_ * sizeof(T); }
  std::string in_words() const { return std::to_string(bytes()) + " bytes"; }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace costate::cuda
