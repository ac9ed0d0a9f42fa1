// The mesh that a table of [[parts]] describes: from numbers (cloth, block, ball, rod, shirt, tube, voxels,
// ring) or from a file. Tests: tests/io/scene/soft_test.cpp.
#pragma once

#include "costate/io/scene/scene_file.h"
#include "costate/soft/mesh/procedural.h"

namespace costate::io {

struct SoftShape {
  soft::Cells kind;
  soft::SoftMesh mesh;
};
SoftShape soft_shape(const SceneFile& file, const TomlValue& part);

}  // namespace costate::io
