// The first field of a grid over time, as a surface above its cells: waves, a level of water.
#pragma once

#include "costate/study/picture.h"

namespace costate::io {

class SurfacePicture final : public study::Picture {
 public:
  // Cells along both sides, their width, what is shown, and the height of the number 1.
  SurfacePicture(std::int64_t nx, std::int64_t ny, double dx, std::string name, double height)
      : nx_(nx), ny_(ny), dx_(dx), name_(std::move(name)), height_(height) {}

  void begin(const study::Inputs&) override;
  void frame(double time, const std::vector<double>& state) override;
  void mark(const std::array<double, 3>&) override {}
  Recording finish() override;

 private:
  std::int64_t nx_, ny_;
  double dx_;
  std::string name_;
  double height_;
  Recording recording_;
  Mesh surface_;
};

}  // namespace costate::io
