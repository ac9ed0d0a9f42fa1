// Values of a function while it is recorded. Each keeps its recording alive: a value that outlives the
// recording is useless, but safe.
#pragma once

#include <memory>

#include "costate/ad/record.h"

namespace costate::python {

struct Traced {
  std::shared_ptr<ad::Builder> recording;  // null: a plain number
  ad::Var value;
  bool truth = false;  // a comparison, or made of such
  // Where the function is recorded at given inputs: the number itself. A plain number has one, too.
  bool evaluated = false;
  double at = 0;
};

}  // namespace costate::python
