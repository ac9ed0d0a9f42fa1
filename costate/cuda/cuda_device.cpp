#include "costate/cuda/cuda_device.h"

#include <map>
#include <mutex>

#include "costate/core/error.h"

namespace costate::cuda {

void check(cudaError_t status, const std::string& doing) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that can be got over must not be reported a second time
  std::string advice;
  if (status == cudaErrorMemoryAllocation) advice = "use fewer worlds, or checkpoints = segments()";
  if (status == cudaErrorNoKernelImageForDevice) advice = "build for this GPU: -D COSTATE_CUDA_ARCH=native";
  throw Error({"cannot " + doing + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")",
               {},
               advice},
              Error::Kind::numerics);
}

CudaDevice::CudaDevice(int index) : index_(index) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  const std::string device = "device = \"" + name() + "\": ";
  if (status == cudaErrorInsufficientDriver)
    throw Error(
        {device + "the NVIDIA driver is missing or older than CUDA " + std::to_string(CUDART_VERSION / 1000),
         {},
         "install a newer driver, or use device = \"cpu\""});
  if (status != cudaSuccess || count == 0)
    throw Error({device + "no NVIDIA GPU was found", {}, "use device = \"cpu\""});
  if (index >= count)
    throw Error({device + "this machine has " + std::to_string(count) + " GPUs",
                 {},
                 "use \"cuda:0\" to \"cuda:" + std::to_string(count - 1) + "\""});
}

std::int64_t CudaDevice::free_bytes() const {
  std::size_t there = 0, total = 0;
  check(cudaMemGetInfo(&there, &total), "ask " + name() + " for its free memory");
  return std::int64_t(there);
}

void CudaDevice::enter() const { check(cudaSetDevice(index_), "use " + name()); }

void* CudaDevice::allocate(std::int64_t bytes) const {
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::size_t(bytes)), "allocate " + std::to_string(bytes) + " bytes on " + name());
  return memory;
}

void CudaDevice::release(void* memory) const noexcept { cudaFree(memory); }

void CudaDevice::upload(void* to, const void* from, std::int64_t bytes) const {
  check(cudaMemcpy(to, from, std::size_t(bytes), cudaMemcpyHostToDevice), "copy numbers to " + name());
}
void CudaDevice::download(void* to, const void* from, std::int64_t bytes) const {
  check(cudaMemcpy(to, from, std::size_t(bytes), cudaMemcpyDeviceToHost), "copy numbers from " + name());
}
void CudaDevice::copy(void* to, const void* from, std::int64_t bytes) const {
  check(cudaMemcpyAsync(to, from, std::size_t(bytes), cudaMemcpyDeviceToDevice), "copy numbers on " + name());
}
void CudaDevice::zero(void* to, std::int64_t bytes) const {
  check(cudaMemsetAsync(to, 0, std::size_t(bytes)), "fill memory of " + name());
}
// `later` waits for what `earlier` holds now.
static void put_in_order(cudaStream_t earlier, cudaStream_t later) {
  if (earlier == later) return;
  cudaEvent_t reached = nullptr;
  const std::string doing = "wait for a stream";
  check(cudaEventCreateWithFlags(&reached, cudaEventDisableTiming), doing);
  const cudaError_t recorded = cudaEventRecord(reached, earlier),
                    waits = recorded == cudaSuccess ? cudaStreamWaitEvent(later, reached) : recorded;
  cudaEventDestroy(reached);  // when it has been reached
  check(waits, doing);
}

// --- beside what is computed ------------------------------------------------------------------------------

void* CudaDevice::allocate_on_host(std::int64_t bytes) const {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, std::size_t(bytes), cudaHostAllocPortable),
        "set aside " + std::to_string(bytes) + " bytes of the host for " + name());
  return memory;
}
void CudaDevice::release_on_host(void* memory) const noexcept {
  if (sending_ != nullptr) cudaStreamSynchronize(sending_);
  cudaFreeHost(memory);
}

cudaStream_t CudaDevice::sending() const {
  std::call_once(begins_to_send_, [&] {
    check(cudaStreamCreateWithFlags(&sending_, cudaStreamNonBlocking), "make a stream on " + name());
  });
  return sending_;
}
void CudaDevice::send(void* to_host, const void* from, std::int64_t bytes) const {
  put_in_order(nullptr, sending());
  check(cudaMemcpyAsync(to_host, from, std::size_t(bytes), cudaMemcpyDeviceToHost, sending()),
        "send numbers from " + name());
}
void CudaDevice::sent() const { put_in_order(sending(), nullptr); }
void CudaDevice::fetch(void* to, const void* from_host, std::int64_t bytes) const {
  check(cudaMemcpyAsync(to, from_host, std::size_t(bytes), cudaMemcpyHostToDevice),
        "fetch numbers to " + name());
}

void CudaDevice::finish(const std::string& doing) const {
  check(cudaGetLastError(), doing);  // a launch that was refused
  check(cudaStreamSynchronize(nullptr), doing);
}

void CudaDevice::wait_for(void* stream) const { put_in_order(cudaStream_t(stream), nullptr); }
void CudaDevice::hold_back(void* stream) const { put_in_order(nullptr, cudaStream_t(stream)); }

std::shared_ptr<const CudaDevice> device_of(int index) {
  static std::mutex mutex;
  static std::map<int, std::shared_ptr<const CudaDevice>> made;
  const std::lock_guard lock(mutex);
  auto& device = made[index];
  if (!device) device = std::make_shared<const CudaDevice>(index);
  return device;
}

std::vector<DeviceInfo> list_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  cudaGetLastError();
  std::vector<DeviceInfo> all;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp found{};
    check(cudaGetDeviceProperties(&found, i), "describe cuda:" + std::to_string(i));
    const auto device = device_of(i);
    device->enter();
    all.push_back({device->name(),
                   std::string(found.name) + ", compute capability " + std::to_string(found.major) + "." +
                       std::to_string(found.minor),
                   std::int64_t(found.totalGlobalMem), device->free_bytes()});
  }
  return all;
}

}  // namespace costate::cuda
