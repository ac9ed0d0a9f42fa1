// A flow over time as a surface: the speed, the vorticity or a scalar of every cell above its place; in three
// dimensions of the slice in the middle.
#pragma once

#include "costate/fluid/flow.h"
#include "costate/io/scene/sections/surface_picture.h"

namespace costate::io {

class FlowPicture final : public SurfacePicture {
 public:
  FlowPicture(const fluid::FlowOptions& options, const Signature& signature, const std::string& show,
              double height);

 private:
  struct Component {
    std::int64_t offset, nx, ny;  // faces along x and y
  };
  double shown(const std::vector<double>& state, std::int64_t i, std::int64_t j) const override;
  double speed(const std::vector<double>& state, int c, std::int64_t i, std::int64_t j) const;

  std::int64_t slice_;
  bool vorticity_;
  std::array<Component, 2> components_;
  std::int64_t scalar_ = -1;
};

}  // namespace costate::io
