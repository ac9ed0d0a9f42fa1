// SceneProblem: a scene as a function of its variables.
//
//   x (variables, each divided by its scale)
//     -> control points of motions, parameters                       with_variables
//     -> pose and velocity of every collider at every step,
//        controls of the model's actuators                           controls
//     -> T steps of the physics                                      Rollout
//     -> loss = losses of the scene + regularisers of the motions
//
// and back along the same way: the rollout's cotangent of the controls becomes one of the control points by the transpose of the
// spline (scene_motion.h). Collider poses of step k are those at its beginning, t = k dt.
// Tests: tests/io/scene_problem_test.cpp.
#pragma once

#include <memory>

#include "costate/io/scene.h"
#include "costate/system/rollout.h"

namespace costate::io {

template <class Real>
class SceneProblem final : public SceneFunction {
 public:
  explicit SceneProblem(const Scene& scene);
  ~SceneProblem() override;

  const Scene& scene() const { return scene_; }
  // The scene with other values of its variables.
  Scene with_variables(const std::vector<double>& x) const;

  const std::string& file() const override { return scene_.file; }
  const std::string& title() const override { return scene_.title; }
  std::int64_t steps() const override { return scene_.steps; }
  bool has_loss() const override { return !scene_.losses.empty(); }
  const SceneOptimize* optimize() const override { return scene_.optimize ? &*scene_.optimize : nullptr; }
  std::vector<std::pair<std::string, std::string>> facts() const override;
  std::string headline() const override;
  std::string identity() const override;
  std::string difference(const std::vector<double>& before, const std::vector<double>& after) const override;

  double value(const std::vector<double>& x) override;
  double value_and_gradient(const std::vector<double>& x, double* gradient) override;
  const GradientReport& report() const override { return report_; }
  Recording record(const std::vector<double>& x, SceneOutcome* outcome = nullptr) override;
  check::Result dot_product(std::uint64_t seed) override;
  // Kinks of contact are everywhere: differences are short.
  Stencil stencil() const override { return {1e-5, 1e-5}; }

  Rollout<Real>& rollout();
  Arguments<Real> arguments(const std::vector<double>& x) const;
  const Objective<Real>& objective() const { return *loss_; }
  // Gradient of the physics' loss by the rollout's arguments -> by the variables; adds the regularisers' part.
  void pull_back(const std::vector<double>& x, const Gradient<Real>& gradient, double* x_bar) const;
  double regularisation(const Scene& moved, SceneOutcome* outcome = nullptr) const;

 private:
  void regularisation_vjp(const Scene& moved, std::vector<Motion>& motions_bar) const;
  std::vector<Real> controls(const Scene& moved) const;
  // The model's geoms and the colliders on its bodies, as they are in a recording.
  class ModelFilm;

  Scene scene_;
  std::shared_ptr<const System<Real>> system_;
  ParticleTable particles_;
  std::unique_ptr<SceneLoss<Real>> loss_;
  std::unique_ptr<Rollout<Real>> rollout_;
  GradientReport report_;
};

extern template class SceneProblem<float>;
extern template class SceneProblem<double>;

}  // namespace costate::io
