// Follow a reference: rows of states and controls that move on with time, as the cost of a plan.
//
//   l_k = 1/2 sum_i w_i e_i^2 + 1/2 sum_j s_j (u_k - c_k)_j^2,     e = x_k (-) r_k,     k + begin_at() a row
//
// e is linear in the numbers of the state: x - r, and of a quaternion q, whose reference is r, 2 vec(r* q),
// about the rotation between them. So the second derivative is constant and known:
//
//   vjp: x_bar += E'(w e),  u_bar += s (u - c)        hvp: E'(w E x_dot),  s u_dot
//
// Tests: tests/control/reference_test.cpp.
#pragma once

#include <vector>

#include "costate/control/state_space.h"
#include "costate/system/objective.h"

namespace costate::control {

struct ReferenceWeights {
  std::vector<double> states = {};    // w, one per tangent
  std::vector<double> controls = {};  // s, one per control; empty: controls are free
  std::vector<double> last = {};      // w of the last state; empty: as the others
};

class Reference final : public Objective<double> {
 public:
  // space: of no states, every state is a plain number. states: rows of the signature's numbers; controls: as
  // many rows, or one for all, or none (zero).
  Reference(const Signature& signature, StateSpace space, ReferenceWeights weights,
            std::vector<double> states, std::vector<double> controls = {});

  // The row of step 0 of a plan from now on. Rows after the last repeat it.
  void begin_at(std::int64_t row) { begin_ = row; }
  const double* state(std::int64_t k) const;

  void check(std::int64_t steps, std::int64_t worlds) const override;
  std::int64_t next(std::int64_t k, std::int64_t steps) const override { return k <= steps ? k : kNever; }
  std::int64_t previous(std::int64_t k, std::int64_t) const override { return k; }
  void value(const At& at, double* loss) const override;
  void vjp(const At& at, const Cotangents<double>& bar) const override;
  void hvp(const At& at, const Inputs<double>& in_dot, const Cotangents<double>& bar_dot) const override;

 private:
  std::int64_t rows() const { return std::int64_t(states_.size()) / space_.states(); }
  const double* control(std::int64_t k) const;
  const std::vector<double>& weights(const At& at) const;
  // to += E'(w E from), lane by lane; from less `origin` where that is not null.
  void add_product(const At& at, const double* from, const double* origin, double* to) const;

  StateSpace space_;
  ReferenceWeights weights_;
  std::vector<double> states_, controls_;
  std::vector<int> tangent_of_;  // of each number of the state; -1: of a quaternion
  std::int64_t begin_ = 0;
};

}  // namespace costate::control
