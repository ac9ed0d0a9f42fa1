// Rollouts whose arrays stay on a device: arguments are read where another library has put them, and final
// states and cotangents are written where the caller wants them. Nothing is copied to the host.
//
//   final state = rollout(x0, controls, parameters)
//   x0_bar, controls_bar, parameters_bar = pull_back(...; final_bar, states_bar), after the rollout once more
//
// Calls are made in the order of the caller's stream and, with on_divergence = mask_world, return before the
// device has run: a world that diverges has a state that is not finite, and cotangents that are zero. With
// on_divergence = stop a call waits for its end, because an Error names the step and the world.
//
// Who calls it: costate.torch and costate.jax. Tests: tests/cuda/resident_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "costate/system/rollout.h"

namespace costate::cuda {

// Numbers on the device: a row for each world, or one row that all worlds share.
template <class Real>
struct ResidentInput {
  const Real* data = nullptr;  // null: controls that are zero, parameters as the signature has them
  bool shared = false;
};

template <class Real>
struct ResidentArguments {
  ResidentInput<Real> x0, controls;             // rows: states; knots x controls
  std::vector<ResidentInput<Real>> parameters;  // of each field; empty: all as the signature has them
};

// Where cotangents go, in the shapes of the inputs. Null: not wanted.
template <class Real>
struct ResidentCotangents {
  Real *x0 = nullptr, *controls = nullptr;
  std::vector<Real*> parameters;  // of each field; empty: none
};

template <class Real>
class ResidentRollout {
 public:
  // An Error if options.device is not a device of its own, or has no kernels for the system.
  ResidentRollout(std::shared_ptr<const System<Real>> system, RolloutOptions options);
  ~ResidentRollout();

  std::int64_t kept() const;  // states that a call returns: 0, keep, 2 keep, ...

  // final_state: worlds x states; states: kept x worlds x states, or null. stream: the caller's, null the
  // default one.
  void simulate(const ResidentArguments<Real>& at, Real* final_state, Real* states, void* stream);
  // final_bar and states_bar in the same shapes; null: zero.
  void pull_back(const ResidentArguments<Real>& at, const Real* final_bar, const Real* states_bar,
                 const ResidentCotangents<Real>& to, void* stream);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class ResidentRollout<float>;
extern template class ResidentRollout<double>;

}  // namespace costate::cuda
