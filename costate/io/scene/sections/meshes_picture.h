// Surfaces whose vertices are the first numbers of the state, three each: cloth and soft bodies.
#pragma once

#include "costate/study/picture.h"

namespace costate::io {

struct DrawnSurface {
  std::string name;
  Color color = 0xd98b5f;
  std::vector<int> triangles = {};  // vertices of the state
};

class MeshesPicture final : public study::Picture {
 public:
  MeshesPicture(std::vector<DrawnSurface> surfaces, double ground)
      : surfaces_(std::move(surfaces)), ground_(ground) {}
  void begin(const study::Inputs&) override;
  void frame(double, const std::vector<double>& state) override;
  void mark(const std::array<double, 3>&) override {}
  Recording finish() override;

 private:
  std::vector<DrawnSurface> surfaces_;
  double ground_;
  std::vector<std::vector<int>> vertices_;  // of each surface
  Recording recording_;
};

}  // namespace costate::io
