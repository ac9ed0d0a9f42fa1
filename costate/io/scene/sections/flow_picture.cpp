#include "costate/io/scene/sections/flow_picture.h"

#include <cmath>

#include "costate/fluid/flow_places.h"

namespace costate::io {

FlowPicture::FlowPicture(const fluid::FlowOptions& o, const Signature& signature, const std::string& show,
                         double height)
    : SurfacePicture(o.cells[0], o.cells[1], {o.width[0], o.width[1]}, show, height),
      slice_(o.cells.size() == 3 ? o.cells[2] / 2 : 0),
      vorticity_(show == "vorticity") {
  for (int c = 0; c < 2; ++c) {
    const auto n = fluid::face_counts(o, c);
    components_[std::size_t(c)] = {signature.find(Role::state, fluid::kComponents[c]).offset, n[0], n[1]};
  }
  if (show != "speed" && !vorticity_) scalar_ = signature.find(Role::state, show).offset;
}

// Faces beyond the last one are those where the axis begins again.
double FlowPicture::speed(const std::vector<double>& state, int c, std::int64_t i, std::int64_t j) const {
  const Component& of = components_[std::size_t(c)];
  return state[std::size_t(of.offset + (slice_ * of.ny + j % of.ny) * of.nx + i % of.nx)];
}

double FlowPicture::shown(const std::vector<double>& state, std::int64_t i, std::int64_t j) const {
  if (scalar_ >= 0) return state[std::size_t(scalar_ + (slice_ * ny_ + j) * nx_ + i)];
  if (vorticity_) {
    const std::int64_t west = (i + nx_ - 1) % nx_, south = (j + ny_ - 1) % ny_;
    return (speed(state, 1, i, j) - speed(state, 1, west, j)) / width_[0] -
           (speed(state, 0, i, j) - speed(state, 0, i, south)) / width_[1];
  }
  return std::hypot((speed(state, 0, i, j) + speed(state, 0, i + 1, j)) / 2,
                    (speed(state, 1, i, j) + speed(state, 1, i, j + 1)) / 2);
}

}  // namespace costate::io
