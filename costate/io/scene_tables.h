// SceneTables: what the files of all scenes have in common, whatever their physics: settings from the command line, times, [optimize],
// [record]. The readers of particles (scene_reader.h) and of rigid bodies (rigid_scene_reader.h) derive from it.
#pragma once

#include "costate/io/scene_function.h"
#include "costate/io/text/toml_values.h"
#include "costate/system/checkpoints.h"

namespace costate::io {

// How a run is recorded.
struct SceneCamera {
  double frames_per_second = 30;
  Camera camera = {};
};

class SceneTables : protected TomlValues {
 protected:
  SceneTables(TomlDocument document, const std::vector<Setting>& settings, const char* setting_examples);

  const TomlValue& required(const TomlValue& table, const char* key, const std::string& where,
                            const std::string& advice) const;
  Color color(const TomlValue& v) const;
  // [[name]]; null where there is none.
  const std::vector<TomlValue>* tables(const char* name, std::size_t most) const;
  // at = "end", at = 1.2, or from, to and every: steps, increasing.
  std::vector<std::int64_t> read_steps(const TomlValue& v, double duration, std::int64_t steps) const;
  Checkpoints read_checkpoints(const TomlValue& v) const;
  // [optimize] without its variables, which are returned as a list of tables. gradient_window shortens the checkpoints' reach.
  const std::vector<TomlValue>& read_optimize(const TomlValue& o, const std::string& example, double dt,
                                              std::int64_t steps, SceneOptimize& optimize,
                                              Checkpoints& checkpoints) const;
  // scale, lower and upper of a variable.
  SceneVariable read_bounds(const TomlValue& v) const;
  void add_variable(const TomlValue& v, SceneVariable variable, SceneOptimize& optimize) const;
  SceneCamera read_record() const;

  const TomlValue& root_;

 private:
  void apply(const Setting& setting, const char* examples);
};

// All of a file of at most kMaxFileSize + 1 bytes. Throws Error.
std::string read_text(const std::string& path);

}  // namespace costate::io
