// Objectives written as text or as a generic function: l(x, u, p) of single states, as a Program.
//
//   loss::expression<double>(signature, "0.5*(q - 1)^2 + 0.01*torque^2", loss::each_step())
//   loss::lambda<double>(signature, [](auto x, auto u, auto p) { return x[0] * x[0]; }, loss::at_end())
//
// A text knows the names of all states, controls and parameters (arrays as name[i]), k, the number of the
// step, and t = t0 + k dt where the system has a dt. A lambda gets all states, controls and parameters as
// arrays, and t as a fourth argument if it takes one. Value, gradient and Hessian-vector product run over the
// lanes of a block.
//
// Tests: tests/system/program/program_objective_test.cpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "costate/ad/record.h"
#include "costate/system/objective.h"

namespace costate::loss {

// The steps at which a term is evaluated.
struct When {
  enum class Kind { end, each_step, steps } kind = Kind::end;
  std::vector<std::int64_t> steps;
};
inline When at_end() { return {When::Kind::end, {}}; }
// Before each step, where its control is known: k = 0 ... steps - 1. (Add at_end() for the final state.)
inline When each_step() { return {When::Kind::each_step, {}}; }
inline When at_steps(std::vector<std::int64_t> steps) { return {When::Kind::steps, std::move(steps)}; }

// A program with one output number; which inputs it may read: bind_program.h.
template <class Real>
ObjectivePtr<Real> program(const Signature& signature, const ad::Program& program, const When& when = {});

template <class Real>
ObjectivePtr<Real> expression(const Signature& signature, std::string_view text, const When& when = {});

template <class Real, class F>
ObjectivePtr<Real> lambda(const Signature& signature, const F& f, const When& when = {}) {
  const ad::Field x{"x", static_cast<int>(signature.states())};
  const ad::Field u{"u", static_cast<int>(signature.controls())};
  const ad::Field p{"p", static_cast<int>(signature.parameters())};
  using Array = std::vector<ad::Var>;
  if constexpr (std::is_invocable_v<F, Array, Array, Array>) {
    return program<Real>(signature, ad::record(f, x, u, p), when);
  } else {
    const auto timed = [&f](const Array& xs, const Array& us, const Array& ps, const Array& t) {
      return f(xs, us, ps, t[0]);
    };
    return program<Real>(signature, ad::record(timed, x, u, p, ad::Field{"t", 1}), when);
  }
}

}  // namespace costate::loss
