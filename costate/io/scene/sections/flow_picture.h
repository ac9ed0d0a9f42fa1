// A flow over time as a surface: the speed, the vorticity or a scalar of every cell above its place; in three
// dimensions of the slice in the middle.
#pragma once

#include "costate/fluid/flow.h"
#include "costate/study/picture.h"

namespace costate::io {

class FlowPicture final : public study::Picture {
 public:
  FlowPicture(const fluid::FlowOptions& options, const Signature& signature, std::string show, double height);

  void begin(const study::Inputs&) override;
  void frame(double time, const std::vector<double>& state) override;
  void mark(const std::array<double, 3>&) override {}
  Recording finish() override;

 private:
  struct Component {
    std::int64_t offset, nx, ny;  // faces along x and y
  };
  double shown(const std::vector<double>& state, std::int64_t i, std::int64_t j) const;
  double speed(const std::vector<double>& state, int c, std::int64_t i, std::int64_t j) const;

  std::int64_t nx_, ny_, slice_;
  std::array<double, 3> width_;
  std::string show_;
  double height_;
  std::array<Component, 2> components_;
  std::int64_t scalar_ = -1;
  Recording recording_;
  Mesh surface_;
};

}  // namespace costate::io
