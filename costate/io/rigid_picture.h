// RigidPicture: a model of rigid bodies as bodies of a recording: its geoms, with a pose for each frame.
//
// Geoms of groups above 2 are meant not to be seen. A level plane is the floor that the viewer draws anyway;
// without one, the floor lies under the lowest point that a geom ever reaches. Geoms that name no colour are
// coloured by their body.
// Tests: tests/io/rigid_picture_test.cpp.
#pragma once

#include <array>
#include <vector>

#include "costate/io/recording.h"
#include "costate/rigid/model.h"

namespace costate::io {

class RigidPicture {
 public:
  explicit RigidPicture(const rigid::Model& model);

  // Poses of all bodies of the model: position, quaternion.
  void add_frame(const std::vector<std::array<double, 7>>& bodies);
  // A point that something should reach.
  void add_mark(const rigid::Double3& position);
  Recording finish();

 private:
  struct Shown {
    std::size_t geom, body_of_recording;
  };
  const rigid::Model& model_;
  std::vector<Shown> shown_;
  Recording recording_;
  bool has_floor_ = false;
  double lowest_ = 0, low_[3] = {}, high_[3] = {};
};

}  // namespace costate::io
