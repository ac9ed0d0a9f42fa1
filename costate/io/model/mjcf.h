// MJCF, the XML format of MuJoCo, as a rigid::Spec.
//
// Names, defaults and meaning are those of the format's reference [1]: default classes (nested, childclass),
// compiler options, includes, frames and replicas, every way to write an orientation. What has physics that
// this engine lacks is an Error at its file and line; what has none (colours, cameras, textures) is read
// over; docs/models.md lists both. Attributes and elements that MJCF does not have are errors too, with the
// nearest name that it has.
//
// [1] MuJoCo documentation, "XML reference", https://mujoco.readthedocs.io
// Tests: tests/io/mjcf_test.cpp, mjcf_wrong_test.cpp; parity with the PyPI package `mujoco`:
// tests/io/mjcf_parity_test.cpp.
#pragma once

#include "costate/io/text/xml_document.h"
#include "costate/rigid/spec.h"

namespace costate::io {

// `root` is a <mujoco> element; `path` its file, for the meshes beside it.
rigid::Spec read_mjcf(const XmlElement& root, const std::string& path, const FileReader& files);

rigid::Spec parse_mjcf(const std::string& text, const std::string& path = "model.xml",
                       const FileReader& files = read_model_file);

}  // namespace costate::io
