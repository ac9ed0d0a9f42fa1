// The section of particles: [domain], [walls], [[materials]], [[colliders]], [[bodies]], [[fill]], and with
// [model] an articulated model among them. Each method reads one table of the file.
#pragma once

#include <memory>

#include "costate/io/scene/draft.h"
#include "costate/io/scene/sections/bodies.h"
#include "costate/study/field_quantities.h"
#include "costate/study/particles_picture.h"

namespace costate::io {

class ParticlesReader {
 public:
  explicit ParticlesReader(const SceneFile& file) : file_(file) {}
  Draft read();
  // Of the latest read(), for tests.
  const study::ParticlesScene& scene() const { return scene_; }

 private:
  // particles.cpp
  void read_domain();
  void read_walls();
  void read_wall(const TomlValue& v, const std::string& name, mpm::Wall& wall) const;
  void read_materials();
  void read_fills();
  void read_fill(const TomlValue& v);
  void read_duration();
  void choose_time_step();
  void describe();
  std::vector<study::RowGroup> row_groups(const Signature& signature) const;

  // particles_colliders.cpp
  void read_colliders();
  void read_collider(const TomlValue& v);
  void check_thickness(const TomlValue& v, const mpm::Collider& c);
  float opacity_of(const TomlValue& v, const mpm::Shape& shape) const;
  void read_bodies();
  void read_body(const TomlValue& v);
  void read_rotation(const TomlValue& v, std::array<double, 3>& rotation) const;
  study::Motion read_motion(const TomlValue& v, const std::string& collider);
  mpm::Shape read_shape(const TomlValue& v) const;

  // particles_model.cpp
  void read_model();
  void attach(const TomlValue& v, mpm::Collider collider);
  void attach_geoms(const TomlValue& v, const mpm::Collider& like);
  void add_attached(const TomlValue& v, mpm::Collider collider);
  void make_mechanism();
  // A cup and where it stands when the scene begins: position, rotation.
  struct Standing {
    mpm::Shape shape;
    std::array<double, 3> position, rotation;
  };
  Standing standing(const TomlValue& name) const;

  // Single values and lists, with what they must be.
  std::array<double, 3> vector(const TomlValue& v, const std::string& what, bool size = false) const {
    return file_.vector(v, what, scene_.model.dimension, size);
  }
  mpm::Contact contact(const TomlValue& v) const;
  int material(const TomlValue& v) const;
  std::int64_t most_particles(const TomlValue& place, std::int64_t count) const;

  const SceneFile& file_;
  Draft draft_;
  study::ParticlesScene scene_;
  std::optional<BodiesPart> model_;  // of the table [model]
  std::array<double, 3> low_ = {}, high_ = {};
  std::vector<std::string> collider_names_;  // with those on bodies of the model
};

}  // namespace costate::io
