// A fixed corotated solid with a contractile fibre: tau += s a (F f)(F f)',  f fibre, a actuation, s
// strength.
//
// Transpose, T = tau_bar: F_bar += s a (T + T') F f f'.  The rest is corotated_stress.h. Tests:
// tests/mpm/law_test.cpp.
#include "costate/mpm/laws/corotated_stress.h"

namespace costate::mpm {

struct Muscle {
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond(const LawInput<S, D>& in, LawOutput<S, D>& out) {
    out.F = deform(in);
    out.J = determinant(out.F);
    out.tau = fixed_corotated_stress(out.F, out.J, lame(in.p[1], in.p[2]));
    const Vec<S, D> g = out.F * fibre(in);
    out.tau += (in.p[3] * in.actuation) * outer(g, g);
    no_plastic_flow(in, out);
  }

  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond_vjp(const LawInput<S, D>& in, const LawOutput<S, D>& out_bar,
                                                    LawInput<S, D>& in_bar) {
    const Matrix<S, D> F = deform(in), T = out_bar.tau;
    Lame<S> l_bar;
    Matrix<S, D> F_bar = out_bar.F + fixed_corotated_stress_vjp(F, lame(in.p[1], in.p[2]), T, l_bar);
    const Vec<S, D> f = fibre(in), g = F * f, Tg = (T + transpose(T)) * g;
    F_bar += outer((in.p[3] * in.actuation) * Tg, f);
    const S pull_bar = S(value_t<S>(0.5)) * dot(g, Tg);
    in_bar.p[3] = in.actuation * pull_bar;
    in_bar.actuation = in.p[3] * pull_bar;
    lame_vjp(in.p[1], in.p[2], l_bar, in_bar.p[1], in_bar.p[2]);
    deform_vjp(in, F_bar, in_bar);
    no_plastic_flow_vjp(out_bar, in_bar);
  }

 private:
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static Vec<S, D> fibre(const LawInput<S, D>& in) {
    Vec<S, D> f;
    for (int i = 0; i < D; ++i) f[i] = S(in.fibre[i]);
    return f;
  }
};

template <>
struct ResponseOf<MaterialKind::muscle> {
  using Type = Muscle;
};

#if !defined(COSTATE_RESPONSES_ALONE)
namespace {

constexpr Number kNumbers[] = {
    kDensity, kYoungsModulus, kPoissonsRatio, {"strength", "Pa", &Material::strength, kAny}};

}  // namespace

constinit const Law Law::muscle = {.name = "muscle",
                                   .numbers = listed(kNumbers),
                                   .wave_speed = pressure_wave_speed,
                                   .responses = &kResponses<MaterialKind::muscle>,
                                   .contracts = true};

#endif

}  // namespace costate::mpm
