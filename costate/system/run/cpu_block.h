// CpuBlock: System::lanes() worlds on their way through a rollout, in one thread. It executes a checkpoint
// schedule, evaluates the objective where it has terms, watches for divergence, and accumulates cotangents.
//
//   cpu_block.cpp              inputs in, steps, snapshots
//   cpu_block_reverse.cpp      cotangents
//   cpu_block_tangent.cpp      forward mode and second order
//   cpu_block_divergence.cpp   states that are not finite, steps that give up
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "costate/core/aligned_buffer.h"
#include "costate/system/block.h"
#include "costate/system/checkpoints.h"

namespace costate {

template <class Real>
class CpuBlock final : public Block<Real> {
 public:
  CpuBlock(const System<Real>& system, const RolloutOptions& options, const Activity& activity);

  void load(const Arguments<Real>& arguments, std::int64_t first_world) override {
    load(arguments, first_world, 1);
  }
  void simulate(const Objective<Real>* objective, Keeper<Real>* keeper) override;
  void forward(const Objective<Real>* objective, Keeper<Real>* keeper) override;
  void backward(const Objective<Real>& objective) override;
  void simulate_tangent(const Arguments<Real>& direction, const Objective<Real>* objective) override;
  void hessian_vector(const Arguments<Real>& direction, const Objective<Real>& objective) override;

  // Every lane is this world, to be moved along a direction of its own: the caller writes to x0_dot() and
  // p_dot(), which are zero, before simulate_tangents().
  void load_copies(const Arguments<Real>& arguments, std::int64_t world);
  Real* x0_dot() { return x_dot_.data(); }
  Real* p_dot() { return p_dot_.data(); }
  void simulate_tangents(const Objective<Real>* objective);

 private:
  using At = typename Objective<Real>::At;

  void load(const Arguments<Real>& arguments, std::int64_t first_world, int world_stride);
  void zero_tangent();
  void load_tangent(const Arguments<Real>& direction);
  At at(std::int64_t k, const Real* x) const;
  Run<Real> run(std::int64_t begin, std::int64_t end) const;
  void begin(const Objective<Real>* objective, Keeper<Real>* keeper);
  void plan_tape(const Objective<Real>* objective);
  void execute(const Action& action);
  Ring<Real> march(std::int64_t begin, std::int64_t end, Ring<Real> states, const Tape<Real>& tape);
  void visit(std::int64_t k, const Real* x);
  std::int64_t next_visit(std::int64_t k) const;
  void measure_energy(const Real* x, std::vector<Real>& value);
  void note_memory();
  void snapshot(std::int64_t slot);
  void restore(std::int64_t slot);
  Real* state() const { return state_.base + state_.start * n_; }
  Tape<Real> tape() { return {tape_n_ > 0 ? tape_.data() : nullptr, tape_n_}; }

  // cpu_block_divergence.cpp
  void watch(const Real* x);
  [[noreturn]] void locate_divergence();
  // steps(), which take the block to its end or throw. Where worlds are masked, one whose step gives up is.
  template <class Steps>
  void masked_if_it_fails(const Steps& steps) {
    try {
      steps();
    } catch (const Error& error) {
      if (!may_be_masked(error)) throw;
      mask(error);
    }
  }
  bool may_be_masked(const Error& error) const;
  void mask(const Error& error);
  bool is_masked() const { return lanes_ == 1 && this->results_.diverged[0]; }  // nobody wants its cotangents

  // cpu_block_reverse.cpp
  void zero_cotangents();
  void begin_reverse(const Objective<Real>& objective);
  void reverse(std::int64_t begin, std::int64_t end, const Real* states, const Tape<const Real>& tape);
  void reverse_steps();
  void reverse_by_inverse_steps();
  bool is_dropped_at(std::int64_t k) const;
  std::int64_t previous_term(std::int64_t k) const;
  void inject(std::int64_t k, const Real* x);
  void sample(std::int64_t k);
  double adjoint_norm2();
  Real* lambda() const { return lambda_.base + lambda_.start * n_; }

  // cpu_block_tangent.cpp
  void add_loss_dot(std::int64_t k, const Real* x, const Real* x_dot);
  Inputs<Real> inputs_dot(std::int64_t k, const Real* x_dot) const;
  void march_tangents();
  void record_with_tangents();
  void inject_dot(std::int64_t k);
  void reverse_tangents();

  const System<Real>& system_;
  const RolloutOptions& options_;
  const Activity& activity_;
  const int lanes_;
  const std::int64_t steps_, knots_, n_, nu_, np_;
  const bool wants_parameters_;  // the cotangent of at least one

  std::unique_ptr<Workspace> work_;
  std::optional<Schedule> schedule_;
  const Arguments<Real>* arguments_ = nullptr;
  const Objective<Real>* objective_ = nullptr;
  Keeper<Real>* keeper_ = nullptr;
  int world_stride_ = 1;

  AlignedBuffer<Real> u_, p_, working_, tape_states_, tape_, snapshots_, lambda_buffer_, u_bar_, p_bar_;
  AlignedBuffer<float> snapshots_single_;
  AlignedBuffer<Real> x_dot_, u_dot_, p_dot_, working_dot_, tape_states_dot_, lambda_dot_buffer_, u_bar_dot_,
      p_bar_dot_;
  Ring<Real> state_, lambda_, lambda_dot_;
  std::int64_t tape_n_ = 0;    // numbers of the block per step
  bool tape_is_all_ = false;   // tapes are kept instead of states
  std::int64_t reached_ = -1;  // the last state that was visited
  std::vector<double> lane_sums_;
  std::vector<Real> energy_begin_, energy_end_;
};

extern template class CpuBlock<float>;
extern template class CpuBlock<double>;

}  // namespace costate
