// rigid::load: a model from a file, MJCF or URDF, told apart by the root element.
//
//   rigid::Model model = rigid::load("scenes/humanoid.xml");
//
// load_spec gives what the file says before it is compiled, to be changed first. Tests:
// tests/io/mjcf_test.cpp.
#pragma once

#include "costate/rigid/compile/compile.h"

namespace costate::rigid {

Model load(const std::string& path);
Spec load_spec(const std::string& path);

}  // namespace costate::rigid
