#include "costate/cuda/program_kernels.h"

#include <map>
#include <mutex>

#include "costate/cuda/cuda_device.h"
#include "costate/cuda/cuda_kernels.h"
#include "costate/cuda/nvrtc.h"
#include "costate/cuda/program_source.h"
#include "costate/system/program/recorded_step.h"

namespace costate::cuda {
namespace {

struct Entries {
  cudaKernel_t advance, record, reverse;
};

// Loaded once per process, device and source; never unloaded, because kernels may still be running at exit.
Entries load(int device, const std::string& source) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::string>, Entries> loaded;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = loaded.try_emplace({device, source});
  if (!is_new) return at->second;
  try {
    int major = 0, minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "describe the GPU");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "describe the GPU");
    const std::vector<char> code = compile(source, major, minor);
    cudaLibrary_t library = nullptr;
    check(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "load a compiled physics");
    const auto entry = [&](const char* name) {
      cudaKernel_t kernel = nullptr;
      check(cudaLibraryGetKernel(&kernel, library, name), "find a kernel of a compiled physics");
      return kernel;
    };
    at->second = {entry("advance"), entry("record"), entry("reverse")};
  } catch (...) {
    loaded.erase(at);
    throw;
  }
  return at->second;
}

template <class Real>
class ProgramKernels final : public DeviceKernels<Real> {
 public:
  ProgramKernels(const Entries& entries, int segment) : entries_(entries), segment_(segment) {}

  int segment() const override { return segment_; }
  bool samples_norms() const override { return true; }

  void advance(const DeviceRun<Real>& run, const Real* from, Real* to, char* diverged) override {
    launch(entries_.advance, run, from, to, diverged);
  }
  void record(const DeviceRun<Real>& run, const Real* from, Real* to, const DeviceTape<Real>& tape,
              char* diverged) override {
    launch(entries_.record, run, from, to, tape, diverged);
  }
  void reverse(const DeviceRun<Real>& run, const DeviceTape<Real>& tape,
               const DeviceCotangents<Real>& bar) override {
    launch(entries_.reverse, run, tape, bar);
  }

 private:
  template <class... Arguments>
  static void launch(cudaKernel_t kernel, const DeviceRun<Real>& run, Arguments... arguments) {
    constexpr unsigned kThreads = 128;  // program_source.cpp
    DeviceRun<Real> first = run;
    void* pointers[] = {&first, &arguments...};
    const auto blocks = unsigned((run.worlds + kThreads - 1) / kThreads);
    check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(kThreads), pointers, 0,
                           nullptr),
          "launch a compiled physics");
  }
  Entries entries_;
  int segment_;
};

}  // namespace

template <class Real>
std::unique_ptr<DeviceKernels<Real>> cuda_program_kernels(int device, const System<Real>& system,
                                                          const Activity& activity) {
  const Signature& signature = system.signature();
  const ad::Program& bound = dynamic_cast<const RecordedStep&>(system).program();
  if (!has_nvrtc()) return cuda_program_walker<Real>(*device_of(device), signature, bound, activity);
  const std::string source = program_source(signature, bound, activity, sizeof(Real) == 8);
  return std::make_unique<ProgramKernels<Real>>(load(device, source),
                                                program_segment(signature.states(), bound));
}
template std::unique_ptr<DeviceKernels<float>> cuda_program_kernels(int, const System<float>&,
                                                                    const Activity&);
template std::unique_ptr<DeviceKernels<double>> cuda_program_kernels(int, const System<double>&,
                                                                     const Activity&);

}  // namespace costate::cuda
