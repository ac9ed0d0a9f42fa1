#include "costate/io/model/load_model.h"

#include "costate/core/error.h"
#include "costate/io/model/mjcf.h"
#include "costate/io/model/urdf.h"

namespace costate::rigid {

Spec load_spec(const std::string& path) {
  const io::FileReader files = io::read_model_file;
  const io::XmlElement root = io::parse_xml(files(path), path, files);
  if (root.name == "mujoco") return io::read_mjcf(root, path, files);
  if (root.name == "robot") return io::read_urdf(root, path, files);
  throw Error({"the root element is <" + root.name + ">", root.where(),
               "a model is <mujoco> (MJCF) or <robot> (URDF)"});
}

Model load(const std::string& path) { return compile(load_spec(path)); }

}  // namespace costate::rigid
