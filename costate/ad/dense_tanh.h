// tanh of a whole layer, and its transpose: what stands between the products of a network.
//
//   z <- tanh z            z_bar <- z_bar (1 - y^2),  y = tanh z
//
// double: core's tanh (1.0 ulp). float: an odd quotient of polynomials,
//
//   tanh x = x P(x^2) / Q(x^2),   |x| <= 7.9;  beyond, its value there, 1 - 2^-23
//
// with P and Q of degree 4, fitted by reweighted least squares until the relative error was level, at 0.1 of
// a rounding. What is left is rounding: kTanhUlp units of the last place at most, reached near |x| = 6
// (tests/ad/dense_tanh_test.cpp tries them). That is a quarter of the instructions of core's tanh, and the
// products around it round more. A number gets the same bits wherever it stands.
#pragma once

#include <cstdint>

namespace costate::ad {

inline constexpr double kTanhUlp = 5;

// A layer with a bias in one go: e = tanh(d + b), and, given e_ in z_bar, z_bar <- e_ (1 - e^2), d_ += z_bar,
// b_ += z_bar. rows x lanes numbers each; a shared bias is read from lane 0. Null b_: not wanted. Lanes: a
// multiple of the native pack.
template <class T>
void bias_tanh(const T* d, const T* b, bool shared, int rows, int lanes, T* e);
template <class T>
void bias_tanh_vjp(const T* e, const T* e_bar, int rows, int lanes, T* d_bar, T* b_bar);

template <class T>
void tanh_all(T* z, std::int64_t count);
template <class T>
void tanh_all_vjp(const T* y, T* z_bar, std::int64_t count);

}  // namespace costate::ad
