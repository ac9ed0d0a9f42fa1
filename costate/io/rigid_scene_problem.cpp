#include "costate/io/rigid_scene_problem.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/io/rigid_picture.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/program/program_objective.h"

namespace costate::io {
namespace {

template <class Real>
ObjectivePtr<Real> objective_of(const RigidTerm& term, const Signature& observed) {
  if (term.formula) return loss::program<Real>(observed, *term.formula, loss::at_steps(term.steps));
  return loss::track<Real>(observed, term.quantity, term.steps,
                           std::vector<Real>(term.targets.begin(), term.targets.end()), term.weight);
}

}  // namespace

template <class Real>
RigidSceneProblem<Real>::RigidSceneProblem(const RigidScene& scene)
    : scene_(scene), system_(rigid::make_system<Real>(scene.model, scene.options)) {
  observer_ = std::make_unique<rigid::Observer>(scene_.model, system_->signature(), scene_.quantities);
  std::vector<ObjectivePtr<Real>> inner;
  for (const RigidTerm& term : scene_.losses) {
    inner.push_back(objective_of<Real>(term, observer_->signature()));
    terms_.push_back(observer_->objective<Real>(inner.back()));
  }
  loss_ = observer_->objective<Real>(loss::sum<Real>(inner));
  rollout_ =
      std::make_unique<Rollout<Real>>(system_, RolloutOptions{.steps = scene_.steps,
                                                              .checkpoints = scene_.checkpoints,
                                                              .active = parameters_among(variables())});
}

template <class Real>
RigidSceneProblem<Real>::~RigidSceneProblem() = default;

template <class Real>
std::vector<std::pair<std::string, std::string>> RigidSceneProblem<Real>::facts() const {
  const rigid::Model& m = scene_.model;
  std::vector<std::pair<std::string, std::string>> rows = {
      {"model", scene_.model_file},
      {"bodies", std::to_string(m.bodies.size() - 1)},
      {"dofs", std::to_string(m.nv)},
      {"actuators", std::to_string(m.nu())},
      {"dt", brief_number(scene_.dt)},
      {"steps", std::to_string(scene_.steps)},
      {"precision", scene_.double_precision ? "double" : "float"}};
  for (const ControlPath& path : scene_.controls) {
    const char* const shapes[] = {"held", "linear", "spline"};
    rows.emplace_back("control", m.actuators[path.actuator].name + ": " +
                                     (path.variable ? std::to_string(path.points.size()) + " values, " +
                                                          shapes[int(path.shape)]
                                                    : std::string("a formula of t")));
  }
  for (const RigidTerm& term : scene_.losses) rows.emplace_back("loss", term.name);
  if (scene_.optimize) rows.emplace_back("variables", std::to_string(scene_.optimize->variables.size()));
  return rows;
}

template <class Real>
std::string RigidSceneProblem<Real>::headline() const {
  return counted(std::int64_t(scene_.model.bodies.size()) - 1, "body", "bodies") + ", " +
         counted(scene_.model.nv, "dof") + ", " + counted(scene_.steps, "step") + " of " +
         brief_number(scene_.dt) + " s";
}

template <class Real>
std::string RigidSceneProblem<Real>::identity() const {
  return scene_.model.name + " " + std::to_string(scene_.steps) + " " + std::to_string(scene_.dt);
}

template <class Real>
std::vector<ControlPath> RigidSceneProblem<Real>::controls_at(const std::vector<double>& x) const {
  std::vector<ControlPath> controls = scene_.controls;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const SceneVariable& v = variables()[i];
    if (v.kind == SceneVariable::Kind::control) controls[v.motion].points[v.point] = x[i] * v.scale;
  }
  return controls;
}

