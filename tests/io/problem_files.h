// Problem files of this folder.
#pragma once

#include <string>
#include <vector>

#include "costate/io/problem.h"

namespace costate::io::test {

inline std::string folder() { return COSTATE_IO_TESTS; }  // tests/io

inline Problem reference(const std::string& name, const std::vector<Setting>& settings = {}) {
  return load_problem(folder() + "/problems/" + name + ".toml", settings);
}

}  // namespace costate::io::test
