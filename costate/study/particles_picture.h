// The picture of a scene of particles: the particles, colliders that rest and that move, free bodies, and
// where a model of rigid bodies stands among them, its geoms and what rides on them.
#pragma once

#include <memory>
#include <optional>

#include "costate/coupled/articulated.h"
#include "costate/mpm/model.h"
#include "costate/study/motion.h"
#include "costate/study/picture.h"
#include "costate/study/wall_count.h"
#include "costate/system/signature.h"

namespace costate::study {

// How things are painted.
struct ParticlesLook {
  std::vector<io::Color> materials, colliders, bodies, attached;
  std::vector<float> collider_opacity, attached_opacity;
};

struct ParticlesScene {
  mpm::Model model;
  std::vector<Motion> motions;  // one per collider that moves, in the model's order
  double duration = 1;
  // Where model.mechanism is set: the model of rigid bodies in it.
  std::shared_ptr<const rigid::Model> rigid;
  rigid::SystemOptions rigid_options;
  std::vector<coupled::Attached> attached;
  ParticlesLook look;
};

class ParticlesPicture final : public Picture {
 public:
  // `system` is the signature of the scene's system.
  ParticlesPicture(ParticlesScene scene, const Signature& system);
  ~ParticlesPicture() override;

  void begin(const Inputs& inputs) override;
  void frame(double t, const std::vector<double>& state) override;
  void mark(const std::array<double, 3>&) override {}
  void look(double t, const std::vector<double>& state) override;
  int looks_per_frame() const override { return scene_.model.colliders.empty() ? 1 : 8; }
  std::vector<std::string> notes() const override;
  io::Recording finish() override;

 private:
  void add_particles(const std::vector<double>& state);
  void add_free_bodies(const std::vector<double>& state);

  class ModelFilm;
  ParticlesScene scene_;
  Signature signature_;
  io::Recording recording_;
  std::vector<Path> paths_;
  std::vector<io::Body> colliders_, free_bodies_;
  std::unique_ptr<ModelFilm> film_;
  std::unique_ptr<WallCount> walls_;
};

}  // namespace costate::study
