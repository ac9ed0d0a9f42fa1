#include "costate/io/scene/sections/meshes_picture.h"

#include <algorithm>

namespace costate::io {

void MeshesPicture::begin(const study::Inputs& inputs) {
  recording_ = {};
  film_.reset();
  if (model_.model) {
    const Signature own = rigid::make_system<double>(*model_.model)->signature();
    film_ = std::make_unique<Film>(
        Film{own, rigid::Observer(*model_.model, own, {}), RigidPicture(*model_.model), {}});
    for (const Field& f : own.fields(Role::parameter)) {
      const Field* given = model_.signature.find_if(Role::parameter, f.name);
      for (std::int64_t i = 0; i < f.size; ++i)
        film_->parameters.push_back(given ? inputs.p[std::size_t(given->offset + i)] : 0.0);
    }
  }
  recording_.up = 'z';
  recording_.ground = float(ground_);
  for (const DrawnBall& ball : balls_) {
    Body body;
    body.name = ball.name;
    body.shape.kind = Shape::Kind::sphere;
    body.shape.size.push_back(float(ball.radius));
    for (std::size_t d = 0; d < 3; ++d) body.poses[0][d] = float(ball.center[d]);
    recording_.bodies.push_back(std::move(body));
  }
  vertices_.clear();
  for (const DrawnSurface& surface : surfaces_) {
    std::vector<int> own = surface.triangles;
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    Mesh mesh{.name = surface.name, .color = surface.color};
    for (const int v : surface.triangles)
      mesh.triangles.push_back(std::uint32_t(std::lower_bound(own.begin(), own.end(), v) - own.begin()));
    recording_.meshes.push_back(std::move(mesh));
    vertices_.push_back(std::move(own));
  }
}

void MeshesPicture::frame(double, const std::vector<double>& state) {
  ++recording_.frames;
  if (film_) {
    const auto first = state.begin() + std::ptrdiff_t(model_.first_state);
    const std::vector<double> x(first, first + film_->signature.states());
    film_->geoms.add_frame(film_->observer.body_poses(x, film_->parameters));
  }
  for (std::size_t m = 0; m < vertices_.size(); ++m)
    for (const int v : vertices_[m])
      for (int d = 0; d < 3; ++d)
        recording_.meshes[m].vertices.push_back(float(state[std::size_t(3 * v + d)]));
}

Recording MeshesPicture::finish() {
  if (film_)
    for (Body& body : film_->geoms.finish().bodies) recording_.bodies.push_back(std::move(body));
  return std::move(recording_);
}

}  // namespace costate::io
