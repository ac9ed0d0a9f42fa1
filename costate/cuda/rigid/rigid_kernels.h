// RigidKernels: rigid bodies as DeviceKernels, where the host is in the role of a device. A GPU runs the same
// threads from code that NVRTC has compiled: cuda_rigid.cpp.
#pragma once

#include "costate/cuda/kernels.h"
#include "costate/cuda/rigid/rigid_model.h"
#include "costate/cuda/rigid/split_thread.h"

namespace costate::cuda {

template <class Real, class Exec>
class RigidKernels final : public DeviceKernels<Real> {
 public:
  RigidKernels(const Device& device, Exec exec, const rigid::Stepper& stepper, const Activity& activity)
      : exec_(exec), image_(device, stepper, activity), activity_(activity) {}

  bool samples_norms() const override { return true; }
  std::int64_t tape_numbers() const override { return image_.tape_numbers(); }
  void load(const Real* p, const Real*) override { image_.load(p); }

  void advance(const DeviceRun<Real>& run, const Real* from, Real* to, char* diverged) override {
    record(run, from, to, {nullptr, 0}, diverged);
  }
  void record(const DeviceRun<Real>& run, const Real* from, Real* to, const DeviceTape<Real>& tape,
              char* diverged) override {
    exec_.launch(run.worlds, [&](std::int64_t i) {
      const RigidModel m = model();
      (m.stepper->split ? advance_split<Real> : advance_rigid<Real>)(m, run, {i, true}, from, to, tape,
                                                                     diverged);
    });
  }
  void reverse(const DeviceRun<Real>& run, const DeviceTape<Real>& tape,
               const DeviceCotangents<Real>& bar) override {
    exec_.launch(run.worlds, [&](std::int64_t i) {
      const RigidModel m = model();
      (m.stepper->split ? reverse_split<Real> : reverse_rigid<Real>)(m, run, {i, true}, tape, bar);
    });
  }

 private:
  // The image of the model; the host's own activity, whose flags are bits.
  RigidModel model() const { return {image_.stepper(), &activity_, image_.frames(), image_.parameters()}; }

  Exec exec_;
  RigidImage<Real> image_;
  Activity activity_;
};

}  // namespace costate::cuda
