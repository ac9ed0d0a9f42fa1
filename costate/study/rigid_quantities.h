// Quantities of a model of rigid bodies: those of rigid::Observer, whose signature has the states q, v, act
// first.
// Tests: tests/io/scene/bodies_test.cpp.
#pragma once

#include <memory>

#include "costate/rigid/observer.h"
#include "costate/study/quantities.h"

namespace costate::study {

class RigidQuantities final : public Quantities {
 public:
  // `options`: those that the system was made with; forces depend on them.
  RigidQuantities(std::shared_ptr<const rigid::Model> model, const Signature& system,
                  const rigid::SystemOptions& options = {});

  Quantity numbers(const std::string& path, const std::string& name) override;
  Quantity points(const std::string& path) override;
  const Signature& signature() const override { return observer_->signature(); }
  ObjectivePtr<float> objective(ObjectivePtr<float> of) const override {
    return observer_->objective<float>(std::move(of));
  }
  ObjectivePtr<double> objective(ObjectivePtr<double> of) const override {
    return observer_->objective<double>(std::move(of));
  }
  const rigid::Observer& observer() const { return *observer_; }

 private:
  std::shared_ptr<const rigid::Model> model_;
  Signature system_;
  rigid::SystemOptions options_;
  std::vector<rigid::Quantity> list_;
  std::unique_ptr<rigid::Observer> observer_;
};

}  // namespace costate::study
