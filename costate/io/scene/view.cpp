#include "costate/io/scene/tables.h"

namespace costate::io {

void read_view(const SceneFile& file, study::Setup& setup) {
  const TomlValue& r = file.table_or_empty("view");
  file.require_known_keys(r, {"frames_per_second", "eye", "target", "field_of_view"}, "[view]");
  setup.frames_per_second = file.positive_or(r, "frames_per_second", setup.frames_per_second);
  if (setup.frames_per_second > 10000)
    file.fail(r.find("frames_per_second")->place, "frames_per_second must not be above 10000");
  const auto point = [&](const char* key, std::array<float, 3>& out) {
    const TomlValue* v = r.find(key);
    if (!v) return;
    const std::array<double, 3> list = file.vector(*v, key, 3);
    for (std::size_t i = 0; i < 3; ++i) out[i] = float(list[i]);
  };
  point("eye", setup.camera.eye);
  point("target", setup.camera.target);
  if (const TomlValue* v = r.find("field_of_view")) {
    setup.camera.field_of_view = float(file.positive(*v, "field_of_view"));
    if (v->number >= 179) file.fail(v->place, "field_of_view must be below 179 degrees");
  }
}

}  // namespace costate::io
