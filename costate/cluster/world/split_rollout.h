// SplitRollout: T steps of one large world over ranks, forward and back. The same program runs on every rank.
//
//   cluster::on_ranks(2, [&](Channel& channel) {      // or: const auto channel = cluster::mpi_channel();
//     cluster::SplitRollout<double> rollout(system, {.steps = 100}, channel);
//     const auto x0 = rollout.start(whole_state);
//     const auto g = rollout.value_and_gradient(x0, arguments, *loss);
//   });
//
// States and gradients have the bits of Rollout, for any number of ranks and any exact checkpoint schedule.
// The value is the exact sum of its terms, rounded at the end: also the same for any number of ranks, and
// within rounding of Rollout's.
// Tests: tests/cluster/split_test.cpp. Guide: docs/cluster.md.
#pragma once

#include <functional>

#include "costate/cluster/world/split_terms.h"
#include "costate/system/rollout.h"

namespace costate::cluster {

template <class Real>
struct SplitGradient {
  double value = 0;
  Piece<Real> x0;              // of the elements that this rank owns at the start
  std::vector<Real> controls;  // whole, on every rank
  Parameters<Real> parameters;
};

template <class Real>
class SplitRollout {
 public:
  // Error where this physics cannot be split over so many ranks.
  SplitRollout(std::shared_ptr<const System<Real>> system, SplitOptions options, Channel& channel);

  SplitSystem<Real>& world() { return *split_; }

  // This rank's piece of a whole state, and the whole state of all pieces, on every rank.
  Piece<Real> start(const std::vector<Real>& whole) const;
  std::vector<Real> whole(const Piece<Real>& piece) const;

  // `arguments`: controls and parameters, the same on every rank; x0 is not read. The observer sees each
  // state from the first to the last.
  using Observer = std::function<void(std::int64_t k, const Piece<Real>& x)>;
  Piece<Real> simulate(const Piece<Real>& x0, const Arguments<Real>& arguments,
                       const Observer& observer = {});
  double value(const Piece<Real>& x0, const Arguments<Real>& arguments, const Objective<Real>& objective);
  SplitGradient<Real> value_and_gradient(const Piece<Real>& x0, const Arguments<Real>& arguments,
                                         const Objective<Real>& objective);

 private:
  SplitPass<Real> pass(const Arguments<Real>& arguments, SplitLoss<Real>& loss);
  // What one rank throws, all ranks throw.
  template <class Body>
  auto together(const Body& body) -> decltype(body());

  std::shared_ptr<const System<Real>> system_;
  SplitOptions options_;
  std::unique_ptr<SplitSystem<Real>> split_;
  Activity active_;
};

// Error where this physics cannot be split over ranks at all.
template <class Real>
const Splittable<Real>& splittable(const System<Real>& system);
// The parameters of one world as one row of numbers.
template <class Real>
std::vector<Real> row_of(const Parameters<Real>& parameters);

extern template const Splittable<float>& splittable(const System<float>&);
extern template const Splittable<double>& splittable(const System<double>&);
extern template std::vector<float> row_of(const Parameters<float>&);
extern template std::vector<double> row_of(const Parameters<double>&);
extern template class SplitRollout<float>;
extern template class SplitRollout<double>;

}  // namespace costate::cluster
