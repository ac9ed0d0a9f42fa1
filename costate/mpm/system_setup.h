// MaterialPoints from a model: constants, the sizes of its scratch, and the errors of a step in words.
#pragma once

#include <cmath>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/mpm/system_stages.h"

namespace costate::mpm {

template <class Real, int D, int kTaps>
MaterialPoints<Real, D, kTaps>::MaterialPoints(const Model& model)
    : model_(model), layout_(model), grid_(model) {
  for (const Layout::Moved& moved : layout_.moved)
    body_shapes_.insert(body_shapes_.end(), moved.by->shapes().begin(), moved.by->shapes().end());
  constants_.layout = &layout_;
  constants_.model = &model_;
  constants_.volume.assign(layout_.volume.begin(), layout_.volume.end());
  constants_.same_volume = std::all_of(constants_.volume.begin(), constants_.volume.end(),
                                       [&](Real v) { return v == constants_.volume[0]; });
  for (const Material& m : model_.materials) {
    constants_.laws.push_back(response_of<typename Values<Real>::Lanes, D>(m.kind));
    constants_.tangent_laws.push_back(response_of<typename Tangents<Real>::Lanes, D>(m.kind));
  }
  constants_.strides = {grid_.first_stride(), grid_.second_stride()};
  constants_.dx = Real(model_.dx);
  constants_.inverse_dx = Real(1 / model_.dx);
  constants_.courant = Real(model_.largest_courant);
  for (std::size_t a = 0; a < 3; ++a)
    constants_.shift[a] = Real(model_.origin[a] / model_.dx + kFirstNodeShift<kTaps>);
  floor_ = Real(layout_.mass_floor(model_, sizeof(Real) == 8));
}

template <class Real, int D, int kTaps>
MaterialPoints<Real, D, kTaps>::Scratch::Scratch(const MaterialPoints& system)
    : order(D, system.model_.nodes, kTaps, system.layout_.particles,
            static_cast<int>(system.model_.materials.size())) {
  const std::size_t pencils = order.pencil_count();
  grid.reserve(system.grid_.size);
  offender.resize(pencils);
  grid_sums.resize(pencils);
  pose_bars.resize(pencils * system.model_.colliders.size());
  particle_sums.resize(pencils * static_cast<std::size_t>(system.particle_sum_count()));
  grid_inputs.poses.resize(system.model_.colliders.size());
  grid_tangents.poses.resize(system.model_.colliders.size());
  const std::size_t count = system.body_shapes_.size();
  bodies.poses.resize(count), body_tangents.poses.resize(count);
  bodies.parts.resize(count * pencils), body_tangents.parts.resize(count * pencils);
  body_bars.resize(count * pencils), body_sums_bar.resize(count);
  for (const Layout::Moved& moved : system.layout_.moved) {
    MechanismScratch& m = mechanisms.emplace_back();
    const Signature& own = moved.by->signature();
    const std::size_t shapes = moved.by->shapes().size();
    m.values.resize(own, shapes), m.tangents.resize(own, shapes), m.bar.resize(own, shapes);
    m.work = moved.by->make_workspace();
  }
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::throw_inverted(const StepContext& at, std::int64_t particle,
                                                    std::int64_t name) const {
  const Material& m = model_.materials[layout_.material[particle]];
  throw Error({"particle " + std::to_string(name) + " (material \"" + m.name +
                   "\") is inverted: the determinant of its deformation gradient is not positive",
               "step " + std::to_string(at.k),
               "reduce dt (now " + number(model_.dt, 4) + "), or make the material stiffer"},
              Error::Kind::numerics);
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::throw_too_fast(const StepContext& at, std::int64_t particle,
                                                    std::int64_t name, const Real* y, Real dt) const {
  double way = 0;
  for (int a = 0; a < D; ++a) {
    const double v = std::abs(double(y[layout_.v + particle * D + a]));
    way = v > way || !(v == v) ? v : way;
  }
  throw Error({"particle " + std::to_string(name) + " moves " + number(way * double(dt) / model_.dx, 4) +
                   " cells in one step; the largest allowed is " + number(model_.largest_courant, 4),
               "step " + std::to_string(at.k),
               "reduce dt (now " + number(double(dt), 4) + ") or raise largest_courant"},
              Error::Kind::numerics);
}

}  // namespace costate::mpm
