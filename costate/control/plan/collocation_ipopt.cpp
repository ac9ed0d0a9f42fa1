// collocate() by Ipopt's C interface.
#include <IpStdCInterface.h>

#include <cmath>
#include <exception>
#include <memory>

#include "costate/control/plan/transcription.h"
#include "costate/core/error.h"
#include "costate/core/interrupt.h"

namespace costate::control {
namespace {

// What Ipopt's callbacks are given. What they throw waits here until Ipopt has returned.
struct Call {
  const Transcription& nlp;
  Transcription::Places jacobian, hessian;
  const PlanCallback& callback;
  std::exception_ptr thrown = nullptr;
  int iterations = 0;
  double error = 0;
};

template <class F>
Bool guarded(void* user, const F& f) {
  Call& call = *static_cast<Call*>(user);
  try {
    stop_if_interrupted();
    return f(call) ? TRUE : FALSE;
  } catch (...) {
    call.thrown = std::current_exception();
    return FALSE;
  }
}

bool all_finite(const Number* v, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (!std::isfinite(v[i])) return false;
  return true;
}

Bool value(Index, Number* z, Bool, Number* to, UserDataPtr user) {
  return guarded(user, [&](Call& c) { return *to = c.nlp.value(z), std::isfinite(*to); });
}
Bool gradient(Index n, Number* z, Bool, Number* to, UserDataPtr user) {
  return guarded(user, [&](Call& c) { return c.nlp.gradient(z, to), all_finite(to, std::size_t(n)); });
}
Bool equations(Index, Number* z, Bool, Index m, Number* to, UserDataPtr user) {
  return guarded(user, [&](Call& c) { return c.nlp.equations(z, to), all_finite(to, std::size_t(m)); });
}
Bool jacobian(Index, Number* z, Bool, Index, Index count, Index* row, Index* column, Number* to,
              UserDataPtr user) {
  return guarded(user, [&](Call& c) {
    if (to) return c.nlp.jacobian(z, to), all_finite(to, std::size_t(count));
    std::copy(c.jacobian.row.begin(), c.jacobian.row.end(), row);
    std::copy(c.jacobian.column.begin(), c.jacobian.column.end(), column);
    return true;
  });
}
Bool hessian(Index, Number* z, Bool, Number sigma, Index, Number* lambda, Bool, Index count, Index* row,
             Index* column, Number* to, UserDataPtr user) {
  return guarded(user, [&](Call& c) {
    if (to) return c.nlp.hessian(z, sigma, lambda, to), all_finite(to, std::size_t(count));
    std::copy(c.hessian.row.begin(), c.hessian.row.end(), row);
    std::copy(c.hessian.column.begin(), c.hessian.column.end(), column);
    return true;
  });
}
Bool watch(Index, Index iteration, Number value, Number violation, Number gradient, Number mu, Number, Number,
           Number, Number length, Index, UserDataPtr user) {
  return guarded(user, [&](Call& c) {
    c.iterations = iteration;
    return !c.callback || c.callback({iteration, value, gradient, violation, length, mu});
  });
}

void say(Collocated& to, ApplicationReturnStatus status, bool exact) {
  to.outcome = Outcome::stuck;
  to.reason = "Ipopt ended with status " + std::to_string(int(status));
  if (status == Solve_Succeeded || status == Solved_To_Acceptable_Level) {
    to.outcome = Outcome::converged;
    to.reason = status == Solve_Succeeded ? "the gradient is small and the equations are met"
                                          : "met less exactly than asked for, and no step improves it";
  } else if (status == Infeasible_Problem_Detected) {
    to.outcome = Outcome::infeasible;
    to.reason = "near here the equations and constraints contradict each other";
  } else if (status == User_Requested_Stop) {
    to.outcome = Outcome::callback;
    to.reason = "stopped by the callback";
  } else if (status == Maximum_Iterations_Exceeded) {
    to.outcome = Outcome::iterations;
    to.reason = "the limit of iterations was reached";
  }
  if (!exact) to.reason += "; the Hessian was approximated by L-BFGS, for want of second derivatives";
}

}  // namespace

bool has_ipopt() { return true; }

Collocated collocate(const Problem& problem, const std::vector<double>& controls,
                     const CollocationOptions& options) {
  const Transcription nlp(problem, options);
  std::vector<double> z = nlp.start(controls), lower, upper, c_lower, c_upper;
  nlp.bounds(lower, upper), nlp.equation_bounds(c_lower, c_upper);
  for (std::size_t i = 0; i < z.size(); ++i)
    if (lower[i] > upper[i]) throw Error("a bound from below lies above the one from above");
  Call call{nlp, nlp.jacobian_places(), nlp.hessian_places(), options.callback};
  const std::unique_ptr<IpoptProblemInfo, void (*)(IpoptProblem)> solver(
      CreateIpoptProblem(nlp.unknowns(), lower.data(), upper.data(), nlp.equations(), c_lower.data(),
                         c_upper.data(), Index(call.jacobian.row.size()), Index(call.hessian.row.size()), 0,
                         value, equations, gradient, jacobian, hessian),
      FreeIpoptProblem);
  if (!solver) throw Error("Ipopt does not take this problem");
  const auto word = [&](const char* key, const char* to) {
    AddIpoptStrOption(solver.get(), const_cast<char*>(key), const_cast<char*>(to));
  };
  const auto number = [&](const char* key, double to) {
    AddIpoptNumOption(solver.get(), const_cast<char*>(key), to);
  };
  AddIpoptIntOption(solver.get(), const_cast<char*>("print_level"), 0);
  AddIpoptIntOption(solver.get(), const_cast<char*>("max_iter"), options.iterations);
  word("sb", "yes");                                    // no banner
  word("fixed_variable_treatment", "make_constraint");  // so that the sizes stay those of the unknowns
  number("tol", options.tolerance), number("acceptable_tol", options.tolerance * 100);
  number("bound_relax_factor", 0);  // bounds hold to the last digit
  if (!nlp.exact_hessian()) word("hessian_approximation", "limited-memory");
  SetIntermediateCallback(solver.get(), watch);
  const ApplicationReturnStatus status =
      IpoptSolve(solver.get(), z.data(), nullptr, nullptr, nullptr, nullptr, nullptr, &call);
  if (call.thrown) std::rethrow_exception(call.thrown);
  Collocated to = nlp.read(z.data());
  to.iterations = call.iterations;
  say(to, status, nlp.exact_hessian());
  return to;
}

}  // namespace costate::control
