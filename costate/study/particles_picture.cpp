#include "costate/study/particles_picture.h"

#include <algorithm>
#include <cmath>

#include "costate/core/quat.h"
#include "costate/io/rigid_picture.h"
#include "costate/io/shape_picture.h"
#include "costate/rigid/observer.h"

namespace costate::study {

// The model's geoms and the colliders on its bodies.
class ParticlesPicture::ModelFilm {
 public:
  ModelFilm(const ParticlesScene& scene, const Signature& signature, const Inputs& inputs)
      : scene_(scene),
        first_(signature.find(Role::state, "q").offset),
        rigid_(rigid::make_system<double>(*scene.rigid, scene.rigid_options)->signature()),
        observer_(*scene.rigid, rigid_, {}),
        geoms_(*scene.rigid) {
    const auto append = [&](const Field& f, std::vector<double>& to) {
      const Field* ours = signature.find_if(Role::parameter, f.name);
      // The picture depends neither on gravity nor on dt, which are the material's.
      const bool known = ours && f.name != "gravity" && f.name != "dt";
      for (std::int64_t i = 0; i < f.size; ++i) to.push_back(known ? inputs.p[ours->offset + i] : 0.0);
    };
    for (const Field& f : rigid_.fields(Role::parameter)) append(f, model_parameters_);
    for (const Field& f : scene.model.mechanism->signature().fields(Role::parameter)) append(f, parameters_);
    for (std::size_t i = 0; i < scene.attached.size(); ++i) {
      const mpm::Collider& c = scene.attached[i].collider;
      shapes_.push_back({.name = c.name,
                         .shape = io::picture_of(c.shape),
                         .color = scene.look.attached[i],
                         .opacity = scene.look.attached_opacity[i],
                         .poses = {}});
    }
  }
  void add_frame(const std::vector<double>& state) {
    const auto first = state.begin() + first_;
    const std::vector<double> x(first, first + rigid_.states());
    geoms_.add_frame(observer_.body_poses(x, model_parameters_));
    const auto poses = coupled::shape_poses(*scene_.model.mechanism, x, parameters_);
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      shapes_[i].poses.push_back(
          io::picture_pose(scene_.attached[i].collider.shape, poses[i].position, poses[i].rotation));
  }
  void finish(io::Recording& to) {
    io::Recording model = geoms_.finish();
    for (io::Body& body : model.bodies) to.bodies.push_back(std::move(body));
    for (io::Body& body : shapes_) to.bodies.push_back(std::move(body));
  }

