// RigidSceneProblem: a scene of rigid bodies as a function of its variables.
//
//   x (variables, each divided by its scale)
//     -> values of controls, numbers of the first state, parameters
//     -> controls of every step                                      control_weights
//     -> T steps of the physics                                      Rollout
//     -> loss                                                        rigid::Observer
//
// and back along the same way.
// Tests: tests/io/rigid_scene_test.cpp.
#pragma once

#include <memory>

#include "costate/io/rigid_scene.h"
#include "costate/system/rollout.h"

namespace costate::io {

template <class Real>
class RigidSceneProblem final : public SceneFunction {
 public:
  explicit RigidSceneProblem(const RigidScene& scene);
  ~RigidSceneProblem() override;

  const RigidScene& scene() const { return scene_; }

  const std::string& file() const override { return scene_.file; }
  const std::string& title() const override { return scene_.title; }
  std::int64_t steps() const override { return scene_.steps; }
  bool has_loss() const override { return !scene_.losses.empty(); }
  const SceneOptimize* optimize() const override { return scene_.optimize ? &*scene_.optimize : nullptr; }
  std::vector<std::pair<std::string, std::string>> facts() const override;
  std::string headline() const override;
  std::string identity() const override;
  std::string difference(const std::vector<double>&, const std::vector<double>&) const override { return ""; }

  double value(const std::vector<double>& x) override;
  double value_and_gradient(const std::vector<double>& x, double* gradient) override;
  const GradientReport& report() const override { return report_; }
  Recording record(const std::vector<double>& x, SceneOutcome* outcome = nullptr) override;
  check::Result dot_product(std::uint64_t seed) override;
  // Long enough for the rounding of a loss over many steps, short enough for limits and clamps.
  Stencil stencil() const override { return {1e-4, 1e-6}; }

  Arguments<Real> arguments(const std::vector<double>& x) const;

 private:
  std::vector<ControlPath> controls_at(const std::vector<double>& x) const;

  RigidScene scene_;
  std::shared_ptr<const System<Real>> system_;
  std::unique_ptr<rigid::Observer> observer_;
  std::vector<ObjectivePtr<Real>> terms_;
  ObjectivePtr<Real> loss_;  // their sum
  std::unique_ptr<Rollout<Real>> rollout_;
  GradientReport report_;
};

extern template class RigidSceneProblem<float>;
extern template class RigidSceneProblem<double>;

}  // namespace costate::io
