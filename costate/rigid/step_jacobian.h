// The Jacobian of one step in the tangent space: what a controller linearises with.
//
//   d(q+, v+, act+) = A d(q, v, act) + B d(ctrl, qfrc)
//
// dq has nv numbers (for ball and free joints a rotation in body axes). v+ = v + h a', so the rows of v+ are
// nv transposes of the acceleration, which share the poses, the contact points and the factor of the Newton
// matrix: prepared once for a pack of worlds. The rows of q+ = q (+) h v+ follow from those of v+: nothing is
// solved for them. With hard contact each row, of q+ too, is a transpose of the step.
// Tests: tests/rigid/contact/jacobian_test.cpp.
#pragma once

#include <memory>

#include "costate/rigid/rigid_system.h"
#include "costate/system/parameters.h"

namespace costate::rigid {

template <class Real>
class StepJacobian {
 public:
  // Of whole steps, as with onset = none. Throws an Error as make_system does, and for RK4 and onset = split,
  // whose steps have several evaluations.
  explicit StepJacobian(const Model& model, const SystemOptions& options = {});
  ~StepJacobian();
  StepJacobian(StepJacobian&&) noexcept;

  const Signature& signature() const;
  std::int64_t rows() const;      // 2 nv + na
  std::int64_t controls() const;  // numbers in ctrl and qfrc

  // x: worlds x states, u: worlds x controls, parameters of all worlds. Writes A: worlds x rows x rows and B:
  // worlds x rows x controls, each row by row. Worlds run in lanes and on all threads.
  void operator()(std::int64_t worlds, const Real* x, const Real* u, const Parameters<Real>& parameters,
                  Real* A, Real* B) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class StepJacobian<float>;
extern template class StepJacobian<double>;

}  // namespace costate::rigid
