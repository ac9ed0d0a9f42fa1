// tanh of a whole layer, and its transpose: what stands between the products of a network.
//
//   z <- tanh z            z_bar <- z_bar (1 - y^2),  y = tanh z
//
// double: core's tanh (1.0 ulp). float: an odd quotient of polynomials,
//
//   tanh x = x P(x^2) / Q(x^2),   |x| <= 7.9;  beyond, its value there, 1 - 2^-23
//
// with P and Q of degree 4, fitted by reweighted least squares until the relative error was level, at 0.1 of a rounding. What is left is
// rounding: kTanhUlp units of the last place at most, reached near |x| = 6 (tests/ad/dense_tanh_test.cpp tries them). That is
// a quarter of the instructions of core's tanh, and the products around it round more. A number gets the same bits wherever it stands.
#pragma once

#include <cstdint>

namespace costate::ad {

inline constexpr double kTanhUlp = 5;

template <class T>
void tanh_all(T* z, std::int64_t count);
template <class T>
void tanh_all_vjp(const T* y, T* z_bar, std::int64_t count);

}  // namespace costate::ad
