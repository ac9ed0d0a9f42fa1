// The terms of an objective, element by element: what a rank adds to the loss of a split world.
//
// The value is an exact sum (core/exact_sum.h), so it does not depend on who owns what. Cotangents are those
// of the whole world, number by number.
// Tests: tests/cluster/split_test.cpp.
#pragma once

#include "costate/cluster/world/split_pass.h"
#include "costate/core/exact_sum.h"
#include "costate/system/objective.h"

namespace costate::cluster {

template <class Real>
class SplitTerms final : public SplitLoss<Real> {
 public:
  // Error where the objective is more than squared distances, linear terms and efforts.
  SplitTerms(const SplitSystem<Real>& system, const Objective<Real>& objective, std::int64_t steps);

  void see(std::int64_t k, const Piece<Real>& x, const Real* u) override;
  void vjp(std::int64_t k, const Piece<Real>& x, const Real* u, Piece<Real>& x_bar, Real* u_bar) override;
  // Of all ranks together, which call it together. Error where it is not finite.
  double value() const;

 private:
  std::vector<PlainTerm<Real>> terms(std::int64_t k) const;
  // body(number in the piece, number in the term) for all that this rank owns of a term.
  template <class Body>
  void each(const PlainTerm<Real>& term, const Piece<Real>& x, const Body& body) const;

  const SplitSystem<Real>& system_;
  const Objective<Real>& objective_;
  std::int64_t steps_;
  ExactSum sum_;  // of this rank
};

extern template class SplitTerms<float>;
extern template class SplitTerms<double>;

}  // namespace costate::cluster
