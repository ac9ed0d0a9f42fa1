// CudaExec: body(0), body(1), ... body(count - 1), one thread each, in the order of the default stream; or
// body(i, j) for the cells of a grid. Needs nvcc.
#pragma once

#include <cstdint>

namespace costate::cuda {

inline constexpr int kThreadsPerBlock = 128;

template <class Body>
__global__ void __launch_bounds__(kThreadsPerBlock) for_each_kernel(std::int64_t count, const Body body) {
  const std::int64_t index = std::int64_t(blockIdx.x) * kThreadsPerBlock + threadIdx.x;
  if (index < count) body(index);
}

// Blocks of a grid are tiles, so that neighbours in both directions mostly find what they read in the cache
// of their multiprocessor.
inline constexpr int kTileX = 64, kTileY = 8;

// No loop around the body: what it needs at the sides alone would be computed in front of the loop, by every
// thread.
template <class Body>
__global__ void __launch_bounds__(kTileX* kTileY) for_each_cell_kernel(int nx, int ny, const Body body) {
  const int i = int(blockIdx.x) * kTileX + int(threadIdx.x),
            j = int(blockIdx.z * gridDim.y + blockIdx.y) * kTileY + int(threadIdx.y);
  if (i < nx && j < ny) body(i, j);
}

struct CudaExec {
  template <class Body>
  void launch(std::int64_t count, const Body& body) const {
    if (count == 0) return;
    const auto blocks = unsigned((count + kThreadsPerBlock - 1) / kThreadsPerBlock);
    for_each_kernel<<<blocks, kThreadsPerBlock>>>(count, body);
  }
  template <class Body>
  void launch_cells(int nx, int ny, const Body& body) const {
    constexpr int kMostRows = 65535;  // of blocks, along y
    const int rows = (ny + kTileY - 1) / kTileY, columns = (nx + kTileX - 1) / kTileX;
    const dim3 blocks(unsigned(columns), unsigned(rows < kMostRows ? rows : kMostRows),
                      unsigned((rows + kMostRows - 1) / kMostRows));
    for_each_cell_kernel<<<blocks, dim3(kTileX, kTileY)>>>(nx, ny, body);
  }
};

}  // namespace costate::cuda
