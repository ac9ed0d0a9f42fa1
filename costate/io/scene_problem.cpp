#include "costate/io/scene_problem.h"

#include <algorithm>
#include <cmath>

#include "costate/core/quat.h"
#include "costate/io/rigid_picture.h"
#include "costate/io/scene_summary.h"
#include "costate/mpm/system.h"

namespace costate::io {
namespace {

// The four control fields of a moving collider: offset and size in one knot.
struct Slots {
  const Field *position, *rotation, *velocity, *angular_velocity;
};

Slots slots(const Signature& signature, const Motion& m) {
  const std::string base = "collider/" + m.collider + "/";
  return {&signature.find(Role::control, base + "position"),
          &signature.find(Role::control, base + "rotation"),
          &signature.find(Role::control, base + "velocity"),
          &signature.find(Role::control, base + "angular_velocity")};
}

// Body state and knot, number by number; a rotation of one number is that about z.
template <class Body, class Visit>
void each_number(const Slots& s, Body& body, const Visit& visit) {
  const auto field = [&](const Field& f, auto& numbers) {
    for (std::int64_t i = 0; i < f.size; ++i) visit(f.offset + i, numbers[std::size_t(f.size == 1 ? 2 : i)]);
  };
  field(*s.position, body.position);
  field(*s.rotation, body.rotation);
  field(*s.velocity, body.velocity);
  field(*s.angular_velocity, body.angular_velocity);
}

double& number_of(Scene& scene, const SceneVariable& v) {
  Motion& m = scene.motions[v.motion];
  return (v.kind == SceneVariable::Kind::angle ? m.angle : m.position[v.axis]).points[v.point];
}

}  // namespace

template <class Real>
SceneProblem<Real>::SceneProblem(const Scene& scene)
    : scene_(scene), system_(mpm::system<Real>(scene.model)) {
  const mpm::Particles& p = scene_.model.particles;
  particles_ = {.dimension = scene_.model.dimension,
                .offset = system_->signature().find(Role::state, "particle/x").offset,
                .material = p.material,
                .volume = p.volume};
  loss_ = std::make_unique<SceneLoss<Real>>(particles_, scene_.losses);
}

template <class Real>
SceneProblem<Real>::~SceneProblem() = default;

template <class Real>
Rollout<Real>& SceneProblem<Real>::rollout() {
  if (!rollout_)
    rollout_ =
        std::make_unique<Rollout<Real>>(system_, RolloutOptions{.steps = scene_.steps,
                                                                .checkpoints = scene_.checkpoints,
                                                                .active = parameters_among(variables())});
  return *rollout_;
}

template <class Real>
std::vector<std::pair<std::string, std::string>> SceneProblem<Real>::facts() const {
  const mpm::Model& m = scene_.model;
  std::string grid = std::to_string(m.nodes[0]) + " x " + std::to_string(m.nodes[1]);
  if (m.dimension == 3) grid += " x " + std::to_string(m.nodes[2]);
  std::vector<std::pair<std::string, std::string>> rows = {
      {"particles", std::to_string(mpm::particle_count(m))},
      {"grid", grid},
      {"dx", brief_number(m.dx)},
      {"dt", brief_number(m.dt)},
      {"steps", std::to_string(scene_.steps)},
      {"precision", scene_.double_precision ? "double" : "float"}};
  for (const mpm::Material& material : m.materials) rows.emplace_back("material", material.name);
  for (const mpm::Collider& c : m.colliders)
    rows.emplace_back(c.moves ? "moving collider" : "collider", c.name);
  if (scene_.rigid) {
    const rigid::Model& model = scene_.rigid->model;
    rows.emplace_back("model", scene_.rigid->model_file);
    rows.emplace_back("dofs", std::to_string(model.nv));
    rows.emplace_back("actuators", std::to_string(model.nu()));
    for (const coupled::Attached& a : scene_.attached)
      rows.emplace_back("collider on " + a.body, a.collider.name);
  }
  for (const LossTerm& loss : scene_.losses) rows.emplace_back("loss", loss.name);
  if (scene_.optimize) rows.emplace_back("variables", std::to_string(scene_.optimize->variables.size()));
  return rows;
}

template <class Real>
std::string SceneProblem<Real>::headline() const {
  return std::to_string(mpm::particle_count(scene_.model)) + " particles, " + std::to_string(scene_.steps) +
         " steps of " + brief_number(scene_.model.dt) + " s";
}

template <class Real>
std::string SceneProblem<Real>::identity() const {
  return std::to_string(scene_.steps) + " " + std::to_string(scene_.model.particles.x.size()) + " " +
         std::to_string(scene_.model.dx);
}

template <class Real>
std::string SceneProblem<Real>::difference(const std::vector<double>& before,
                                           const std::vector<double>& after) const {
  const std::vector<Motion> old = with_variables(before).motions, fresh = with_variables(after).motions;
  std::string text;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const std::string change = what_changed(old[i], fresh[i], scene_.duration);
    text += (text.empty() ? "" : "; ") + (old.size() > 1 ? old[i].collider + ": " : "") + change;
  }
  return text;
}

