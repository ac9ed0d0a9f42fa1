// Block: some worlds of a rollout on their way through its steps, forward and back. Rollout cuts its worlds
// into blocks, runs them in parallel and puts their results together; where and how a block runs is the
// affair of its Backend. Internal to Rollout and to backends.
//
//   backend.h         who makes blocks
//   run/cpu_block.h   blocks of System::lanes() worlds on the CPU
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "costate/core/error.h"
#include "costate/system/run/keeper.h"

namespace costate {

// What a block has found, in host memory. Arrays lie as [index][lane]; pointers hold until the block is used
// again. Which ones are set depends on what it was asked for.
template <class Real>
struct BlockResults {
  std::int64_t first_world = 0;
  int lanes = 1, live_lanes = 1;  // live: lanes that are worlds; the last block may have others
  std::vector<char> diverged;     // per lane
  std::vector<double> loss, loss_dot;
  const Real *final_state = nullptr, *final_state_dot = nullptr;
  const Real *x0_bar = nullptr, *u_bar = nullptr, *p_bar = nullptr;
  const Real *x0_bar_dot = nullptr, *u_bar_dot = nullptr, *p_bar_dot = nullptr;
  // A backend may have done some of the putting together itself. Sums over the live lanes of what all worlds
  // share, one number per index; null: the lanes are still to be added.
  const double *x0_bar_sum = nullptr, *u_bar_sum = nullptr, *p_bar_sum = nullptr;
  bool rows = false;  // the cotangents lie as rows of worlds, those of parameters field by field
  // For the report.
  std::vector<double> adjoint_norm2;  // at the sampled steps, live lanes together
  std::optional<double> energy_drift;
  std::int64_t advances = 0, memory_bytes = 0;
  const Diagnostics* diagnostics = nullptr;  // null: none
};

template <class Real>
class Block {
 public:
  virtual ~Block() = default;

  // Gathers the inputs of worlds first_world, first_world + 1, ...; the last world fills lanes past the end.
  // `arguments` must outlive what follows.
  virtual void load(const Arguments<Real>& arguments, std::int64_t first_world) = 0;

  // A state is shown to the keeper when it is reached for the first time. simulate() keeps nothing for
  // backward(); forward() does. Objective and keeper may be null.
  virtual void simulate(const Objective<Real>* objective, Keeper<Real>* keeper) = 0;
  virtual void forward(const Objective<Real>* objective, Keeper<Real>* keeper) = 0;
  virtual void backward(const Objective<Real>& objective) = 0;

  // Forward mode along `direction`, and second order: for backends that have them.
  virtual void simulate_tangent(const Arguments<Real>&, const Objective<Real>*) { refuse("tangents"); }
  virtual void hessian_vector(const Arguments<Real>&, const Objective<Real>&) {
    refuse("second derivatives");
  }

  const BlockResults<Real>& results() const { return results_; }

 protected:
  [[noreturn]] static void refuse(const char* what) {
    throw Error(
        {std::string("this backend has no ") + what, {}, "make the Rollout on the CPU: device = \"cpu\""});
  }
  BlockResults<Real> results_;
};

// Steps at which the norm of the adjoint is taken: 0, spacing, 2 spacing, ..., steps.
constexpr std::int64_t adjoint_sample_spacing(std::int64_t steps) {
  constexpr std::int64_t kMostSamples = 32;
  return std::max<std::int64_t>(1, (steps + kMostSamples - 1) / kMostSamples);
}
constexpr std::int64_t adjoint_samples(std::int64_t steps) {
  const std::int64_t spacing = adjoint_sample_spacing(steps);
  return (steps + spacing - 1) / spacing + 1;
}

}  // namespace costate
