// Elementary functions in quadruple precision (113 bits), to compare ours with: those of the GNU C library,
// which knows them by the same names for x86-64, where the type is __float128, and for 64-bit ARM, where it
// is long double. They are declared here because its header shows them to some compilers only.
#pragma once

namespace costate::test {

#if defined(__x86_64__)
__extension__ typedef __float128 Quad;
#else
typedef long double Quad;
#endif

#define COSTATE_QUAD(name) extern "C" Quad name##q(Quad) noexcept asm(#name "f128");
#define COSTATE_QUAD_2(name, Second) extern "C" Quad name##q(Quad, Second) noexcept asm(#name "f128");
COSTATE_QUAD(sin)
COSTATE_QUAD(cos)
COSTATE_QUAD(tan)
COSTATE_QUAD(asin)
COSTATE_QUAD(acos)
COSTATE_QUAD(atan)
COSTATE_QUAD_2(atan2, Quad)
COSTATE_QUAD(exp)
COSTATE_QUAD(expm1)
COSTATE_QUAD(sinh)
COSTATE_QUAD(cosh)
COSTATE_QUAD(tanh)
COSTATE_QUAD(log)
COSTATE_QUAD(log2)
COSTATE_QUAD(log1p)
COSTATE_QUAD(sqrt)
COSTATE_QUAD(cbrt)
COSTATE_QUAD_2(pow, Quad)
COSTATE_QUAD_2(hypot, Quad)
COSTATE_QUAD(fabs)
COSTATE_QUAD(floor)
COSTATE_QUAD(round)
COSTATE_QUAD(trunc)
COSTATE_QUAD_2(copysign, Quad)
COSTATE_QUAD_2(fmax, Quad)
COSTATE_QUAD_2(fmin, Quad)
COSTATE_QUAD_2(frexp, int*)
COSTATE_QUAD_2(ldexp, int)
#undef COSTATE_QUAD
#undef COSTATE_QUAD_2

}  // namespace costate::test
