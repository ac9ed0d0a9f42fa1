#include "costate/io/scene/sections/flow_picture.h"

#include <cmath>

#include "costate/fluid/flow_places.h"

namespace costate::io {

FlowPicture::FlowPicture(const fluid::FlowOptions& o, const Signature& signature, std::string show,
                         double height)
    : nx_(o.cells[0]),
      ny_(o.cells[1]),
      slice_(o.cells.size() == 3 ? o.cells[2] / 2 : 0),
      width_(o.width),
      show_(std::move(show)),
      height_(height) {
  for (int c = 0; c < 2; ++c) {
    const auto n = fluid::face_counts(o, c);
    components_[std::size_t(c)] = {signature.find(Role::state, fluid::kComponents[c]).offset, n[0], n[1]};
  }
  if (show_ != "speed" && show_ != "vorticity") scalar_ = signature.find(Role::state, show_).offset;
}

void FlowPicture::begin(const study::Inputs&) {
  recording_ = {};
  surface_ = {.name = show_, .color = 0x4f86c6};
  const auto nx = std::uint32_t(nx_), ny = std::uint32_t(ny_);
  for (std::uint32_t j = 0; j + 1 < ny; ++j) {
    for (std::uint32_t i = 0; i + 1 < nx; ++i) {
      const std::uint32_t a = j * nx + i;
      surface_.triangles.insert(surface_.triangles.end(), {a, a + 1, a + nx, a + 1, a + nx + 1, a + nx});
    }
  }
}

// Faces beyond the last one are those where the axis begins again.
double FlowPicture::speed(const std::vector<double>& state, int c, std::int64_t i, std::int64_t j) const {
  const Component& of = components_[std::size_t(c)];
  return state[std::size_t(of.offset + (slice_ * of.ny + j % of.ny) * of.nx + i % of.nx)];
}

double FlowPicture::shown(const std::vector<double>& state, std::int64_t i, std::int64_t j) const {
  if (scalar_ >= 0) return state[std::size_t(scalar_ + (slice_ * ny_ + j) * nx_ + i)];
  if (show_ == "vorticity") {
    const std::int64_t west = (i + nx_ - 1) % nx_, south = (j + ny_ - 1) % ny_;
    return (speed(state, 1, i, j) - speed(state, 1, west, j)) / width_[0] -
           (speed(state, 0, i, j) - speed(state, 0, i, south)) / width_[1];
  }
  return std::hypot((speed(state, 0, i, j) + speed(state, 0, i + 1, j)) / 2,
                    (speed(state, 1, i, j) + speed(state, 1, i, j + 1)) / 2);
}

void FlowPicture::frame(double, const std::vector<double>& state) {
  for (std::int64_t j = 0; j < ny_; ++j)
    for (std::int64_t i = 0; i < nx_; ++i)
      surface_.vertices.insert(surface_.vertices.end(),
                               {float((double(i) + 0.5) * width_[0]), float((double(j) + 0.5) * width_[1]),
                                float(height_ * shown(state, i, j))});
  ++recording_.frames;
}

Recording FlowPicture::finish() {
  const auto x = float(0.5 * double(nx_) * width_[0]), y = float(0.5 * double(ny_) * width_[1]),
             depth = 0.05F * (x + y);
  recording_.ground = -2 * depth;
  Body basin;
  basin.name = "basin";
  basin.shape.kind = Shape::Kind::box;
  basin.shape.size = {1.04F * x, 1.04F * y, 0.5F * depth};
  basin.color = 0xb9aa94;
  basin.poses = {{x, y, -1.5F * depth, 1, 0, 0, 0}};
  recording_.bodies.push_back(std::move(basin));
  recording_.meshes.push_back(std::move(surface_));
  return std::move(recording_);
}

}  // namespace costate::io
