#include "costate/io/scene/sections/surface_picture.h"

#include <utility>

namespace costate::io {

void SurfacePicture::begin(const study::Inputs&) {
  recording_ = {};
  surface_ = {.name = name_, .color = 0x4f86c6};
  const auto nx = std::uint32_t(nx_), ny = std::uint32_t(ny_);
  for (std::uint32_t j = 0; j + 1 < ny; ++j) {
    for (std::uint32_t i = 0; i + 1 < nx; ++i) {
      const std::uint32_t a = j * nx + i;
      surface_.triangles.insert(surface_.triangles.end(), {a, a + 1, a + nx, a + 1, a + nx + 1, a + nx});
    }
  }
}

void SurfacePicture::frame(double, const std::vector<double>& state) {
  for (std::int64_t j = 0; j < ny_; ++j)
    for (std::int64_t i = 0; i < nx_; ++i)
      surface_.vertices.insert(surface_.vertices.end(),
                               {float((double(i) + 0.5) * dx_), float((double(j) + 0.5) * dx_),
                                float(height_ * state[std::size_t(j * nx_ + i)])});
  ++recording_.frames;
}

Recording SurfacePicture::finish() {
  const auto x = float(0.5 * double(nx_) * dx_), y = float(0.5 * double(ny_) * dx_), depth = 0.05F * (x + y);
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
