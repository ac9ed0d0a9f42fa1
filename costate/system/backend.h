// Backend: where the blocks of a rollout run. The CPU unless a Rollout is given another one: a GPU whose
// block is all worlds at once, say. Objectives, checkpoint options, reports and the shapes of arguments and
// gradients are the same for all; what a backend does not have it refuses with an Error.
//
// Tests: tests/system/backend_test.cpp.
#pragma once

#include <memory>

#include "costate/system/block.h"

namespace costate {

template <class Real>
class Backend {
 public:
  virtual ~Backend() = default;
  // Worlds per block.
  virtual int lanes(const System<Real>& system, const RolloutOptions& options) const = 0;
  // Called by several threads at once. What it is given outlives the block.
  virtual std::unique_ptr<Block<Real>> make_block(const System<Real>& system, const RolloutOptions& options,
                                                  const Activity& activity) const = 0;
};

// System::lanes() worlds per block, a thread each.
template <class Real>
std::shared_ptr<const Backend<Real>> cpu_backend();

extern template std::shared_ptr<const Backend<float>> cpu_backend<float>();
extern template std::shared_ptr<const Backend<double>> cpu_backend<double>();

}  // namespace costate
