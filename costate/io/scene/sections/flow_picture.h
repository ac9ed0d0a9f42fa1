// A flow over time as coloured images: scalars, speed, vorticity, and the pressure where the state has it. In
// three dimensions three slices through the middle, with the vorticity across each, and of scalars
// layers of the whole box across every axis ("smoke, volume"), which the page draws translucent. Obstacles
// are drawn as bodies, tracers as particles. Pixels have one size, also where cells have not.
#pragma once

#include "costate/fluid/flow.h"
#include "costate/study/picture.h"

namespace costate::io {

class FlowPicture final : public study::Picture {
 public:
  // `show` is what the page shows first.
  FlowPicture(const fluid::FlowOptions& options, const Signature& signature, const std::string& show);

  // What can be shown.
  static std::vector<std::string> names(const fluid::FlowOptions& options);

  void begin(const study::Inputs& inputs) override;
  void frame(double time, const std::vector<double>& state) override;
  void mark(const std::array<double, 3>&) override {}
  Recording finish() override;

 private:
  using Cell = std::array<std::int64_t, 3>;
  struct Component {
    std::int64_t offset;
    Cell n;  // faces along each axis
  };
  double speed(const std::vector<double>& state, std::size_t c, Cell at) const;
  double speed(const std::vector<double>& state, Cell at) const;
  double vorticity(const std::vector<double>& state, Cell at, std::size_t across) const;
  void draw(Image& image, const std::vector<double>& state, std::size_t across) const;
  void draw_tracers(const std::vector<double>& state);
  void move(Body& body, const fluid::Obstacle& obstacle, const std::vector<double>& state) const;
  void carry(Body& body, std::size_t shape, const std::vector<double>& state) const;
  Shape filled(const double* depth) const;
  Body body(const fluid::Obstacle& obstacle, const std::vector<double>& p) const;

  double cell_middle(std::size_t axis, std::int64_t cell) const {
    return (faces_[axis][std::size_t(cell)] + faces_[axis][std::size_t(cell + 1)]) / 2;
  }

  fluid::FlowOptions options_;
  Signature signature_;
  std::size_t dim_;
  Cell n_ = {1, 1, 1};
  std::array<std::vector<double>, 3> faces_;  // their places along each axis
  // The cell that each column or row of an image shows: as many as cells, or on a stretched grid as the
  // finest cells would need.
  std::array<std::vector<std::int64_t>, 3> shown_;
  std::vector<Component> components_;
  std::vector<std::string> names_;
  std::vector<double> linkage_p_;  // parameters of what holds bodies together
  Recording recording_;
};

}  // namespace costate::io
