// lambda_system: physics from one generic function.
//
//   auto pendulum = lambda_system<double, Sizes{.states = 2, .controls = 1, .parameters = 2}>(
//       signature, [](auto x, auto u, auto p) { return std::array{x[1], u[0] - p[0] / p[1] * sin(x[0])}; },
//       rk4(0.01));
//
// The function gives the next state, or the derivative if an integrator is named, as an array (a Vec, a
// std::array or, for one state, a number). It may take a fourth argument: the time t if there is an
// integrator, else the number k of the step. It is compiled for packs (values) and duals of packs (tangents);
// its reverse mode and second order come from recording it once and differentiating the Program
// (RecordedLaneSystem). So it must be generic in its numbers, and choose with select(a < b, x, y) instead of
// `if`. Values it captures are constants: what is to be differentiated is a state, a control or a parameter.
//
// The signature lists the user's fields; an integrator adds the parameter "dt", and "t0" if the time is read.
// Tests: tests/system/program/lambda_system_test.cpp. Example: examples/own_physics.cpp.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "costate/core/error.h"
#include "costate/system/program/program_system.h"
#include "costate/system/program/recorded_lane_system.h"

namespace costate {

// How many numbers of each kind the function takes: known to the compiler, so that they stay in registers.
struct Sizes {
  int states = 1, controls = 0, parameters = 0;
};

namespace kernel {

template <class S, int N, class R>
COSTATE_INLINE Vec<S, N> as_vec(const R& result) {
  if constexpr (std::is_convertible_v<R, S>) {
    static_assert(N == 1, "the function returns one number, but there are several states");
    return {{S(result)}};
  } else {
    if constexpr (requires { std::tuple_size<R>::value; }) {
      static_assert(std::tuple_size_v<R> == N, "the function must return one number for each state");
    } else {
      static_assert(R::size == N, "the function must return one number for each state");
    }
    Vec<S, N> r;
    for (int i = 0; i < N; ++i) r[i] = result[i];
    return r;
  }
}

// A function and an integrator as a kernel for RecordedLaneSystem.
template <class F, Sizes kSizes, class Method>
struct Lambda {
  static constexpr bool kIntegrated = !std::is_same_v<Method, NextState>;
  static constexpr int kOwn = kSizes.parameters;
  static constexpr int states = kSizes.states, controls = kSizes.controls;
  template <class S>
  static constexpr bool takes_time =
      std::is_invocable_v<const F&, Vec<S, states>, Vec<S, controls>, Vec<S, kOwn>, S>;
  static constexpr bool timed = takes_time<double>;
  static constexpr int parameters = kOwn + (kIntegrated ? (timed ? 2 : 1) : 0);
  static constexpr int unroll = 2;  // two packs in flight hide the latency of a chain of stages

  F f;

  template <class S>
  COSTATE_INLINE Vec<S, states> step(S k, const Vec<S, states>& x, const Vec<S, controls>& u,
                                     const Vec<S, parameters>& p) const {
    Vec<S, kOwn> own;
    for (int i = 0; i < kOwn; ++i) own[i] = p[i];
    const auto value = [&](S t, const Vec<S, states>& at) {
      if constexpr (timed)
        return as_vec<S, states>(f(at, u, own, t));
      else
        return as_vec<S, states>(f(at, u, own));
    };
    if constexpr (!kIntegrated)
      return value(k, x);
    else if constexpr (timed)
      return Method::step(value, p[kOwn + 1] + k * p[kOwn], p[kOwn], x);
    else
      return Method::step(value, S(0), p[kOwn], x);
  }
};

}  // namespace kernel

// `worlds`: how many the rollout will have, if that is known.
template <class Real, Sizes kSizes, class F, class Method = NextState>
std::shared_ptr<System<Real>> lambda_system(const Signature& signature, F f, Method method = {},
                                            std::int64_t worlds = kManyWorlds) {
  using Kernel = kernel::Lambda<F, kSizes, Method>;
  const auto expect = [&](Role role, int size) {
    if (signature.total(role) == size) return;
    throw Error("the function takes " + std::to_string(size) + " numbers of the kind " + to_string(role) +
                ", the signature lists " + std::to_string(signature.total(role)));
  };
  expect(Role::state, kSizes.states);
  expect(Role::control, kSizes.controls);
  expect(Role::parameter, kSizes.parameters);
  return std::make_shared<RecordedLaneSystem<Kernel, Real>>(
      with_time_step(signature, Scheme(method), Kernel::timed), Kernel{std::move(f)},
      strip_lanes<Real>(worlds));
}

}  // namespace costate
