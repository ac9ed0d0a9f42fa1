// One backward pass over a program inside a builder; vjp makes one, jacobian one per output.
#pragma once

#include <vector>

#include "costate/ad/derivative_rules.h"

namespace costate::ad {

class ReverseSweep {
 public:
  // Copies the program, declaring its inputs.
  ReverseSweep(Builder& builder, const Program& program, const std::vector<bool>& active);

  // Cotangent of each input (kNone: structurally zero) from that of each output (kNone: zero).
  std::vector<Id> run(const std::vector<Id>& output_bar);

  // The node in the builder of a node of the program.
  Id value(Id id) const { return primal_.value[id]; }

 private:
  Builder& builder_;
  const Program& program_;
  Copy primal_;
  std::vector<bool> varied_, gated_;
};

}  // namespace costate::ad
