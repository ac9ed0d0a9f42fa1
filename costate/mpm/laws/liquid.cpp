// A weakly compressible, viscous liquid that carries almost no tension.
//
//   J_trial = (1 + dt tr C) J
//   J+      = J_trial up to 1; beyond, with t = J_trial - 1:  1 + t / (1 + t/w)      cut-off of width w
//   p       = K/gamma (J+^-gamma - 1)                                                  equation of state [1]
//   tau     = -J+ p 1 + J+ mu (C + C')                           w tension, K bulk modulus, mu viscosity
//
// Only J is kept, in F's first entry; the rest of F passes through. The cut-off is C1 (value and slope 1
// agree at J = 1) and its slope 1/(1 + t/w)^2 never vanishes, so the gradient survives where liquid tears. It
// acts at every step: a stretched liquid forgets its tension, which never exceeds K w, instead of remembering
// a volume it does not fill.
//
// [1] Monaghan, Simulating free surface flows with SPH, J. Comput. Phys. 110 (1994).  Tests:
// tests/mpm/law_test.cpp.
#include <cmath>

#include "costate/mpm/laws/response.h"

namespace costate::mpm {

struct Liquid {
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond(const LawInput<S, D>& in, LawOutput<S, D>& out) {
    const S J = cut_off(in.F(0, 0) * (S(1) + in.dt * trace(in.C)), in.p[4]);
    out.J = J;
    out.F = in.F;
    out.F(0, 0) = J;
    const S &K = in.p[1], &gamma = in.p[2], &mu = in.p[3];
    const S pressure = K / gamma * (exp(-gamma * log(J)) - S(1));
    out.tau = (J * mu) * (in.C + transpose(in.C));
    for (int i = 0; i < D; ++i) out.tau(i, i) -= J * pressure;
    no_plastic_flow(in, out);
  }

  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond_vjp(const LawInput<S, D>& in, const LawOutput<S, D>& out_bar,
                                                    LawInput<S, D>& in_bar) {
    const S one(1);
    const S growth = one + in.dt * trace(in.C), trial = in.F(0, 0) * growth;
    const S J = cut_off(trial, in.p[4]);
    const S &K = in.p[1], &gamma = in.p[2], &mu = in.p[3], &w = in.p[4];
    const S logJ = log(J), power = exp(-gamma * logJ), pressure = K / gamma * (power - one);
    const Matrix<S, D>& T = out_bar.tau;
    const S trT = trace(T), shear = contract(T, in.C + transpose(in.C));

    // tau
    const S pressure_bar = -J * trT;
    S J_bar = out_bar.F(0, 0) + mu * shear - pressure * trT;
    in_bar.p[3] = J * shear;
    // equation of state
    J_bar -= pressure_bar * K * power / J;
    in_bar.p[1] = pressure_bar * pressure / K;
    in_bar.p[2] = -pressure_bar * (pressure + K * logJ * power) / gamma;
    // cut-off
    const S t = select(trial > one, trial - one, S(0)), fade = one / (one + t / w);
    const S trial_bar = J_bar * fade * fade, ratio = t / w * fade;
    in_bar.p[4] = J_bar * ratio * ratio;
    // volume
    in_bar.F = out_bar.F;
    in_bar.F(0, 0) = trial_bar * growth;
    const S growth_bar = trial_bar * in.F(0, 0);
    in_bar.dt = growth_bar * trace(in.C);
    in_bar.C = (J * mu) * (T + transpose(T));
    for (int i = 0; i < D; ++i) in_bar.C(i, i) += in.dt * growth_bar;
    in_bar.actuation = S(0);
    no_plastic_flow_vjp(out_bar, in_bar);
  }

 private:
  template <class S>
  COSTATE_HD COSTATE_INLINE static S cut_off(const S& trial, const S& w) {
    const S one(1), t = select(trial > one, trial - one, S(0));
    return trial - t + t / (one + t / w);
  }
};

template <>
struct ResponseOf<MaterialKind::liquid> {
  using Type = Liquid;
};

#if !defined(COSTATE_RESPONSES_ALONE)
namespace {

double sound_speed(const Material& m) { return std::sqrt(m.bulk_modulus / m.density); }

constexpr Number kNumbers[] = {kDensity,
                               {"bulk_modulus", "Pa", &Material::bulk_modulus, kPositive},
                               {"gamma", "", &Material::gamma, kPositive},
                               {"viscosity", "Pa s", &Material::viscosity, kNotNegative},
                               {"tension", "", &Material::tension, kPositive}};

}  // namespace

constinit const Law Law::liquid = {
    .name = "liquid",
    .numbers = listed(kNumbers),
    .wave_speed = sound_speed,
    .responses = &kResponses<MaterialKind::liquid>,
};

#endif

}  // namespace costate::mpm
