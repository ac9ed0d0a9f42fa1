// RecordedStep: a System of small worlds whose step is there as a Program. What runs Programs elsewhere, on a
// GPU for example, takes such a System whatever its type.
#pragma once

#include "costate/ad/program.h"

namespace costate {

class RecordedStep {
 public:
  virtual ~RecordedStep() = default;
  virtual const ad::Program& program() const = 0;  // bound: bind_program.h
};

}  // namespace costate
