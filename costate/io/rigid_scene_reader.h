// RigidSceneReader: a TomlDocument, table by table, into a RigidScene. Each method reads one table of the file.
#pragma once

#include "costate/io/rigid_scene.h"
#include "costate/io/scene_tables.h"
#include "costate/system/signature.h"

namespace costate::io {

class RigidSceneReader : private SceneTables {
 public:
  RigidSceneReader(TomlDocument document, const std::vector<Setting>& settings);
  RigidScene read();

  // The model of a scene of particles: [model], [contact] and [start]; then, when the steps are known, [controls]. The other tables are the particles'.
  const RigidScene& read_part();
  const RigidScene& read_part_controls(double dt, std::int64_t steps);
  // What one entry of `variables` stands for: "controls.NAME", "start.position.NAME".
  std::vector<SceneVariable> variables_of(const TomlValue& v);

 private:
  // rigid_scene_reader.cpp
  void read_model();
  void read_contact();
  void read_run();
  void read_start();
  void read_joint_values(const TomlValue& values, bool velocity);
  void read_parameters();
  void read_controls();
  ControlPath read_control(const TomlValue& v, const std::string& name) const;
  ControlPath sampled(const TomlValue& formula) const;

  // rigid_scene_reader_loss.cpp
  void read_losses();
  void read_loss(const TomlValue& v);
  void read_match(const TomlValue& v, bool velocity, RigidTerm& term);
  void read_effort(const TomlValue& v, RigidTerm& term);
  void read_track(const TomlValue& v, RigidTerm& term);
  void read_formula(const TomlValue& v, RigidTerm& term);
  // The name under which a quantity is observed; added where it is not yet.
  std::string observe(const TomlValue& path, const std::string& text, std::string name = "");
  std::int64_t size_of(const std::string& quantity) const;

  // rigid_scene_reader_optimize.cpp
  void read_optimize();
  void read_variable(const TomlValue& v);
  void add_controls(const TomlValue& v, const SceneVariable& base, const std::string& glob);
  void add_state(const TomlValue& v, SceneVariable base, const std::string& path);
  void add_parameters(const TomlValue& v, SceneVariable base, const std::string& glob);

  std::size_t joint(Place place, const std::string& name) const;
  std::vector<std::string> actuator_names() const;

  RigidScene scene_;
  Signature signature_;  // of the system
};

}  // namespace costate::io
