// Rollout: T steps of B worlds, forward and back.
//
//   x_{k+1} = step(x_k, u_k, p),   L = sum_k l_k(x_k, u_k, p) + l_T(x_T, p)
//   lambda_T = l_T,x;  lambda_k = l_k,x + step_x' lambda_{k+1};  u_bar_k = l_k,u + step_u' lambda_{k+1};
//   p_bar = sum_k l_k,p + step_p' lambda_{k+1}
//
// Worlds outer, time inner: a block of worlds runs through all its steps, forward and back, while it is in
// cache; blocks run in parallel. Results have the same bits for any number of threads and any exact
// checkpoint schedule.
//
// Arrays are world-major: x0 is worlds x states numbers, or `states` numbers shared by all worlds; controls
// are worlds x knots x controls, or knots x controls shared. A gradient has the shape of what it is the
// gradient of.
// Tests: tests/system/rollout_test.cpp, state_observer_test.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "costate/system/checkpoints.h"
#include "costate/system/gradient.h"
#include "costate/system/objective.h"
#include "costate/system/parameters.h"
#include "costate/system/state_observer.h"
#include "costate/system/system.h"

namespace costate {

enum class OnDivergence {
  stop,        // an Error that names step, field and world
  mask_world,  // the world is left out of value and gradient, and listed; with no world left the value is NaN
};

struct RolloutOptions {
  std::int64_t steps = 1;
  std::int64_t worlds = 1;
  Checkpoints checkpoints = store_all();
  std::int64_t hold = 1;                     // steps that share a control knot
  std::int64_t keep = 0;                     // forward() returns every keep-th state (0: only the last)
  std::vector<std::string> active = {"**"};  // parameters whose gradient is wanted, as globs; {} for none
  std::uint64_t seed = 0;
  OnDivergence on_divergence = OnDivergence::stop;
  bool spot_check = false;  // compare each gradient with one directional difference (two more forward passes)
  bool time_step_check =
      false;  // compare each gradient with the one at dt/2 (check::time_step; twice the cost)
  std::string device = "cpu";  // where it runs: "cpu", "cuda:0", ... (devices.h lists them)
};

template <class Real>
struct Arguments {
  std::vector<Real> x0;
  std::vector<Real> controls;
  Parameters<Real> parameters;
};

template <class Real>
struct Trajectory {
  std::vector<Real> final_state;       // worlds x states
  std::vector<std::int64_t> kept;      // steps of the kept states
  std::vector<Real> states;            // kept x worlds x states
  std::vector<std::int64_t> diverged;  // worlds, with on_divergence = mask_world
};

template <class Real>
struct Tangent {
  double value = 0, value_dot = 0;
  std::vector<Real> final_state, final_state_dot;  // worlds x states; NaN in worlds that are masked
};

template <class Real>
class Backend;

template <class Real>
class Rollout {
 public:
  // `backend`: where the blocks run (backend.h); null: where options.device says.
  Rollout(std::shared_ptr<const System<Real>> system, RolloutOptions options,
          std::shared_ptr<const Backend<Real>> backend = nullptr);
  ~Rollout();
  Rollout(Rollout&&) noexcept;
  Rollout& operator=(Rollout&&) noexcept;

  const System<Real>& system() const;
  const RolloutOptions& options() const;
  std::int64_t knots() const;  // control knots of a rollout

  // Every state at rest at zero, no controls, default parameters: a start to fill in.
  Arguments<Real> arguments() const;

  // Keeps nothing for a gradient. An observer sees states as they go by.
  Trajectory<Real> simulate(const Arguments<Real>& arguments, const StateObserver<Real>& observer = {});
  double value(const Arguments<Real>& arguments, const Objective<Real>& objective,
               const StateObserver<Real>& observer = {});
  // Of each world: what methods without gradients rank. A world that is masked (on_divergence) is not a
  // number.
  std::vector<double> values(const Arguments<Real>& arguments, const Objective<Real>& objective);

  // forward() keeps what backward() needs; the loss may be decided in between.
  Trajectory<Real> forward(const Arguments<Real>& arguments, const StateObserver<Real>& observer = {});
  Gradient<Real> backward(const Objective<Real>& objective);

  // Both at once, block by block: the memory of one block per thread instead of all.
  Gradient<Real> value_and_gradient(const Arguments<Real>& arguments, const Objective<Real>& objective);

  // Forward mode along one direction (the shapes of `direction` are those of `arguments`).
  Tangent<Real> jvp(const Arguments<Real>& arguments, const Arguments<Real>& direction,
                    const Objective<Real>* objective = nullptr);

  // Gradient, and its rate of change along `direction`: a Hessian-vector product.
  struct HessianVector {
    Gradient<Real> gradient, product;
  };
  HessianVector hessian_vector(const Arguments<Real>& arguments, const Arguments<Real>& direction,
                               const Objective<Real>& objective);

  // d x_T / d (x0, active parameters) of a single world, row-major; columns in that order. Directions run in
  // SIMD lanes.
  std::vector<Real> jacobian(const Arguments<Real>& arguments);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

template <class Real>
Rollout(std::shared_ptr<System<Real>>, RolloutOptions) -> Rollout<Real>;

extern template class Rollout<float>;
extern template class Rollout<double>;

}  // namespace costate
