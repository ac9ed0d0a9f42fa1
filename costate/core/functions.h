// The elementary functions of every plain scalar S: float, double, Pack<T, N>. ad/dual.h adds those of Dual.
//
//   functions_bits.h   fma sqrt abs copysign sign min max floor trunc round is_finite
//   functions_trig.h   sin cos sincos tan
//   functions_exp.h    exp expm1 sinh cosh tanh
//   functions_log.h    log log1p log2 pow cbrt
//   functions_arc.h    atan atan2 asin acos hypot
//
// They are branch-free, so every lane costs the same; err by at most 2 ulp (each file states its measured
// error); treat infinities and NaN as IEEE 754 says; and give one world the same bits as a pack of worlds.
// Arguments outside a domain give NaN, and poles give infinity, without raising floating-point exceptions, so
// a lane that a select throws away stays silent.
#pragma once

#include "costate/core/functions_arc.h"
#include "costate/core/functions_bits.h"
#include "costate/core/functions_exp.h"
#include "costate/core/functions_log.h"
#include "costate/core/functions_trig.h"
