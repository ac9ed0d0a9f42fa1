// SplitPass: this rank's way through the steps of one large world, forward and back, with a checkpoint
// schedule (checkpoints.h) whose states are pieces. All ranks walk it together.
//
// Internal to SplitRollout and to the ranks of a Rollout (ranks.h).
// Tests: tests/cluster/split_test.cpp, ranks_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "costate/system/checkpoints.h"
#include "costate/system/split_system.h"

namespace costate::cluster {

struct SplitOptions {
  std::int64_t steps = 1;
  Checkpoints checkpoints = store_all();  // each rank keeps its own pieces
  std::int64_t hold = 1;
  std::vector<std::string> active = {"**"};
  std::uint64_t seed = 0;
  std::int64_t first_step = 0;  // where a world that was read from files goes on

  std::int64_t knots() const { return (steps + hold - 1) / hold; }
};
// Error where they make no sense for a world that is split.
void check(const SplitOptions& options);

// What is done with the states on their way: losses, and whoever watches.
template <class Real>
class SplitLoss {
 public:
  virtual ~SplitLoss() = default;
  // Each state once, from the first to the last. u: the controls of this step; null at the end.
  virtual void see(std::int64_t k, const Piece<Real>& x, const Real* u) = 0;
  // On the way back, each of them again: adds the cotangents of its term. u_bar is null at the end.
  virtual void vjp(std::int64_t k, const Piece<Real>& x, const Real* u, Piece<Real>& x_bar, Real* u_bar) = 0;
};

// This rank's piece of a whole state.
template <class Real>
Piece<Real> piece_of(const SplitSystem<Real>& world, const std::vector<Real>& whole);

template <class Real>
class SplitPass {
 public:
  // controls: knots x controls numbers; parameters: one number each. World and loss outlive it.
  SplitPass(SplitSystem<Real>& world, SplitOptions options, Activity active, std::vector<Real> controls,
            std::vector<Real> parameters, SplitLoss<Real>& loss);

  // Keeps nothing; the last piece.
  Piece<Real> simulate(Piece<Real> x0);
  // forward() keeps what one backward() needs.
  void forward(Piece<Real> x0);
  void backward();

  // After backward(): of the elements that this rank owns at the start; the others whole, on every rank.
  Piece<Real> x0_bar;
  std::vector<Real> controls_bar, parameters_bar;
  std::int64_t kept_bytes() const;

 private:
  const Real* knot(std::int64_t k) const;
  Real* knot_bar(std::int64_t k);
  void step(std::int64_t k, const Piece<Real>& x, Piece<Real>& y, std::vector<Real>* tape = nullptr);
  void see(std::int64_t k, const Piece<Real>& x);
  void execute(const Action& action);
  void record(std::int64_t begin, std::int64_t end);
  void reverse(std::int64_t begin, std::int64_t end);
  void inject(std::int64_t k, const Piece<Real>& x);

  SplitSystem<Real>& world_;
  const SplitOptions options_;
  const Activity active_;
  const std::vector<Real> controls_, parameters_;
  SplitLoss<Real>& loss_;
  std::optional<Schedule> schedule_;
  Piece<Real> x_, y_, lambda_, lambda_before_;
  std::vector<Piece<Real>> slots_, states_;  // states_[j]: after j steps of the record
  std::vector<std::vector<Real>> tapes_;
  std::int64_t seen_ = -1;  // the last state that was seen
};

extern template Piece<float> piece_of(const SplitSystem<float>&, const std::vector<float>&);
extern template Piece<double> piece_of(const SplitSystem<double>&, const std::vector<double>&);
extern template class SplitPass<float>;
extern template class SplitPass<double>;

}  // namespace costate::cluster
