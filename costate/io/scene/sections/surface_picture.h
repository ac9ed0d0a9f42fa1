// A number of every cell over time, as a surface above its place: what fields on a grid and flows are drawn
// as.
#pragma once

#include "costate/study/picture.h"

namespace costate::io {

class SurfacePicture : public study::Picture {
 public:
  // Cells along both sides, their widths, what is shown, and the height of the number 1.
  SurfacePicture(std::int64_t nx, std::int64_t ny, std::array<double, 2> width, std::string name,
                 double height)
      : nx_(nx), ny_(ny), width_(width), name_(std::move(name)), height_(height) {}

  void begin(const study::Inputs&) final;
  void frame(double time, const std::vector<double>& state) final;
  void mark(const std::array<double, 3>&) final {}
  Recording finish() final;

 protected:
  virtual double shown(const std::vector<double>& state, std::int64_t i, std::int64_t j) const = 0;

  std::int64_t nx_, ny_;
  std::array<double, 2> width_;

 private:
  std::string name_;
  double height_;
  Recording recording_;
  Mesh surface_;
};

}  // namespace costate::io
