// Response: what a material answers when it is deformed, for a pack of particles at once, and the transpose
// of that.
//
//   (C, F, plastic, actuation, dt, p)  ->  (F+, tau, plastic+)
//
// F+ = (1 + dt C) F after plastic flow, tau the Kirchhoff stress (J times Cauchy's) at F+, p the numbers of
// the law in their order (law.h); the first is the density, which the response does not read. J is there for
// the check that no element is inverted.
//
// A law is a struct with respond and respond_vjp, ResponseOf names the struct of a kind, and kResponses<kind>
// is it in every scalar and dimension. A GPU compiles the same structs for its own threads
// (all_responses.h). What several laws share: corotated_stress.h, hencky.h, principal_flow.h, and the stages
// below.
// Tests: tests/mpm/law_test.cpp (each law: transpose against tangents, tangents against differences).
#pragma once

#include <tuple>

#include "costate/ad/dual.h"
#include "costate/mpm/laws/law.h"
#include "costate/mpm/matrix.h"

namespace costate::mpm {

inline constexpr int kLargestParameterCount = 6;

template <class S, int D>
struct LawInput {
  Matrix<S, D> C, F;
  S plastic, actuation, dt;
  S p[kLargestParameterCount];
  value_t<S> fibre[3];  // a constant of the material
};
template <class S, int D>
struct LawOutput {
  Matrix<S, D> F, tau;
  S plastic;
  S J;
};

template <class S, int D>
struct Response {
  void (*respond)(const LawInput<S, D>& in, LawOutput<S, D>& out);
  // in_bar is assigned, all of it except fibre and p[0]. out_bar.J is not read. Null where S is a Dual.
  void (*respond_vjp)(const LawInput<S, D>& in, const LawOutput<S, D>& out_bar, LawInput<S, D>& in_bar);
};

// A law in every scalar and dimension.
template <class... S>
using ResponsesOf = std::tuple<Response<S, 2>..., Response<S, 3>...>;
struct Responses {
  ResponsesOf<NativePack<float>, NativePack<double>, Dual<NativePack<float>>, Dual<NativePack<double>>> all;
};

template <class S, int D>
const Response<S, D>& response_of(MaterialKind kind) {
  return std::get<Response<S, D>>(law_of(kind).responses->all);
}

template <class L, class S, int D>
void respond_with(const LawInput<S, D>& in, LawOutput<S, D>& out) {
  L::respond(in, out);
}
template <class L, class S, int D>
void respond_vjp_with(const LawInput<S, D>& in, const LawOutput<S, D>& out_bar, LawInput<S, D>& in_bar) {
  L::respond_vjp(in, out_bar, in_bar);
}
template <class L>
struct Compiled {
  template <class S, int D>
  constexpr operator Response<S, D>() const {
    if constexpr (is_dual<S>)
      return {respond_with<L, S, D>, nullptr};
    else
      return {respond_with<L, S, D>, respond_vjp_with<L, S, D>};
  }
};
// ResponseOf<kind>::Type: the struct of a kind.
template <MaterialKind kind>
struct ResponseOf;
template <MaterialKind kind, class L = Compiled<typename ResponseOf<kind>::Type>>
inline constexpr Responses kResponses = {{L{}, L{}, L{}, L{}, L{}, L{}, L{}, L{}}};

template <std::size_t kCount>
constexpr std::span<const Number> listed(const Number (&numbers)[kCount]) {
  static_assert(kCount <= kLargestParameterCount, "raise kLargestParameterCount");
  return numbers;
}

inline constexpr Number kElasticNumbers[] = {kDensity, kYoungsModulus, kPoissonsRatio};

// The Law of a kind whose numbers are these three and no others.
template <MaterialKind kind>
constexpr Law elastic_law(const char* name) {
  return {.name = name,
          .numbers = listed(kElasticNumbers),
          .wave_speed = pressure_wave_speed,
          .responses = &kResponses<kind>};
}

// The elastic part of a step, F_trial = (1 + dt C) F, and its transpose: adds to C_bar and dt_bar, assigns
// F_bar.
template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> deform(const LawInput<S, D>& in) {
  return in.F + in.dt * (in.C * in.F);
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE void deform_vjp(const LawInput<S, D>& in, const Matrix<S, D>& trial_bar,
                                          LawInput<S, D>& in_bar) {
  const Matrix<S, D> rate_bar = times_transpose(trial_bar, in.F);
  in_bar.C = in.dt * rate_bar;
  in_bar.dt = contract(rate_bar, in.C);
  in_bar.F = trial_bar + in.dt * transpose_times(in.C, trial_bar);
}

// Lame's parameters from (E, nu), and the transpose.
template <class S>
struct Lame {
  S mu, lambda;
};
template <class S>
COSTATE_HD COSTATE_INLINE Lame<S> lame(const S& E, const S& nu) {
  const S one(1), two(2);
  return {E / (two * (one + nu)), E * nu / ((one + nu) * (one - two * nu))};
}
template <class S>
COSTATE_HD COSTATE_INLINE void lame_vjp(const S& E, const S& nu, const Lame<S>& bar, S& E_bar, S& nu_bar) {
  const S one(1), two(2);
  const S a = one + nu, b = one - two * nu;
  const S mu_E = one / (two * a), lambda_E = nu / (a * b);
  E_bar = mu_E * bar.mu + lambda_E * bar.lambda;
  nu_bar = E * (bar.lambda * (one + two * nu * nu) / (a * a * b * b) - bar.mu * mu_E / a);
}

template <class S, int D>
COSTATE_HD COSTATE_INLINE void no_plastic_flow(const LawInput<S, D>& in, LawOutput<S, D>& out) {
  out.plastic = in.plastic;
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE void no_plastic_flow_vjp(const LawOutput<S, D>& out_bar, LawInput<S, D>& in_bar) {
  in_bar.plastic = out_bar.plastic;
}

}  // namespace costate::mpm
