// Surfaces whose vertices are the first numbers of the state, three each: cloth and soft bodies, and the
// geoms of a model among them.
#pragma once

#include "costate/io/rigid_picture.h"
#include "costate/rigid/observer.h"
#include "costate/rigid/rigid_system.h"
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

struct DrawnModel {
  std::shared_ptr<const rigid::Model> model;
  Signature signature = {};     // of the whole system
  std::size_t first_state = 0;  // of the model
};

class MeshesPicture final : public study::Picture {
 public:
  MeshesPicture(std::vector<DrawnSurface> surfaces, std::vector<DrawnBall> balls, double ground,
                DrawnModel model = {})
      : surfaces_(std::move(surfaces)), balls_(std::move(balls)), ground_(ground), model_(std::move(model)) {}
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
  // Of a model: its geoms, who knows where its bodies are, its parameters.
  struct Film {
    Signature signature;
    rigid::Observer observer;
    RigidPicture geoms;
    std::vector<double> parameters;
  };
  DrawnModel model_;
  std::unique_ptr<Film> film_;
};

}  // namespace costate::io
