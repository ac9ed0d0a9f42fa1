// A model of material points where the threads of a device can read it: constants, materials with their
// particles, colliders with their shapes. Tests: tests/cuda/device_points_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/cuda/device.h"
#include "costate/cuda/mpm/points_bodies.h"
#include "costate/cuda/mpm/points_field.h"
#include "costate/cuda/mpm/points_particle.h"
#include "costate/mpm/layout.h"

namespace costate::cuda {

// Throws an Error that names what of a model has no kernels for a device, and what to do.
void refuse_on_device(const mpm::Model& model, const std::string& device);

template <class Real, int D>
class PointsImage {
 public:
  PointsImage(const Device& device, const mpm::Model& model);

  const mpm::Layout& layout() const { return layout_; }
  const PointsField<Real, D>& field() const { return field_; }
  const std::vector<PointsMaterial<Real>>& materials() const { return materials_; }
  mpm::MaterialKind kind(std::size_t material) const { return kinds_[material]; }
  const DeviceCollider* colliders() const { return colliders_.data(); }
  int collider_count() const { return collider_count_; }
  // The shapes of the bodies that particles push follow the colliders.
  const DeviceCollider* bodies() const { return colliders_.data() + collider_count_; }
  bool moves() const { return moves_; }  // some collider does
  // Particles of each actuator, one after the other: places begin[a] ... begin[a + 1] - 1.
  int actuators() const { return actuators_; }
  const int* actuator_list() const { return actuator_list_.data(); }
  const int* actuator_begin() const { return actuator_begin_.data(); }

 private:
  void set_field(const mpm::Model& model);
  void list_materials(const mpm::Model& model);
  void list_actuators(const mpm::Model& model);
  void copy_colliders(const Device& device, const mpm::Model& model);

  const mpm::Layout layout_;
  PointsField<Real, D> field_{};
  std::vector<PointsMaterial<Real>> materials_;
  std::vector<mpm::MaterialKind> kinds_;
  int collider_count_ = 0, actuators_ = 0;
  bool moves_ = false;
  DeviceArray<Real> volume_;
  DeviceArray<int> lists_, actuator_, actuator_list_, actuator_begin_;
  DeviceArray<DeviceCollider> colliders_;
  DeviceArray<std::array<double, 2>> profiles_;
  DeviceArray<DeviceLattice> lattices_;
  std::vector<DeviceArray<double>> distances_;
};

extern template class PointsImage<float, 2>;
extern template class PointsImage<float, 3>;
extern template class PointsImage<double, 2>;
extern template class PointsImage<double, 3>;

}  // namespace costate::cuda
