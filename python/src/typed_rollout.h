// TypedRollout: a rollout as Python calls it, in one precision. One C++ Rollout for each number of worlds
// that was asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "call.h"
#include "costate/system/check/checks.h"
#include "costate/system/check/trust.h"
#include "costate/system/estimators.h"
#include "resident.h"
#include "results.h"

namespace costate::python {

struct PyRollout {
  virtual ~PyRollout() = default;
  virtual Simulation simulate(const FieldsLike& x0, const FieldsLike& u, const Values& p) = 0;
  virtual Simulation forward(const FieldsLike& x0, const FieldsLike& u, const Values& p) = 0;
  virtual PyGradient backward(const AnyLossPtr& loss) = 0;
  virtual PyGradient backward(const ArrayLike& final_bar, const ArrayLike& states_bar) = 0;
  virtual double value(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                       const AnyLossPtr& loss) = 0;
  virtual Array values(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                       const AnyLossPtr& loss) = 0;
  virtual PyGradient value_and_gradient(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                                        const AnyLossPtr& loss) = 0;
  virtual PyGradient pull_back(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                               const ArrayLike& final_bar, const ArrayLike& states_bar) = 0;
  virtual std::pair<Array, Array> jvp(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                                      const FieldsLike& x0_dot, const FieldsLike& u_dot,
                                      const Values& p_dot) = 0;
  virtual std::pair<PyGradient, PyGradient> hessian_vector(const FieldsLike& x0, const FieldsLike& u,
                                                           const Values& p, const FieldsLike& x0_dot,
                                                           const FieldsLike& u_dot, const Values& p_dot,
                                                           const AnyLossPtr& loss) = 0;
  virtual std::pair<PyGradient, PyGradient> pull_back_tangent(const FieldsLike& x0, const FieldsLike& u,
                                                              const Values& p, const FieldsLike& x0_dot,
                                                              const FieldsLike& u_dot, const Values& p_dot,
                                                              const ArrayLike& final_bar,
                                                              const ArrayLike& states_bar) = 0;
  virtual nb::tuple linearize(const FieldsLike& x0, const FieldsLike& u, const Values& p) = 0;
  virtual std::vector<check::Result> check(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                                           const AnyLossPtr& loss, std::uint64_t seed, double step) = 0;
  virtual std::vector<check::Trust> trust(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                                          const AnyLossPtr& loss, const check::TrustOptions& options) = 0;
  virtual std::pair<PyGradient, nb::dict> smoothed_gradient(const FieldsLike& x0, const FieldsLike& u,
                                                            const Values& p, const AnyLossPtr& loss,
                                                            const estimate::Smoothing& smoothing,
                                                            estimate::Order order) = 0;

  // With arrays of a GPU. Without Python's lock.
  virtual void simulate_there(const ResidentCall& call, const ResidentStates& to) = 0;
  virtual void pull_back_there(const ResidentCall& call, const ResidentStates& bars,
                               const ResidentBars& to) = 0;

  std::shared_ptr<const AnySystem> system;
  RolloutOptions options;
  bool fixed_worlds = false;  // otherwise the arrays of a call say how many
  bool single = false;
};

std::unique_ptr<PyRollout> make_rollout(std::shared_ptr<const AnySystem> system, RolloutOptions options,
                                        bool fixed_worlds, bool single);

// Adds the methods for arrays of a GPU. (resident.cpp)
void bind_resident(nb::module_& m, nb::class_<PyRollout>& rollout);

}  // namespace costate::python
