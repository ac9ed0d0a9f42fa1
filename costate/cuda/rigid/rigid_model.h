// A model as the threads of a device read it: the stepper of the CPU (rigid/step/step.h), copied to the
// device vector by vector, with pointers that are the device's.
//
// Host and device agree on the layout: a std::vector is three pointers (libstdc++ and device_standard.h), and
// all else is numbers. The kernels say how large they find a Stepper, and whoever loads them compares.
// Tests: tests/cuda/device_rigid_test.cpp.
#pragma once

#include "costate/cuda/device.h"
#include "costate/rigid/step/step.h"
#include "costate/system/activity.h"

namespace costate::cuda {

// Throws an Error that names what of a model has no kernels for a device, and what to do.
void refuse_on_device(const rigid::Stepper& stepper, const std::string& device);

template <class Real>
class RigidImage {
 public:
  RigidImage(const Device& device, const rigid::Stepper& stepper, const Activity& activity);

  // Parameters that all worlds share, or null.
  void load(const Real* p);
  const Real* parameters() const { return shared_ ? p_.data() : nullptr; }  // prepared, on the device
  std::int64_t tape_numbers() const { return tape_numbers_; }               // of a step

  const rigid::Stepper* stepper() const;
  const Activity* activity() const;  // as device_standard.h lays it out: flags are bytes
  bool frames() const { return frames_; }

 private:
  DeviceArray<char> memory_;
  DeviceArray<Real> p_;
  const rigid::ParameterMap map_;
  std::int64_t stepper_at_ = 0, activity_at_ = 0, tape_numbers_ = 0;
  bool frames_ = false, shared_ = false;
};

extern template class RigidImage<float>;
extern template class RigidImage<double>;

}  // namespace costate::cuda