template <class Real>
Arguments<Real> RigidSceneProblem<Real>::arguments(const std::vector<double>& x) const {
  Arguments<Real> a = rollout_->arguments();
  a.x0.assign(scene_.x0.begin(), scene_.x0.end());
  for (const auto& [name, values] : scene_.parameters)
    a.parameters.set(name, std::vector<Real>(values.begin(), values.end()));
  const std::size_t width = std::size_t(system_->signature().controls());
  for (std::size_t k = 0; k < std::size_t(scene_.steps); ++k)
    for (std::size_t i = 0; i < scene_.rest_controls.size(); ++i)
      a.controls[k * width + i] = Real(scene_.rest_controls[i]);
  for (const ControlPath& path : controls_at(x)) {
    for (std::int64_t k = 0; k < scene_.steps; ++k) {
      const ControlWeights w = control_weights(path, k, scene_.path_steps);
      double u = 0;
      for (std::size_t i = 0; i < w.count; ++i) u += w.w[i] * path.points[w.first + i];
      a.controls[std::size_t(k) * width + path.actuator] = Real(u);
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const SceneVariable& v = variables()[i];
    if (v.kind == SceneVariable::Kind::state) a.x0[v.point] = Real(x[i] * v.scale);
    if (v.kind == SceneVariable::Kind::parameter) a.parameters[v.parameter][v.point] = Real(x[i] * v.scale);
  }
  return a;
}

template <class Real>
double RigidSceneProblem<Real>::value(const std::vector<double>& x) {
  return rollout_->value(arguments(x), *loss_);
}

template <class Real>
double RigidSceneProblem<Real>::value_and_gradient(const std::vector<double>& x, double* gradient) {
  const Gradient<Real> g = rollout_->value_and_gradient(arguments(x), *loss_);
  report_ = g.report;
  const std::size_t width = std::size_t(system_->signature().controls());
  std::vector<std::vector<double>> points_bar;
  for (const ControlPath& path : scene_.controls) {
    points_bar.emplace_back(path.points.size(), 0.0);
    for (std::int64_t k = 0; path.variable && k < scene_.steps; ++k) {
      const ControlWeights w = control_weights(path, k, scene_.path_steps);
      const double bar = double(g.controls[std::size_t(k) * width + path.actuator]);
      for (std::size_t i = 0; i < w.count; ++i) points_bar.back()[w.first + i] += w.w[i] * bar;
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const SceneVariable& v = variables()[i];
    const double bar = v.kind == SceneVariable::Kind::control ? points_bar[v.motion][v.point]
                       : v.kind == SceneVariable::Kind::state ? double(g.x0[v.point])
                                                              : double(g.parameters[v.parameter][v.point]);
    gradient[i] = bar * v.scale;
  }
  require_finite(g.value, gradient);
  return g.value;
}

template <class Real>
check::Result RigidSceneProblem<Real>::dot_product(std::uint64_t seed) {
  return check::dot_product(*rollout_, arguments(start()), {.seed = seed});
}

template <class Real>
Recording RigidSceneProblem<Real>::record(const std::vector<double>& x, SceneOutcome* outcome) {
  const Arguments<Real> a = arguments(x);
  const std::int64_t keep =
      std::max<std::int64_t>(1, std::llround(1 / (scene_.look.frames_per_second * scene_.dt)));
  Rollout<Real> rollout(system_, {.steps = scene_.steps, .keep = keep, .active = {}});
  const Trajectory<Real> trajectory = rollout.simulate(a);
  std::vector<double> p;
  for (std::size_t f = 0; f < system_->signature().fields(Role::parameter).size(); ++f) {
    const auto values = a.parameters.values(f);
    const std::int64_t size = system_->signature().fields(Role::parameter)[f].size;
    for (std::int64_t i = 0; i < size; ++i)
      p.push_back(double(values[values.size() == 1 ? 0 : std::size_t(i)]));
  }
  RigidPicture picture(scene_.model);
  const std::size_t width = std::size_t(system_->signature().states());
  std::vector<double> state(a.x0.begin(), a.x0.end());
  if (trajectory.kept.empty() || trajectory.kept.front() != 0)
    picture.add_frame(observer_->body_poses(state, p));
  for (std::size_t k = 0; k < trajectory.kept.size(); ++k) {
    const auto first = trajectory.states.begin() + std::ptrdiff_t(k * width);
    state.assign(first, first + std::ptrdiff_t(width));
    picture.add_frame(observer_->body_poses(state, p));
  }
  for (const Mark& mark : scene_.marks) picture.add_mark(mark.position);
  Recording r = picture.finish();
  r.title = scene_.title;
  r.frame_interval = scene_.dt * double(keep);
  r.camera = scene_.look.camera;
  if (outcome) {
    *outcome = {};
    for (std::size_t j = 0; j < terms_.size(); ++j) {
      outcome->terms.emplace_back(scene_.losses[j].name, rollout_->value(a, *terms_[j]));
      outcome->loss += outcome->terms.back().second;
    }
  }
  return r;
}

template class RigidSceneProblem<float>;
template class RigidSceneProblem<double>;

}  // namespace costate::io
