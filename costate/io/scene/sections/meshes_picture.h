// Surfaces whose vertices are the first numbers of the state, three each: cloth and soft bodies.
#pragma once

#include "costate/study/picture.h"

namespace costate::io {

struct DrawnSurface {
  std::string name;
  Color color = 0xd98b5f;
  std::vector<int> triangles = {};  // vertices of the state
};

struct DrawnBall {
  std::string name;
  std::array<double, 3> center;
  double radius;
};

class MeshesPicture final : public study::Picture {
 public:
  MeshesPicture(std::vector<DrawnSurface> surfaces, std::vector<DrawnBall> balls, double ground)
      : surfaces_(std::move(surfaces)), balls_(std::move(balls)), ground_(ground) {}
  void begin(const study::Inputs&) override;
  void frame(double, const std::vector<double>& state) override;
  void mark(const std::array<double, 3>&) override {}
  Recording finish() override;

 private:
  std::vector<DrawnSurface> surfaces_;
  std::vector<DrawnBall> balls_;
  double ground_;
  std::vector<std::vector<int>> vertices_;  // of each surface
  Recording recording_;
};

}  // namespace costate::io
