// TypedRollout: a rollout as Python calls it, in one precision. One C++ Rollout for each number of worlds that was asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "call.h"
#include "costate/system/checks.h"
#include "results.h"

namespace costate::python {

struct PyRollout {
  virtual ~PyRollout() = default;
  virtual Simulation simulate(nb::handle x0, nb::handle u, nb::handle p) = 0;
  virtual Simulation forward(nb::handle x0, nb::handle u, nb::handle p) = 0;
  virtual PyGradient backward(const AnyLossPtr& loss) = 0;
  virtual PyGradient backward(nb::handle final_bar, nb::handle states_bar) = 0;
  virtual double value(nb::handle x0, nb::handle u, nb::handle p, const AnyLossPtr& loss) = 0;
  virtual PyGradient value_and_gradient(nb::handle x0, nb::handle u, nb::handle p,
                                        const AnyLossPtr& loss) = 0;
  virtual PyGradient pull_back(nb::handle x0, nb::handle u, nb::handle p, nb::handle final_bar,
                               nb::handle states_bar) = 0;
  virtual nb::tuple jvp(nb::handle x0, nb::handle u, nb::handle p, nb::handle x0_dot, nb::handle u_dot,
                        nb::handle p_dot) = 0;
  virtual nb::tuple hessian_vector(nb::handle x0, nb::handle u, nb::handle p, nb::handle x0_dot,
                                   nb::handle u_dot, nb::handle p_dot, const AnyLossPtr& loss) = 0;
  virtual nb::tuple pull_back_tangent(nb::handle x0, nb::handle u, nb::handle p, nb::handle x0_dot,
                                      nb::handle u_dot, nb::handle p_dot, nb::handle final_bar) = 0;
  virtual nb::object jacobian(nb::handle x0, nb::handle u, nb::handle p) = 0;
  virtual std::vector<check::Result> check(nb::handle x0, nb::handle u, nb::handle p, const AnyLossPtr& loss,
                                           std::uint64_t seed, double step) = 0;

  std::shared_ptr<const AnySystem> system;
  RolloutOptions options;
  bool fixed_worlds = false;  // otherwise the arrays of a call say how many
  bool single = false;
};

std::unique_ptr<PyRollout> make_rollout(std::shared_ptr<const AnySystem> system, RolloutOptions options,
                                        bool fixed_worlds, bool single);

}  // namespace costate::python
