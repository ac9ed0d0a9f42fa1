#include "costate/cuda/mpm/points_model.h"

#include <algorithm>

#include "costate/core/error.h"
#include "costate/mpm/bodies/mechanism.h"
#include "costate/mpm/transfer/spline.h"

namespace costate::cuda {

void refuse_on_device(const mpm::Model& model, const std::string& device) {
  std::int64_t nodes = 1;
  for (int a = 0; a < model.dimension; ++a) nodes *= model.nodes[std::size_t(a)];
  if (nodes >= INT32_MAX || particle_count(model) >= INT32_MAX)
    throw Error("material points on " + device + " have fewer than 2^31 particles and nodes");
}

template <class Real, int D>
PointsImage<Real, D>::PointsImage(const Device& device, const mpm::Model& model)
    : layout_(model),
      volume_(device),
      lists_(device),
      actuator_(device),
      actuator_list_(device),
      actuator_begin_(device),
      colliders_(device),
      profiles_(device),
      lattices_(device) {
  set_field(model);
  list_materials(model);
  list_actuators(model);
  copy_colliders(device, model);
}

template <class Real, int D>
void PointsImage<Real, D>::set_field(const mpm::Model& model) {
  const bool cubic = model.kernel == mpm::Kernel::cubic;
  const int taps = cubic ? 4 : 3;
  field_.node_count = 1;
  field_.first_shift = Real(cubic ? mpm::kFirstNodeShift<4> : mpm::kFirstNodeShift<3>);
  field_.inverse_moment = Real(cubic ? mpm::kInverseMoment<4> : mpm::kInverseMoment<3>);
  for (int a = 0; a < D; ++a) {
    const auto i = std::size_t(a);
    field_.nodes[a] = model.nodes[i];
    field_.node_count *= model.nodes[i];
    field_.origin[a] = model.origin[i];
    field_.shift[a] = Real(model.origin[i] / model.dx + double(field_.first_shift));
    field_.limit[a] = Real(model.nodes[i] - taps + 1);
  }
  for (std::size_t face = 0; face < 2 * D; ++face)
    field_.walls[face] = {model.walls[face].contact, model.walls[face].nodes};
  field_.spacing = model.dx;
  field_.dx = Real(model.dx), field_.inverse_dx = Real(1 / model.dx);
  field_.courant = Real(model.largest_courant);
  field_.particles = layout_.particles, field_.states = layout_.signature.states();
  field_.x = layout_.x, field_.v = layout_.v, field_.C = layout_.C, field_.F = layout_.F;
  field_.plastic = layout_.plastic;
  field_.gravity = layout_.gravity, field_.dt = layout_.dt, field_.friction = layout_.wall_friction;
  field_.actuation = layout_.actuation;
  field_.floor = Real(layout_.mass_floor(model, sizeof(Real) == 8));
  const std::vector<Real> volume(layout_.volume.begin(), layout_.volume.end());
  field_.same_volume = std::ranges::all_of(volume, [&](Real v) { return v == volume[0]; });
  volume_.upload(volume.data(), field_.same_volume ? 1 : std::int64_t(volume.size()));
  field_.volume = volume_.data();
}

// Materials that hold all particles need no list.
template <class Real, int D>
void PointsImage<Real, D>::list_materials(const mpm::Model& model) {
  const std::size_t count = model.materials.size();
  std::vector<int> all;
  std::vector<std::int64_t> first(count + 1);
  for (std::size_t m = 0; m < count; ++m) {
    first[m] = std::int64_t(all.size());
    for (std::int64_t p = 0; p < layout_.particles; ++p)
      if (layout_.material[std::size_t(p)] == std::int32_t(m)) all.push_back(int(p));
  }
  first[count] = std::int64_t(all.size());
  lists_.upload(all.data(), std::int64_t(all.size()));
  actuator_.upload(layout_.actuator.data(), std::int64_t(layout_.actuator.size()));
  for (std::size_t m = 0; m < count; ++m) {
    PointsMaterial<Real>& to = materials_.emplace_back();
    kinds_.push_back(model.materials[m].kind);
    const auto& numbers = layout_.materials[m].numbers;
    to.numbers = int(numbers.size());
    for (std::size_t n = 0; n < numbers.size(); ++n)
      to.offset[n] = numbers[n].offset, to.per_particle[n] = numbers[n].per_particle;
    to.contracts = layout_.materials[m].contracts;
    for (std::size_t a = 0; a < 3; ++a) to.fibre[a] = Real(model.materials[m].fibre[a]);
    to.actuator = actuator_.data();
    to.first = first[m], to.count = first[m + 1] - first[m];
    to.list = to.count == layout_.particles ? nullptr : lists_.data() + first[m];
  }
}

template <class Real, int D>
void PointsImage<Real, D>::list_actuators(const mpm::Model& model) {
  actuators_ = model.actuators;
  std::vector<int> list, begin;
  for (int a = 0; a < actuators_; ++a) {
    begin.push_back(int(list.size()));
    for (std::int64_t p = 0; p < layout_.particles; ++p)
      if (layout_.actuator[std::size_t(p)] == a) list.push_back(int(p));
  }
  begin.push_back(int(list.size()));
  actuator_list_.upload(list.data(), std::int64_t(list.size()));
  actuator_begin_.upload(begin.data(), std::int64_t(begin.size()));
}

template <class Real, int D>
void PointsImage<Real, D>::copy_colliders(const Device& device, const mpm::Model& model) {
  std::vector<mpm::Collider> shapes = model.colliders;
  for (const mpm::Layout::Moved& moved : layout_.moved)
    shapes.insert(shapes.end(), moved.by->shapes().begin(), moved.by->shapes().end());
  std::vector<std::array<double, 2>> profiles;
  std::vector<DeviceLattice> lattices;
  for (const mpm::Collider& c : shapes) {
    profiles.insert(profiles.end(), c.shape.profile.begin(), c.shape.profile.end());
    if (!c.shape.lattice) continue;
    const mpm::DistanceLattice& from = *c.shape.lattice;
    distances_.emplace_back(device).upload(from.phi.data(), std::int64_t(from.phi.size()));
    DeviceLattice& to = lattices.emplace_back();
    std::ranges::copy(from.points, to.points);
    std::ranges::copy(from.origin, to.origin);
    to.spacing = from.spacing, to.phi = distances_.back().data();
  }
  profiles_.upload(profiles.data(), std::int64_t(profiles.size()));
  lattices_.upload(lattices.data(), std::int64_t(lattices.size()));
  std::vector<DeviceCollider> all;
  const std::array<double, 2>* profile = profiles_.data();
  const DeviceLattice* lattice = lattices_.data();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const mpm::Collider& c = shapes[i];
    DeviceCollider& to = all.emplace_back();
    to.shape.kind = c.shape.kind;
    std::ranges::copy(c.shape.size, to.shape.size);
    to.shape.profile = {profile, c.shape.profile.size()};
    profile += c.shape.profile.size();
    to.shape.lattice = c.shape.lattice ? lattice++ : nullptr;
    to.contact = c.contact, to.band = c.band;
    if (i >= layout_.colliders.size()) continue;
    to.numbers = layout_.colliders[i];
    moves_ = moves_ || c.moves;
  }
  colliders_.upload(all.data(), std::int64_t(all.size()));
  collider_count_ = int(layout_.colliders.size());
}

template class PointsImage<float, 2>;
template class PointsImage<float, 3>;
template class PointsImage<double, 2>;
template class PointsImage<double, 3>;

}  // namespace costate::cuda
