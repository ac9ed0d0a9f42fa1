// Block: lanes() worlds on their way through a rollout. It executes a checkpoint schedule, evaluates the objective where it has
// terms, watches for divergence, and accumulates cotangents. Internal to Rollout, which makes one per thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "costate/core/aligned_buffer.h"
#include "costate/system/keeper.h"
#include "costate/system/optional_tape.h"
#include "costate/system/rollout.h"

namespace costate {

template <class Real>
class Block {
 public:
  Block(const System<Real>& system, const RolloutOptions& options, const Activity& activity);

  // Gathers the inputs of worlds first_world .. first_world + lanes - 1; the last world fills lanes past the end. With
  // world_stride 0 every lane is first_world.
  void load(const Arguments<Real>& arguments, std::int64_t first_world, int world_stride = 1);

  // A state is shown to the keeper when it is reached for the first time.
  void simulate(const Objective<Real>* objective, Keeper<Real>* keeper);
  void forward(const Objective<Real>* objective, Keeper<Real>* keeper);
  void backward(const Objective<Real>& objective);

  // Forward mode along the tangents set by load_tangent or through the *_dot() pointers.
  void load_tangent(const Arguments<Real>& direction);
  void zero_tangent();
  void simulate_tangent(const Objective<Real>* objective);
  void hessian_vector(const Objective<Real>& objective);

  // --- results, laid out [index][lane] ------------------------------------------------------------------------------------
  const Real* final_state() const { return final_; }
  const Real* final_state_dot() const { return final_dot_; }
  const std::vector<double>& loss() const { return loss_; }
  const std::vector<double>& loss_dot() const { return loss_dot_; }
  const Real* x0_bar() const { return lambda_.base + lambda_.start * n_; }
  const Real* u_bar() const { return u_bar_.data(); }
  const Real* p_bar() const { return p_bar_.data(); }
  const Real* x0_bar_dot() const { return lambda_dot_.base + lambda_dot_.start * n_; }
  const Real* u_bar_dot() const { return u_bar_dot_.data(); }
  const Real* p_bar_dot() const { return p_bar_dot_.data(); }
  Real* x0_dot() { return x_dot_.data(); }
  Real* p_dot() { return p_dot_.data(); }

  std::int64_t first_world() const { return first_world_; }
  int live_lanes() const { return live_lanes_; }  // lanes that are worlds
  const std::vector<char>& diverged() const { return diverged_; }
  const std::vector<double>& adjoint_norm2() const { return norm2_; }  // per sampled step, live lanes
  std::optional<double> energy_drift() const { return energy_drift_; }
  Diagnostics& diagnostics() { return work_->diagnostics; }
  const class Findings* findings() const;  // null: the physics has none
  std::int64_t advances() const { return advances_; }
  std::int64_t memory_bytes() const;

  // Steps at which the adjoint's norm is taken: 0, spacing, 2 spacing, ..., steps.
  static std::int64_t sample_spacing(std::int64_t steps);
  static std::int64_t samples(std::int64_t steps);

 private:
  using At = typename Objective<Real>::At;
  At at(std::int64_t k, const Real* x) const;
  Run<Real> run(std::int64_t begin, std::int64_t end) const;
  void begin(const Objective<Real>* objective, Keeper<Real>* keeper);
  void execute(const Action& action);
  Real* tape() { return tape_n_ > 0 ? tape_.data() : nullptr; }
  Ring<Real> march(std::int64_t begin, std::int64_t end, Ring<Real> states, Real* tape);
  void visit(std::int64_t k, const Real* x);
  std::int64_t next_visit(std::int64_t k) const;
  void watch(const Real* x);
  [[noreturn]] void locate_divergence();
  void measure_energy(const Real* x, std::vector<Real>& value);
  void reverse(std::int64_t begin, std::int64_t end, const Real* states, const Real* tape);
  void begin_reverse(const Objective<Real>& objective, std::int64_t slots = 2);
  void sample(std::int64_t k, const Real* lambda);
  void inject(std::int64_t k, const Real* x);
  double adjoint_norm2(const Real* lambda);
  std::int64_t previous_stop(std::int64_t k) const;
  void reverse_by_inverse_steps();
  void snapshot(std::int64_t slot);
  void restore(std::int64_t slot);

  const System<Real>& system_;
  const RolloutOptions& options_;
  const Activity& activity_;
  const int lanes_;
  const std::int64_t steps_, knots_, n_, nu_, np_;
  std::int64_t tape_n_;
  const OptionalTape* const optional_tape_;  // null: the system offers none

  std::unique_ptr<Workspace> work_;
  std::optional<Schedule> schedule_;
  const Arguments<Real>* arguments_ = nullptr;
  const Objective<Real>* objective_ = nullptr;
  Keeper<Real>* keeper_ = nullptr;
  std::int64_t first_world_ = 0;
  int live_lanes_ = 0, world_stride_ = 1;

  AlignedBuffer<Real> u_, p_, working_, tape_states_, tape_, snapshots_, lambda_buffer_, u_bar_, p_bar_;
  AlignedBuffer<float> snapshots_single_;
  AlignedBuffer<Real> x_dot_, u_dot_, p_dot_, working_dot_, tape_states_dot_, lambda_dot_buffer_, u_bar_dot_,
      p_bar_dot_;
  Ring<Real> state_, lambda_, lambda_dot_;
  const Real* final_ = nullptr;
  const Real* final_dot_ = nullptr;
  bool from_tape_ = false;  // tapes are kept instead of states
  std::int64_t reached_ = -1, advances_ = 0;
  std::vector<double> loss_, loss_dot_, norm2_, lane_sums_;
  std::vector<Real> energy_begin_, energy_end_;
  std::optional<double> energy_drift_;
  std::vector<char> diverged_;
};

extern template class Block<float>;
extern template class Block<double>;

}  // namespace costate