template <class Real>
check::Result SceneProblem<Real>::dot_product(std::uint64_t seed) {
  return check::dot_product(rollout(), arguments(start()), {.seed = seed});
}

template <class Real>
Scene SceneProblem<Real>::with_variables(const std::vector<double>& x) const {
  Scene moved = scene_;
  const std::vector<SceneVariable>& list = variables();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = x[i] * list[i].scale;
    switch (list[i].kind) {
      case SceneVariable::Kind::parameter:
        break;
      case SceneVariable::Kind::control:
        moved.rigid->controls[list[i].motion].points[list[i].point] = value;
        break;
      case SceneVariable::Kind::state:
        moved.rigid->x0[list[i].point] = value;
        break;
      default:
        number_of(moved, list[i]) = value;
    }
  }
  return moved;
}

template <class Real>
std::vector<Real> SceneProblem<Real>::controls(const Scene& moved) const {
  const Signature& signature = system_->signature();
  const std::int64_t width = signature.controls();
  std::vector<Real> knots(std::size_t(width * scene_.steps), Real(0));
  for (const Motion& m : moved.motions) {
    const Slots s = slots(signature, m);
    for (std::int64_t k = 0; k < scene_.steps; ++k) {
      const BodyState body = motion_at(m, moved.duration, moved.model.dt * double(k));
      each_number(s, body, [&](std::int64_t at, double v) { knots[std::size_t(k * width + at)] = Real(v); });
    }
  }
  if (!moved.rigid || moved.rigid->model.nu() == 0) return knots;
  const std::int64_t first = signature.find(Role::control, "ctrl").offset;
  for (std::int64_t k = 0; k < scene_.steps; ++k) {
    Real* ctrl = knots.data() + k * width + first;
    std::copy(moved.rigid->rest_controls.begin(), moved.rigid->rest_controls.end(), ctrl);
    for (const ControlPath& path : moved.rigid->controls) {
      const ControlWeights w = control_weights(path, k, moved.rigid->path_steps);
      double u = 0;
      for (std::size_t i = 0; i < w.count; ++i) u += w.w[i] * path.points[w.first + i];
      ctrl[path.actuator] = Real(u);
    }
  }
  return knots;
}

template <class Real>
Arguments<Real> SceneProblem<Real>::arguments(const std::vector<double>& x) const {
  Arguments<Real> a;
  a.x0 = mpm::initial_state<Real>(scene_.model);
  const Scene moved = with_variables(x);
  a.controls = controls(moved);
  if (moved.rigid) {
    const std::int64_t first = system_->signature().find(Role::state, "q").offset;
    std::copy(moved.rigid->x0.begin(), moved.rigid->x0.end(), a.x0.begin() + first);
  }
  a.parameters = Parameters<Real>(system_->signature());
  const std::vector<SceneVariable>& list = variables();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (list[i].kind == SceneVariable::Kind::parameter)
      a.parameters[list[i].parameter][list[i].point] = Real(x[i] * list[i].scale);
  }
  return a;
}

template <class Real>
double SceneProblem<Real>::regularisation(const Scene& moved, SceneOutcome* outcome) const {
  double sum = 0;
  for (const Regulariser& r : moved.regularisers) {
    const Motion& m = moved.motions[r.motion];
    double value = 0;
    if (r.kind == Regulariser::Kind::overshoot) {
      value = excess(m.angle, r.limit);
    } else {
      if (r.position)
        for (const Path& path : m.position) value += jerk(path);
      if (r.angle) value += jerk(m.angle);
    }
    sum += r.weight * value;
    if (outcome)
      outcome->terms.emplace_back(
          (r.kind == Regulariser::Kind::overshoot ? "overshoot of " : "jerk of ") + m.collider,
          r.weight * value);
  }
  return sum;
}

