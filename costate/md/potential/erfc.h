// erfc of z >= 0, on every scalar.
//
//   erfc z = t e^(-z^2 + P(t)),  t = 2 / (2 + z),   d erfc / dz = -2 / sqrt(pi) e^(-z^2)
//
// P is smooth on (0, 1]. The numbers are its Chebyshev coefficients on [1/16, 1], which is z <= 30: farther
// out erfc is nothing in double. The error is below 4e-16 (1 + z^2) of the value.
// Tests: tests/md/many_body_test.cpp.
#pragma once

#include <array>

#include "costate/ad/dual.h"

namespace costate::md {

template <class T>
COSTATE_INLINE T erfc(const T& z) {
  using costate::exp;
  using V = value_t<T>;
  if constexpr (is_dual<T>) {
    return z.chain(erfc(z.v), V(-1.1283791670955126) * exp(-(z.v * z.v)));
  } else {
    constexpr std::array<double, 26> kP = {
        -1.2291945239958772164 / 2, 0.60887116669357332983,      0.014390627557117705897,
        -0.0083893549705402923498,  -0.00057501090821280957211,  0.0002960419104185793499,
        0.000017600785718523220166, -0.000014386636062344508515, -1.0073446799995337353e-7,
        7.6370104369333806968e-7,   -5.5351784508543397666e-8,   -3.7915037257542237686e-8,
        6.9929431677921418582e-9,   1.4333481827877661942e-9,    -5.7947490784870652208e-10,
        -1.0742388446521753216e-11, 3.5440882620101051478e-11,   -4.3962291199543826018e-12,
        -1.3960945855982648597e-12, 4.6869682284924869009e-13,   1.9999558136404159622e-15,
        -2.6088992884781894186e-14, 4.5499241050883152707e-15,   4.9666264301458958777e-16,
        -3.2685731138773231778e-16, 4.6724584157630978819e-17};
    const T t = 2 / (2 + z), u = (2 * t - V(1.0625)) / V(0.9375), twice = 2 * u;  // u in [-1, 1]
    T above(0), now(0);
    for (std::size_t j = kP.size() - 1; j > 0; --j) {  // Clenshaw
      const T next = twice * now - above + V(kP[j]);
      above = now, now = next;
    }
    return t * exp(u * now - above + V(kP[0]) - z * z);
  }
}

}  // namespace costate::md
