// One thread an item: how kernels are launched, and which item a thread has.
// Needs nvcc.
#pragma once

#include <cstdint>

namespace costate::cuda {

inline constexpr int kThreadsPerBlock = 128;

inline unsigned blocks_for(std::int64_t items) {
  return unsigned((items + kThreadsPerBlock - 1) / kThreadsPerBlock);
}

inline __device__ std::int64_t thread_index() { return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }

}  // namespace costate::cuda