template <class Real>
void SceneProblem<Real>::regularisation_vjp(const Scene& moved, std::vector<Motion>& motions_bar) const {
  for (const Regulariser& r : moved.regularisers) {
    const Motion& m = moved.motions[r.motion];
    Motion& bar = motions_bar[r.motion];
    if (r.kind == Regulariser::Kind::overshoot) {
      excess_vjp(m.angle, r.limit, r.weight, bar.angle.points);
    } else {
      if (r.position)
        for (std::size_t a = 0; a < 3; ++a) jerk_vjp(m.position[a], r.weight, bar.position[a].points);
      if (r.angle) jerk_vjp(m.angle, r.weight, bar.angle.points);
    }
  }
}

template <class Real>
void SceneProblem<Real>::pull_back(const std::vector<double>& x, const Gradient<Real>& gradient,
                                   double* x_bar) const {
  const Scene moved = with_variables(x);
  const Signature& signature = system_->signature();
  const std::int64_t width = signature.controls();
  std::vector<Motion> motions_bar;
  for (const Motion& m : moved.motions) {
    motions_bar.push_back(zeros_like(m));
    const Slots s = slots(signature, m);
    for (std::int64_t k = 0; k < scene_.steps; ++k) {
      BodyState bar;
      each_number(s, bar, [&](std::int64_t at, double& v) {
        v = double(gradient.controls[std::size_t(k * width + at)]);
      });
      motion_at_vjp(m, moved.duration, moved.model.dt * double(k), bar, motions_bar.back());
    }
  }
  regularisation_vjp(moved, motions_bar);
  std::vector<std::vector<double>> points_bar;  // of the actuators' controls
  const std::int64_t q = moved.rigid ? signature.find(Role::state, "q").offset : 0;
  for (std::size_t c = 0; moved.rigid && c < moved.rigid->controls.size(); ++c) {
    const ControlPath& path = moved.rigid->controls[c];
    const std::int64_t at = signature.find(Role::control, "ctrl").offset + std::int64_t(path.actuator);
    points_bar.emplace_back(path.points.size(), 0.0);
    for (std::int64_t k = 0; path.variable && k < scene_.steps; ++k) {
      const ControlWeights w = control_weights(path, k, moved.rigid->path_steps);
      const double bar = double(gradient.controls[std::size_t(k * width + at)]);
      for (std::size_t i = 0; i < w.count; ++i) points_bar.back()[w.first + i] += w.w[i] * bar;
    }
  }
  const std::vector<SceneVariable>& list = variables();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const SceneVariable& v = list[i];
    double bar = 0;
    switch (v.kind) {
      case SceneVariable::Kind::parameter:
        bar = double(gradient.parameters[v.parameter][v.point]);
        break;
      case SceneVariable::Kind::control:
        bar = points_bar[v.motion][v.point];
        break;
      case SceneVariable::Kind::state:
        bar = double(gradient.x0[std::size_t(q) + v.point]);
        break;
      case SceneVariable::Kind::angle:
        bar = motions_bar[v.motion].angle.points[v.point];
        break;
      case SceneVariable::Kind::position:
        bar = motions_bar[v.motion].position[v.axis].points[v.point];
        break;
    }
    x_bar[i] = bar * v.scale;
  }
}

template <class Real>
double SceneProblem<Real>::value(const std::vector<double>& x) {
  return rollout().value(arguments(x), *loss_) + regularisation(with_variables(x));
}

template <class Real>
double SceneProblem<Real>::value_and_gradient(const std::vector<double>& x, double* gradient) {
  const Gradient<Real> g = rollout().value_and_gradient(arguments(x), *loss_);
  pull_back(x, g, gradient);
  report_ = g.report;
  const double value = g.value + regularisation(with_variables(x));
  require_finite(value, gradient);
  return value;
}

