// CudaExec: body(0), body(1), ... body(count - 1), one thread each, in the order of the default stream.
// Needs nvcc.
#pragma once

#include <cstdint>

namespace costate::cuda {

inline constexpr int kThreadsPerBlock = 128;

template <class Body>
__global__ void __launch_bounds__(kThreadsPerBlock) for_each_kernel(std::int64_t count, const Body body) {
  const std::int64_t index = std::int64_t(blockIdx.x) * kThreadsPerBlock + threadIdx.x;
  if (index < count) body(index);
}

struct CudaExec {
  template <class Body>
  void launch(std::int64_t count, const Body& body) const {
    if (count == 0) return;
    const auto blocks = unsigned((count + kThreadsPerBlock - 1) / kThreadsPerBlock);
    for_each_kernel<<<blocks, kThreadsPerBlock>>>(count, body);
  }
};

}  // namespace costate::cuda
