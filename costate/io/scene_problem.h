// SceneProblem: a scene as a function of its variables.
//
//   x (variables, each divided by its scale)
//     -> control points of motions, parameters                       with_variables
//     -> pose and velocity of every collider at every step           controls
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

// What a run came to.
struct SceneOutcome {
  double loss = 0;
  std::vector<std::pair<std::string, double>> terms;  // every loss and regulariser, weighted
  std::vector<std::pair<std::string, double>>
      fractions;  // inside the region of each in_region, at its last step
};

template <class Real>
class SceneProblem {
 public:
  explicit SceneProblem(const Scene& scene);
  ~SceneProblem();

  const Scene& scene() const { return scene_; }
  // Where the file starts, in units of the scales. Empty where nothing is to be optimised.
  std::vector<double> start() const;
  // The scene with other values of its variables.
  Scene with_variables(const std::vector<double>& x) const;

  double value(const std::vector<double>& x);
  double value_and_gradient(const std::vector<double>& x, double* gradient);
  const GradientReport& report() const { return report_; }  // of the latest gradient

  // Runs the scene and records it; `outcome`, where not null, is filled in.
  Recording record(const std::vector<double>& x, SceneOutcome* outcome = nullptr);

  Rollout<Real>& rollout();
  Arguments<Real> arguments(const std::vector<double>& x) const;
  const Objective<Real>& objective() const { return *loss_; }
  // Gradient of the physics' loss by the rollout's arguments -> by the variables; adds the regularisers' part.
  void pull_back(const std::vector<double>& x, const Gradient<Real>& gradient, double* x_bar) const;
  double regularisation(const Scene& moved, SceneOutcome* outcome = nullptr) const;

 private:
  void regularisation_vjp(const Scene& moved, std::vector<Motion>& motions_bar) const;
  std::vector<Real> controls(const Scene& moved) const;

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