 private:
  const ParticlesScene& scene_;
  std::int64_t first_;
  Signature rigid_;
  rigid::Observer observer_;
  io::RigidPicture geoms_;
  std::vector<double> model_parameters_, parameters_;
  std::vector<io::Body> shapes_;
};

ParticlesPicture::ParticlesPicture(ParticlesScene scene, const Signature& system)
    : scene_(std::move(scene)), signature_(system) {}
ParticlesPicture::~ParticlesPicture() = default;

void ParticlesPicture::begin(const Inputs& inputs) {
  const mpm::Model& m = scene_.model;
  paths_ = inputs.paths;
  recording_ = {};
  const std::size_t up =
      std::abs(m.gravity[2]) > std::abs(m.gravity[1]) ? 2 : 1;  // models often have z upwards
  recording_.up = up == 2 ? 'z' : 'y';
  recording_.ground = float(m.origin[up] + 2 * m.dx);
  for (std::size_t i = 0; i < m.materials.size(); ++i)
    recording_.materials.push_back({m.materials[i].name, scene_.look.materials[i]});
  for (const int material : m.particles.material)
    recording_.particles.material.push_back(std::uint8_t(material));
  recording_.particles.radius = float(0.7 * std::pow(m.particles.volume[0], 1.0 / m.dimension));
  colliders_.clear();
  for (std::size_t c = 0; c < m.colliders.size(); ++c) {
    const mpm::Collider& collider = m.colliders[c];
    colliders_.push_back({.name = collider.name,
                          .shape = io::picture_of(collider.shape),
                          .color = scene_.look.colliders[c],
                          .opacity = scene_.look.collider_opacity[c],
                          .poses = {io::picture_pose(collider.shape, collider.position, collider.rotation)}});
    if (collider.moves) colliders_.back().poses.clear();
  }
  free_bodies_.clear();
  for (std::size_t b = 0; b < m.bodies.size(); ++b) {
    mpm::Shape shown = m.bodies[b].shape;
    // A box of two dimensions is drawn as thick as it is thin.
    if (m.dimension == 2 && shown.kind == mpm::ShapeKind::box)
      shown.size[2] = std::min(shown.size[0], shown.size[1]);
    free_bodies_.push_back({.name = m.bodies[b].name,
                            .shape = io::picture_of(shown),
                            .color = scene_.look.bodies[b],
                            .opacity = 1,
                            .poses = {}});
  }
  walls_ = std::make_unique<WallCount>(m);
  film_.reset();
  if (scene_.rigid) film_ = std::make_unique<ModelFilm>(scene_, signature_, inputs);
}

void ParticlesPicture::frame(double t, const std::vector<double>& state) {
  ++recording_.frames;
  if (film_) film_->add_frame(state);
  add_particles(state);
  add_free_bodies(state);
  std::size_t moving = 0;
  for (std::size_t c = 0; c < colliders_.size(); ++c) {
    const mpm::Collider& collider = scene_.model.colliders[c];
    if (!collider.moves) continue;
    const BodyState s = motion_at(scene_.motions[moving++], paths_, scene_.duration, t);
    colliders_[c].poses.push_back(io::picture_pose(collider.shape, s.position, s.rotation));
  }
}

void ParticlesPicture::look(double t, const std::vector<double>& state) {
  const double* x = state.data() + signature_.find(Role::state, "particle/x").offset;
  std::size_t moving = 0;
  for (std::size_t c = 0; c < colliders_.size(); ++c) {
    const mpm::Collider& collider = scene_.model.colliders[c];
    BodyState s{.position = collider.position, .rotation = collider.rotation};
    if (collider.moves) s = motion_at(scene_.motions[moving++], paths_, scene_.duration, t);
    walls_->look(c, s.position, s.rotation, x);
  }
}

std::vector<std::string> ParticlesPicture::notes() const { return walls_->notes(); }

void ParticlesPicture::add_particles(const std::vector<double>& state) {
  const std::size_t dimension = scene_.model.dimension;
  const double* x = state.data() + signature_.find(Role::state, "particle/x").offset;
  const double* v = state.data() + signature_.find(Role::state, "particle/v").offset;
  for (std::size_t i = 0; i < recording_.particles.material.size(); ++i) {
    double square = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      const bool there = d < dimension;
      const double speed = there ? v[i * dimension + d] : 0;
      square += speed * speed;
      recording_.particles.positions.push_back(there ? float(x[i * dimension + d]) : 0.0F);
    }
    recording_.particles.speeds.push_back(float(std::sqrt(square)));
  }
}

void ParticlesPicture::add_free_bodies(const std::vector<double>& state) {
  const std::size_t dimension = scene_.model.dimension;
  for (std::size_t b = 0; b < free_bodies_.size(); ++b) {
    const mpm::Body& body = scene_.model.bodies[b];
    const auto at = [&](const char* name, std::size_t i) {
      const Field& f = signature_.find(Role::state, "body/" + body.name + "/" + name);
      return state[f.offset + i];
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
    free_bodies_[b].poses.push_back(io::picture_pose(body.shape, position, rotation));
  }
}

io::Recording ParticlesPicture::finish() {
  for (io::Body& body : colliders_) recording_.bodies.push_back(std::move(body));
  for (io::Body& body : free_bodies_) recording_.bodies.push_back(std::move(body));
  if (film_) film_->finish(recording_);
  return std::move(recording_);
}

}  // namespace costate::study