template <class Real>
class SceneProblem<Real>::ModelFilm {
 public:
  ModelFilm(const Scene& scene, const Signature& signature, const Parameters<Real>& parameters)
      : scene_(scene),
        first_(signature.find(Role::state, "q").offset),
        rigid_(rigid::make_system<double>(scene.rigid->model, scene.rigid->options)->signature()),
        observer_(scene.rigid->model, rigid_, {}),
        geoms_(scene.rigid->model) {
    const auto append = [&](const Field& f, std::vector<double>& to) {
      const bool ours = f.name != "gravity" && f.name != "dt";  // the picture does not depend on these
      for (std::size_t i = 0; i < std::size_t(f.size); ++i)
        to.push_back(ours ? double(parameters[f.name][i]) : 0.0);
    };
    for (const Field& f : rigid_.fields(Role::parameter)) append(f, model_parameters_);
    for (const Field& f : scene.model.mechanism->signature().fields(Role::parameter)) append(f, parameters_);
    for (std::size_t i = 0; i < scene.attached.size(); ++i) {
      const mpm::Collider& c = scene.attached[i].collider;
      shapes_.push_back({.name = c.name,
                         .shape = picture_of(c.shape),
                         .color = scene.look.attached_colors[i],
                         .opacity = scene.look.attached_opacity[i],
                         .poses = {}});
    }
  }
  void add_frame(const std::vector<Real>& state) {
    const std::vector<double> x(state.begin() + first_,
                                state.begin() + first_ + std::ptrdiff_t(scene_.rigid->x0.size()));
    geoms_.add_frame(observer_.body_poses(x, model_parameters_));
    const auto poses = coupled::shape_poses(*scene_.model.mechanism, x, parameters_);
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      shapes_[i].poses.push_back(
          picture_pose(scene_.attached[i].collider.shape, poses[i].position, poses[i].rotation));
  }
  void finish(Recording& to) {
    Recording model = geoms_.finish();
    for (Body& body : model.bodies) to.bodies.push_back(std::move(body));
    for (Body& body : shapes_) to.bodies.push_back(std::move(body));
  }

 private:
  const Scene& scene_;
  std::int64_t first_;
  Signature rigid_;
  rigid::Observer observer_;
  RigidPicture geoms_;
  std::vector<double> model_parameters_, parameters_;
  std::vector<Body> shapes_;
};

