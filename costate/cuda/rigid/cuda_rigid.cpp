#include "costate/cuda/rigid/cuda_rigid.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/cuda/cuda_device.h"
#include "costate/cuda/rigid/rigid_model.h"
#include "costate/rigid/rigid_stepper.h"

#if defined(COSTATE_RIGID_KERNELS)
extern "C" const char costate_rigid_float[], costate_rigid_double[];  // by the build: rigid_code.cpp
#endif

namespace costate::cuda {
namespace {

template <class Real>
constexpr unsigned kMostThreads = sizeof(Real) == 4 ? 512 : 384;  // per block: rigid_entries.h
constexpr unsigned kThreadsInParts = 32;  // where steps are cut: nobody waits for another warp's parts
constexpr std::size_t kFrame = 16 << 10,  // bytes of stack besides the scratch
    kFrameInParts = 24 << 10;             // where steps are cut
constexpr std::size_t kArena = 16;        // bytes of shared memory per thread: device_standard.h

// As rigid_thread.h has it.
struct Model {
  const rigid::Stepper* stepper;
  const Activity* active;
  bool frames;
  const void* p;
};

struct Entries {
  cudaKernel_t advance, reverse, advance_in_parts, reverse_in_parts, measure;
};

// The machine code, or an Error where the library was built without it.
template <class Real>
const char* machine_code() {
#if defined(COSTATE_RIGID_KERNELS)
  return sizeof(Real) == 8 ? costate_rigid_double : costate_rigid_float;
#else
  throw Error({"this library was built without the kernels of rigid bodies, which take minutes to compile",
               {},
               "configure it with -D COSTATE_CUDA=ON (cmake --preset cuda), or use device = \"cpu\""});
#endif
}

// Loaded once per process and device; never unloaded, because kernels may still be running at exit.
template <class Real>
Entries entries_of(int device) {
  static std::mutex mutex;
  static std::map<int, Entries> loaded;
  const std::lock_guard lock(mutex);
  if (const auto found = loaded.find(device); found != loaded.end()) return found->second;
  cudaLibrary_t library = nullptr;
  check(cudaLibraryLoadData(&library, machine_code<Real>(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "load the kernels of rigid bodies");
  const auto entry = [&](const char* name) {
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, library, name), "find a kernel of rigid bodies");
    return kernel;
  };
  return loaded
      .emplace(device, Entries{entry("advance"), entry("reverse"), entry("advance_in_parts"),
                               entry("reverse_in_parts"), entry("measure")})
      .first->second;
}

template <class... Arguments>
void launch(cudaKernel_t kernel, std::int64_t worlds, unsigned threads, Arguments... arguments) {
  void* pointers[] = {&arguments...};
  const auto blocks = unsigned((worlds + threads - 1) / threads);
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads), pointers,
                         threads * kArena, nullptr),
        "launch the kernels of rigid bodies");
}

template <class Real>
class CudaRigidKernels final : public DeviceKernels<Real> {
 public:
  CudaRigidKernels(int index, const Device& device, const rigid::Stepper& stepper, const Activity& activity)
      : entries_(entries_of<Real>(index)), image_(device, stepper, activity), split_(stepper.split) {
    model_ = {image_.stepper(), image_.activity(), image_.frames(), nullptr};
    DeviceArray<std::size_t> sizes(device);
    sizes.reserve(2);
    launch(entries_.measure, 1, 32, model_, sizes.data());
    device.finish("measure the scratch of rigid bodies");
    const std::vector<std::size_t> found = sizes.download(2);
    if (found[1] != sizeof(rigid::Stepper))
      throw Error("the kernels of rigid bodies were compiled from other sources: build the library again");
    scratch_ = found[0];
    reserve_stacks(index, device);
  }

  bool samples_norms() const override { return true; }
  std::int64_t tape_numbers() const override { return image_.tape_numbers(); }
  void load(const Real* p, const Real*) override {
    image_.load(p);
    model_.p = image_.parameters();
  }

  void advance(const DeviceRun<Real>& run, const Real* from, Real* to, char* diverged) override {
    record(run, from, to, {nullptr, 0}, diverged);
  }
  void record(const DeviceRun<Real>& run, const Real* from, Real* to, const DeviceTape<Real>& tape,
              char* diverged) override {
    launch(split_ ? entries_.advance_in_parts : entries_.advance, run.worlds, threads(run.worlds), model_,
           scratch_, run, from, to, tape, diverged);
  }
  void reverse(const DeviceRun<Real>& run, const DeviceTape<Real>& tape,
               const DeviceCotangents<Real>& bar) override {
    launch(split_ ? entries_.reverse_in_parts : entries_.reverse, run.worlds, threads(run.worlds), model_,
           scratch_, run, tape, bar);
  }

 private:
  // The warps of a block keep in step, so that a multiprocessor fetches their instructions once
  // (rigid/step/in_step.h). Few worlds are dealt out to all multiprocessors instead.
  unsigned threads(std::int64_t worlds) const {
    if (split_) return kThreadsInParts;
    const std::int64_t each = (worlds + processors_ - 1) / processors_;
    return unsigned(std::clamp<std::int64_t>((each + 31) / 32 * 32, 32, kMostThreads<Real>));
  }
  // A GPU sets aside a stack for every thread it could run at the same time.
  void reserve_stacks(int index, const Device& device) {
    int threads = 0;
    check(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, index), "describe the GPU");
    check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, index),
          "describe the GPU");
    std::size_t before = 0;
    check(cudaDeviceGetLimit(&before, cudaLimitStackSize), "ask for the size of a stack");
    const std::size_t wanted = scratch_ + (split_ ? kFrameInParts : kFrame);
    if (wanted <= before) return;
    const double each = double(processors_) * threads, needed = each * double(wanted - before);
    const double there = double(device.free_bytes());
    constexpr std::size_t kLargest = 512 << 10;
    if (needed > there || wanted > kLargest)
      throw Error({"a world of this model needs " + number(1e-3 * double(scratch_), 3) +
                       " kB of scratch, for each of the " + number(each, 6) + " threads of " + device.name() +
                       ": " + number(1e-9 * needed, 3) + " GB, and " + number(1e-9 * there, 3) +
                       " GB are free",
                   {},
                   "exclude pairs of geoms that never touch, or use device = \"cpu\""});
    check(cudaDeviceSetLimit(cudaLimitStackSize, wanted), "set aside stacks for rigid bodies");
  }

  Entries entries_;
  RigidImage<Real> image_;
  Model model_{};
  bool split_;  // steps are cut where contacts begin and end
  int processors_ = 1;
  std::size_t scratch_ = 0;
};

}  // namespace

template <class Real>
std::unique_ptr<DeviceKernels<Real>> cuda_rigid_kernels(int device, const System<Real>& system,
                                                        const Activity& activity) {
  const rigid::Stepper& stepper = rigid::stepper_of(system);
  const auto on = device_of(device);
  refuse_on_device(stepper, on->name());
  return std::make_unique<CudaRigidKernels<Real>>(device, *on, stepper, activity);
}
template std::unique_ptr<DeviceKernels<float>> cuda_rigid_kernels(int, const System<float>&, const Activity&);
template std::unique_ptr<DeviceKernels<double>> cuda_rigid_kernels(int, const System<double>&,
                                                                   const Activity&);

}  // namespace costate::cuda
