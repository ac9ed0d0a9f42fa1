// Activity: which cotangents a caller wants, so that a physics can skip the work for the others.
#pragma once

#include <vector>

namespace costate {

struct Activity {
  std::vector<bool> parameters;  // one flag per parameter field
  bool controls = true;
};

}  // namespace costate
