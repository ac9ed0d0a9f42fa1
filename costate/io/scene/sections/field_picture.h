// Fields of cells on a rectangular grid over time, as coloured images.
#pragma once

#include "costate/study/picture.h"
#include "costate/system/signature.h"

namespace costate::io {

class FieldPicture final : public study::Picture {
 public:
  // Every field of the state that has one number per cell.
  FieldPicture(std::int64_t nx, std::int64_t ny, double dx, const Signature& signature)
      : nx_(nx), ny_(ny), dx_(dx), signature_(signature) {}

  void begin(const study::Inputs&) override {
    recording_ = {};
    recording_.up = 'y';
    for (const Field& f : signature_.fields(Role::state)) {
      if (f.size != nx_ * ny_) continue;
      Image image{.name = f.name, .unit = f.unit, .columns = std::uint32_t(nx_), .rows = std::uint32_t(ny_)};
      image.along[0] = float(double(nx_) * dx_), image.across[1] = float(double(ny_) * dx_);
      recording_.images.push_back(image);
    }
  }
  void frame(double, const std::vector<double>& state) override {
    for (Image& image : recording_.images) {
      const double* value = state.data() + signature_.find(Role::state, image.name).offset;
      for (std::int64_t i = 0; i < nx_ * ny_; ++i) image.values.push_back(float(value[i]));
    }
    ++recording_.frames;
  }
  void mark(const std::array<double, 3>&) override {}
  Recording finish() override { return std::move(recording_); }

 private:
  std::int64_t nx_, ny_;
  double dx_;
  Signature signature_;
  Recording recording_;
};

}  // namespace costate::io
