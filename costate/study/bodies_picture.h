// The picture of a model of rigid bodies: its geoms, with a pose for each frame (io::RigidPicture).
#pragma once

#include <memory>
#include <optional>

#include "costate/io/rigid_picture.h"
#include "costate/rigid/observer.h"
#include "costate/study/picture.h"

namespace costate::study {

class BodiesPicture final : public Picture {
 public:
  // `system` is the signature of the model's system.
  BodiesPicture(std::shared_ptr<const rigid::Model> model, const Signature& system)
      : model_(std::move(model)), observer_(*model_, system, {}) {}

  void begin(const Inputs& inputs) override {
    picture_.emplace(*model_);
    p_ = inputs.p;
  }
  void frame(double, const std::vector<double>& state) override {
    picture_->add_frame(observer_.body_poses(state, p_));
  }
  void mark(const std::array<double, 3>& position) override { picture_->add_mark(position); }
  io::Recording finish() override { return picture_->finish(); }

 private:
  std::shared_ptr<const rigid::Model> model_;
  rigid::Observer observer_;
  std::optional<io::RigidPicture> picture_;
  std::vector<double> p_;
};

}  // namespace costate::study
