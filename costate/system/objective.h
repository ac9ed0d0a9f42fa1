// Objective: what is differentiated. A sum of terms of single states,
//
//   L = sum_k l_k(x_k, u_k, p) + l_T(x_T, p),
//
// one value per world; the gradient is that of the sum over worlds. An objective says at which steps it has a
// term, so that a rollout can run undisturbed between them.
// Tests: tests/system/objective_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "costate/system/system.h"

namespace costate {

inline constexpr std::int64_t kNever = INT64_MAX;

// A term of one step as numbers instead of code, for devices that cannot call an Objective. With z =
// x[offset], ..., x[offset + size - 1] of one world, or all of its controls u:
//
//   distance   1/2 weight |z - target|^2      linear   weight <target, z>      effort   1/2 weight |u|^2
//
// World w has its target at target + w * world_stride. Null: zero for a distance, ones for a linear term.
template <class Real>
struct PlainTerm {
  enum class Kind { distance, linear, effort };
  Kind kind = Kind::distance;
  std::int64_t offset = 0, size = 0;
  double weight = 1;
  const Real* target = nullptr;
  std::int64_t world_stride = 0;  // 0: all worlds share it
};

template <class Real>
class Objective {
 public:
  // The state before step k (k = steps: the final state, where there is no control and in.u is null). Lanes
  // past the last world repeat it; what is computed for them is dropped.
  struct At {
    std::int64_t k = 0, steps = 0;
    std::int64_t world = 0, worlds = 1;  // world of lane 0
    int lanes = 1;
    Inputs<Real> in;
    bool last() const { return k == steps; }
    std::int64_t world_of(int lane) const { return std::min(world + lane, worlds - 1); }
  };

  virtual ~Objective() = default;

  // Throws if the objective does not fit a rollout of that length and width (a target for a step that does
  // not exist).
  virtual void check(std::int64_t steps, std::int64_t worlds) const = 0;

  // The nearest steps with a term: first >= k, or kNever; last <= k, or -1. Between 0 and `steps`, both
  // included.
  virtual std::int64_t next(std::int64_t k, std::int64_t steps) const = 0;
  virtual std::int64_t previous(std::int64_t k, std::int64_t steps) const = 0;

  // Adds the term of each lane.
  virtual void value(const At& at, double* loss) const = 0;
  // Adds its derivative. Null pointers: not wanted. (x is added to here as well.)
  virtual void vjp(const At& at, const Cotangents<Real>& bar) const = 0;
  // Adds the rate of vjp's result when the inputs move along in_dot (null: zero).
  virtual void hvp(const At& at, const Inputs<Real>& in_dot, const Cotangents<Real>& bar_dot) const;

  // Appends the terms of step k as numbers. False: they exist only as value() and vjp(), which a device
  // without host code leaves to the host.
  virtual bool plain_terms(std::int64_t /*k*/, std::int64_t /*steps*/,
                           std::vector<PlainTerm<Real>>& /*terms*/) const {
    return false;
  }
};

extern template class Objective<float>;
extern template class Objective<double>;

template <class Real>
using ObjectivePtr = std::shared_ptr<const Objective<Real>>;

namespace loss {  // a kind of loss is a file in losses/, with its derivatives

// 1/2 weight |field - target|^2 of the final state. An empty target is zero; targets of all worlds: worlds x
// size numbers.
template <class Real>
ObjectivePtr<Real> final(const Signature& signature, std::string_view field, std::vector<Real> target,
                         double weight = 1);

// 1/2 weight sum_j |field(step_j) - target_j|^2 at chosen steps; targets are steps x size numbers shared by
// all worlds, or worlds x steps x size.
template <class Real>
ObjectivePtr<Real> track(const Signature& signature, std::string_view field, std::vector<std::int64_t> steps,
                         std::vector<Real> targets, double weight = 1);

// weight * field[index] of the final state.
template <class Real>
ObjectivePtr<Real> final_value(const Signature& signature, std::string_view field, std::int64_t index = 0,
                               double weight = 1);

// 1/2 weight sum_k |u_k|^2 over all steps.
template <class Real>
ObjectivePtr<Real> effort(const Signature& signature, double weight = 1);

// Cotangents supplied from outside, for chosen steps: L = sum_j <cotangent_j, x_{step_j}>, each worlds x
// states numbers.
template <class Real>
ObjectivePtr<Real> cotangents(const Signature& signature, std::vector<std::int64_t> steps,
                              std::vector<std::vector<Real>> values);

template <class Real>
ObjectivePtr<Real> sum(std::vector<ObjectivePtr<Real>> terms);

}  // namespace loss
}  // namespace costate
