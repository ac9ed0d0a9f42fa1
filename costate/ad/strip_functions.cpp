#include "costate/ad/strip_functions.h"

#include <cstdlib>

#include "costate/core/functions.h"
#include "costate/core/pack.h"

namespace costate::ad {
namespace {

// x^n by repeated squaring; 1/x^|n| for n < 0.
template <class S>
S integer_power(S x, int n) {
  S power(1);
  for (unsigned k = static_cast<unsigned>(std::abs(n)); k != 0; k >>= 1) {
    if (k & 1) power = power * x;
    if (k > 1) x = x * x;
  }
  return n < 0 ? S(1) / power : power;
}

template <class T, class F>
void map(T* out, Strip<T> a, int packs, const F& f) {
  using P = NativePack<T>;
  for (int i = 0; i < packs; ++i) f(P::load_unaligned(a.data + i * a.step)).store(out + i * P::lanes);
}

template <class T, class F>
void map(T* out, Strip<T> a, Strip<T> b, int packs, const F& f) {
  using P = NativePack<T>;
  for (int i = 0; i < packs; ++i) {
    f(P::load_unaligned(a.data + i * a.step), P::load_unaligned(b.data + i * b.step))
        .store(out + i * P::lanes);
  }
}

}  // namespace

template <class T>
void function_strip(Op op, T* out, Strip<T> a, Strip<T> b, int exponent, int packs) {
  using P = NativePack<T>;
  switch (op) {
    case Op::sin:
      return map(out, a, packs, [](P x) { return sin(x); });
    case Op::cos:
      return map(out, a, packs, [](P x) { return cos(x); });
    case Op::tan:
      return map(out, a, packs, [](P x) { return tan(x); });
    case Op::exp:
      return map(out, a, packs, [](P x) { return exp(x); });
    case Op::expm1:
      return map(out, a, packs, [](P x) { return expm1(x); });
    case Op::log:
      return map(out, a, packs, [](P x) { return log(x); });
    case Op::log1p:
      return map(out, a, packs, [](P x) { return log1p(x); });
    case Op::cbrt:
      return map(out, a, packs, [](P x) { return cbrt(x); });
    case Op::sinh:
      return map(out, a, packs, [](P x) { return sinh(x); });
    case Op::cosh:
      return map(out, a, packs, [](P x) { return cosh(x); });
    case Op::tanh:
      return map(out, a, packs, [](P x) { return tanh(x); });
    case Op::asin:
      return map(out, a, packs, [](P x) { return asin(x); });
    case Op::acos:
      return map(out, a, packs, [](P x) { return acos(x); });
    case Op::atan:
      return map(out, a, packs, [](P x) { return atan(x); });
    case Op::atan2:
      return map(out, a, b, packs, [](P x, P y) { return atan2(x, y); });
    case Op::pow:
      return map(out, a, b, packs, [](P x, P y) { return pow(x, y); });
    case Op::powi:
      return map(out, a, packs, [=](P x) { return integer_power(x, exponent); });
    default:
      std::abort();  // arithmetic is the interpreter's
  }
}

template <class T>
T function_value(Op op, T a, T b, int exponent) {
  using P = NativePack<T>;
  alignas(P) T left[P::lanes], right[P::lanes], result[P::lanes];
  P(a).store(left);
  P(b).store(right);
  function_strip<T>(op, result, {left, 0}, {right, 0}, exponent, 1);
  return result[0];
}

template void function_strip(Op, float*, Strip<float>, Strip<float>, int, int);
template void function_strip(Op, double*, Strip<double>, Strip<double>, int, int);
template float function_value(Op, float, float, int);
template double function_value(Op, double, double, int);

}  // namespace costate::ad
