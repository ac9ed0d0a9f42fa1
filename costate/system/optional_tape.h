// OptionalTape: what a System may offer beyond System, to rollouts that have the memory for it.
//
// System::tape_size() is what a transpose must be left. A physics whose transpose could do without, at the price of computing something
// again (the activations of a network), says here how much it would like to keep instead; Block hands out a tape if that of the whole
// rollout is within bounds, and a null pointer otherwise. Either way the gradient has the same bits.
//
// Tests: tests/system/program/layered_system_test.cpp.
#pragma once

#include <cstdint>

namespace costate {

class OptionalTape {
 public:
  virtual ~OptionalTape() = default;
  // Numbers per lane and step. advance() writes them where it is given a tape, reverse() reads them there.
  virtual std::int64_t optional_tape_size() const = 0;
  // Besides, reverse() leaves every cotangent on the way in its ring, so that one call may cover many steps.
};

}  // namespace costate
