// Scratch of a LayeredSystem, and the layout of what an evaluation of f leaves behind. Internal to
// layered_*.cpp.
//
// A record is what one evaluation leaves for its transpose, in numbers of all lanes:
//
//   e_0, e_1, ...        the vectors of the products
//   d_k                  the results of those products that a transpose reads
//   k_s                  the rate
//
// Records of a step lie one stage after the other: on the tape, or in Scratch until flush().
#pragma once

#include "costate/core/aligned_buffer.h"
#include "costate/system/program/layered_system.h"

namespace costate {

template <class Real>
struct LayeredSystem<Real>::Scratch : Base::Scratch {
  const Variant* last = nullptr;
  const Real* held = nullptr;  // the parameters that `shared` and the weights are of
  Real* held_p_bar = nullptr;  // of the run: what slots will be added to
  bool in_run = false;
  std::vector<char> shared;
  std::vector<ad::LaneWeights<Real>> weights;
  AlignedBuffer<Real> compact, states, records, numbers;
  std::vector<Real*> d;      // of each layer: results that are in no record
  std::vector<Real*> d_bar;  // of each layer: slot after slot
  Real *e_bar = nullptr, *x_bar = nullptr, *rate_bar = nullptr;
  std::vector<ad::InputBlock<Real>> inputs;
  std::vector<ad::OutputBlock<Real>> outputs;
  AlignedBuffer<std::byte> bytes;
  Real k = 0, c = 0;
  // Slots that flush() has to add: their records start at `first` and lie `stride` apart.
  int filled = 0;
  const Real* first = nullptr;
  std::int64_t stride = 0;

  static Scratch& of(Workspace& work) { return static_cast<Scratch&>(work); }
};

}  // namespace costate
