// What scalars become of one another: reactions by the law of mass action [1], and their transpose.
//
//   r_j = k_j prod_s c_s^(takes_js)     dc_s/dt += (makes_js - takes_js) r_j     in cells, takes 0, 1, 2, ...
//
//   transpose, given rate_bar of every scalar:   r_j_bar = sum_s (makes_js - takes_js) rate_bar_s
//                                                c_q_bar += r_j_bar dr_j/dc_q    k_j_bar += r_j_bar r_j / k_j
//
// [1] Guldberg, Waage (1864).
// Tests: tests/fluid/reaction_test.cpp.
#pragma once

#include "costate/fluid/step/flow_inputs.h"
#include "costate/fluid/step/flow_model.h"

namespace costate::fluid {

template <class S>
struct Reactions {
  using Real = value_t<S>;
  using Fields = std::array<Plane<Real>, kMostScalars>;
  using One = FlowModel::ReactionModel;
  const std::vector<One>& all;
  Fields c;
  std::array<S, kMostReactions> k;

  // Of the fields c.
  Reactions(const FlowModel& model, Packed<Real> p, const Fields& fields) : all(model.reactions), c(fields) {
    for (std::size_t j = 0; j < all.size(); ++j) k[j] = everywhere<S>(read_number<S>(p, all[j].rate_at));
  }

  COSTATE_INLINE S rate(std::size_t s, Index at) const {
    S sum(Real(0));
    for (std::size_t j = 0; j < all.size(); ++j)
      if (all[j].change[s] != 0) sum = sum + Real(all[j].change[s]) * (k[j] * product(all[j], at));
    return sum;
  }

  // --- transpose -------------------------------------------------------------------------------------------

  COSTATE_INLINE S carried_bar(std::size_t q, const Fields& rate_bar, Index at) const {
    S sum(Real(0));
    for (std::size_t j = 0; j < all.size(); ++j)
      if (all[j].takes[q] > 0)
        sum = sum + Real(all[j].takes[q]) * (k[j] * product(all[j], at, q) * reaction_bar(j, rate_bar, at));
    return sum;
  }
  COSTATE_INLINE S constant_bar(std::size_t j, const Fields& rate_bar, Index at) const {
    return reaction_bar(j, rate_bar, at) * product(all[j], at);
  }

 private:
  static constexpr std::size_t kNone = kMostScalars;

  // Of all powers; `without` one factor of a scalar.
  COSTATE_INLINE S product(const One& of, Index at, std::size_t without = kNone) const {
    S product(Real(1));
    for (std::size_t s = 0; s < kMostScalars; ++s)
      for (int power = of.takes[s] - (s == without ? 1 : 0); power > 0; --power)
        product = product * load<S>(c[s], at);
    return product;
  }
  COSTATE_INLINE S reaction_bar(std::size_t j, const Fields& rate_bar, Index at) const {
    S sum(Real(0));
    for (std::size_t s = 0; s < kMostScalars; ++s)
      if (all[j].change[s] != 0) sum = sum + Real(all[j].change[s]) * load<S>(rate_bar[s], at);
    return sum;
  }
};

}  // namespace costate::fluid