template <class Real>
Recording SceneProblem<Real>::record(const std::vector<double>& x, SceneOutcome* outcome) {
  const Scene moved = with_variables(x);
  const std::int64_t keep =
      std::max<std::int64_t>(1, std::llround(1 / (scene_.look.frames_per_second * scene_.model.dt)));
  Recording r;
  r.title = scene_.title;
  const mpm::Vector& g = scene_.model.gravity;
  const std::size_t up = std::abs(g[2]) > std::abs(g[1]) ? 2 : 1;  // models often have z upwards
  r.up = up == 2 ? 'z' : 'y';
  r.ground = float(scene_.model.origin[up] + 2 * scene_.model.dx);
  r.frame_interval = scene_.model.dt * double(keep);
  r.camera = scene_.look.camera;
  for (std::size_t i = 0; i < scene_.model.materials.size(); ++i)
    r.materials.push_back({scene_.model.materials[i].name, scene_.look.material_colors[i]});
  const std::size_t count = particles_.material.size(), dimension = std::size_t(particles_.dimension);
  for (const int m : particles_.material) r.particles.material.push_back(std::uint8_t(m));
  r.particles.radius = float(0.7 * std::pow(particles_.volume[0], 1.0 / particles_.dimension));
  const std::int64_t velocity = system_->signature().find(Role::state, "particle/v").offset;

  // Frame by frame: only one state is in memory, however long the run. Losses are read off on the way.
  Arguments<Real> a = arguments(x);
  const std::vector<Real> all_controls = a.controls;
  const std::int64_t width = system_->signature().controls();
  std::vector<double> sums(scene_.losses.size(), 0.0);
  SceneOutcome result;
  std::unique_ptr<ModelFilm> film;
  if (scene_.rigid) film = std::make_unique<ModelFilm>(scene_, system_->signature(), a.parameters);
  std::vector<Body> free_bodies;
  for (std::size_t b = 0; b < scene_.model.bodies.size(); ++b) {
    const mpm::Body& body = scene_.model.bodies[b];
    mpm::Shape shown = body.shape;
    // A box of two dimensions is drawn as thick as it is thin.
    if (dimension == 2 && shown.kind == mpm::ShapeKind::box)
      shown.size[2] = std::min(shown.size[0], shown.size[1]);
    free_bodies.push_back({.name = body.name,
                           .shape = picture_of(shown),
                           .color = scene_.look.body_colors[b],
                           .opacity = 1,
                           .poses = {}});
  }
  const auto look = [&](std::int64_t k) {
    for (std::size_t j = 0; j < scene_.losses.size(); ++j) {
      const LossTerm& term = scene_.losses[j];
      if (!std::binary_search(term.steps.begin(), term.steps.end(), k)) continue;
      sums[j] += loss_->term_value(term, a.x0.data());
      if (term.kind == LossTerm::Kind::in_region && k == term.steps.back())
        result.fractions.emplace_back(term.name, region_fraction(particles_, term, a.x0.data()));
    }
    if (k % keep != 0) return;
    ++r.frames;
    if (film) film->add_frame(a.x0);
    for (std::size_t i = 0; i < count; ++i) {
      double square = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const bool there = d < dimension;
        const double v = there ? double(a.x0[std::size_t(velocity) + i * dimension + d]) : 0;
        square += v * v;
        r.particles.positions.push_back(
            there ? float(a.x0[std::size_t(particles_.offset) + i * dimension + d]) : 0.0F);
      }
      r.particles.speeds.push_back(float(std::sqrt(square)));
    }
    for (std::size_t b = 0; b < free_bodies.size(); ++b) {
      const mpm::Body& body = scene_.model.bodies[b];
      const auto at = [&](const char* name, std::size_t i) {
        const Field& f = system_->signature().find(Role::state, "body/" + body.name + "/" + name);
        return double(a.x0[std::size_t(f.offset) + i]);
      };
      std::array<double, 3> position = {0, 0, 0}, rotation = {0, 0, 0};
      for (std::size_t d = 0; d < dimension; ++d) position[d] = at("position", d);
      if (dimension == 3) {
        const Vec3<double> phi = log_map(Quat<double>{at("orientation", 0), at("orientation", 1),
                                                      at("orientation", 2), at("orientation", 3)});
        rotation = {phi.x, phi.y, phi.z};
      } else {
        rotation[2] = at("orientation", 0);
      }
      free_bodies[b].poses.push_back(picture_pose(body.shape, position, rotation));
    }
  };
  look(0);
  for (std::int64_t k = 0; k < scene_.steps;) {
    const std::int64_t next_frame = (k / keep + 1) * keep, next_loss = loss_->next(k + 1, scene_.steps);
    const std::int64_t end = std::min({scene_.steps, next_frame, next_loss});
    Rollout<Real> part(system_, {.steps = end - k, .active = {}});
    a.controls.assign(all_controls.begin() + k * width, all_controls.begin() + end * width);
    a.x0 = part.simulate(a).final_state;
    k = end;
    look(k);
    if (this->on_recording) this->on_recording(k, scene_.steps);
  }

  std::size_t moving = 0;
  for (std::size_t c = 0; c < scene_.model.colliders.size(); ++c) {
    const mpm::Collider& collider = scene_.model.colliders[c];
    Body body{.name = collider.name,
              .shape = picture_of(collider.shape),
              .color = scene_.look.collider_colors[c],
              .opacity = scene_.look.collider_opacity[c],
              .poses = {picture_pose(collider.shape, collider.position, collider.rotation)}};
    if (collider.moves) {
      body.poses.clear();
      for (std::int64_t f = 0; f < r.frames; ++f) {
        const BodyState s = motion_at(moved.motions[moving], moved.duration, double(f) * r.frame_interval);
        body.poses.push_back(picture_pose(collider.shape, s.position, s.rotation));
      }
      ++moving;
    }
    r.bodies.push_back(std::move(body));
  }
  for (Body& body : free_bodies) r.bodies.push_back(std::move(body));
  if (film) film->finish(r);
  for (std::size_t j = 0; j < sums.size(); ++j) {
    result.terms.emplace_back(scene_.losses[j].name, sums[j]);
    result.loss += sums[j];
  }
  result.loss += regularisation(moved, &result);
  if (outcome) *outcome = result;
  return r;
}

template class SceneProblem<float>;
template class SceneProblem<double>;

}  // namespace costate::io
