// CudaDevice: one NVIDIA GPU, and CUDA's errors as costate::Error. The driver is loaded when the first GPU is
// asked for, so that a program with this in it also runs where there is none.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "costate/cuda/device.h"
#include "costate/system/devices.h"

namespace costate::cuda {

// `doing` completes "cannot ...".
void check(cudaError_t status, const std::string& doing);

class CudaDevice final : public Device {
 public:
  // An Error if there is no GPU of that number.
  explicit CudaDevice(int index);

  std::string name() const override { return "cuda:" + std::to_string(index_); }
  std::int64_t free_bytes() const override;
  void enter() const override;
  void* allocate(std::int64_t bytes) const override;
  void release(void* memory) const noexcept override;
  void upload(void* to, const void* from, std::int64_t bytes) const override;
  void download(void* to, const void* from, std::int64_t bytes) const override;
  void copy(void* to, const void* from, std::int64_t bytes) const override;
  void zero(void* to, std::int64_t bytes) const override;
  void* allocate_on_host(std::int64_t bytes) const override;
  void release_on_host(void* memory) const noexcept override;
  void send(void* to_host, const void* from, std::int64_t bytes) const override;
  void sent() const override;
  void fetch(void* to, const void* from_host, std::int64_t bytes) const override;
  void finish(const std::string& doing) const override;
  void wait_for(void* stream) const override;
  void hold_back(void* stream) const override;

 private:
  cudaStream_t sending() const;

  int index_;
  mutable std::once_flag begins_to_send_;
  mutable cudaStream_t sending_ = nullptr;  // made when something is first sent; never destroyed: kernels may
                                            // still be running at exit
};

std::shared_ptr<const CudaDevice> device_of(int index);  // made once
std::vector<DeviceInfo> list_devices();

}  // namespace costate::cuda
