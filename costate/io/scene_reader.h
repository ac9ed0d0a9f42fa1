// SceneReader: a TomlDocument, table by table, into a Scene. Each method reads one table of the file.
#pragma once

#include "costate/io/rigid_scene_reader.h"
#include "costate/io/scene.h"
#include "costate/io/scene_tables.h"

namespace costate::io {

class SceneReader : private SceneTables {
 public:
  SceneReader(TomlDocument document, const std::vector<Setting>& settings);
  Scene read();

 private:
  // scene_reader.cpp
  void read_domain();
  void read_walls();
  void read_wall(const TomlValue& v, const std::string& name, mpm::Wall& wall) const;
  void read_materials();
  void read_fills();
  void read_fill(const TomlValue& v);
  void choose_time_step();

  // scene_reader_colliders.cpp
  void read_colliders();
  void read_collider(const TomlValue& v);
  float opacity_of(const TomlValue& v, const mpm::Shape& shape) const;
  void read_bodies();
  void read_body(const TomlValue& v);
  void read_rotation(const TomlValue& v, std::array<double, 3>& rotation) const;
  Motion read_motion(const TomlValue& v, const std::string& collider) const;
  mpm::Shape read_shape(const TomlValue& v) const;

  // scene_reader_model.cpp
  void read_model();
  void attach(const TomlValue& v, mpm::Collider collider);
  void attach_geoms(const TomlValue& v, const mpm::Collider& like);
  void add_attached(const TomlValue& v, mpm::Collider collider);
  void make_mechanism();
  void read_model_controls();
  // A cup and where it stands when the scene begins: position, rotation.
  struct Standing {
    mpm::Shape shape;
    std::array<double, 3> position, rotation;
  };
  Standing standing(const TomlValue& name) const;

  // scene_reader_optimize.cpp
  void read_losses();
  LossTerm read_loss(const TomlValue& v) const;
  Region read_region(const TomlValue& v) const;
  void read_height_field(const TomlValue& v, LossTerm& term) const;
  void read_match(const TomlValue& v, LossTerm& term) const;
  void read_regularisers();
  void read_optimize();
  void read_variable(const TomlValue& v);

  // Single values and lists, with what they must be.
  std::array<double, 3> vector(const TomlValue& v, const std::string& what, bool size = false) const;
  mpm::Contact contact(const TomlValue& v) const;
  int material(const TomlValue& v) const;
  std::size_t motion(const TomlValue& v, const std::string& name) const;
  std::int64_t most_particles(const TomlValue& place, std::int64_t count) const;

  Scene scene_;
  std::array<double, 3> low_ = {}, high_ = {};
  std::vector<std::string> collider_names_;  // with those on bodies of the model
  std::unique_ptr<RigidSceneReader> model_;  // of the table [model]
};

}  // namespace costate::io
