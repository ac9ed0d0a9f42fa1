// main() of the GPU's tests. Without a GPU it ends with status 77, which ctest counts as skipped. No
// floating-point traps: the driver is not ours.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  cudaDeviceProp device{};
  const cudaError_t status = cudaGetDeviceProperties(&device, 0);
  if (status != cudaSuccess) {
    std::printf("no GPU to test on: %s\n", cudaGetErrorString(status));
    return 77;
  }
  std::printf("%s, compute capability %d.%d, %.0f GiB\n", device.name, device.major, device.minor,
              double(device.totalGlobalMem) / (1 << 30));
  return RUN_ALL_TESTS();
}
