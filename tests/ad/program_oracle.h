// What a Program and its derivatives should give, computed without them: its nodes are evaluated on
// hyper-dual numbers in long double. A hyper-dual number v + d1 e1 + d2 e2 + d12 e1 e2 with e1^2 = e2^2 = 0
// carries a first derivative in two directions and the second derivative in both, exactly (Fike, Alonso: AIAA
// 2011-886, section III).
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "costate/ad/program.h"

namespace costate::test {

struct HyperDual {
  long double v = 0, d1 = 0, d2 = 0, d12 = 0;
};

// f(x) from f, f' and f'' at x.
inline HyperDual chain(HyperDual x, long double f, long double f1, long double f2) {
  return {f, f1 * x.d1, f1 * x.d2, f1 * x.d12 + f2 * x.d1 * x.d2};
}
inline HyperDual operator+(HyperDual a, HyperDual b) {
  return {a.v + b.v, a.d1 + b.d1, a.d2 + b.d2, a.d12 + b.d12};
}
inline HyperDual operator-(HyperDual a) { return {-a.v, -a.d1, -a.d2, -a.d12}; }
inline HyperDual operator-(HyperDual a, HyperDual b) { return a + (-b); }
inline HyperDual operator*(HyperDual a, HyperDual b) {
  return {a.v * b.v, a.d1 * b.v + a.v * b.d1, a.d2 * b.v + a.v * b.d2,
          a.d12 * b.v + a.d1 * b.d2 + a.d2 * b.d1 + a.v * b.d12};
}
inline HyperDual reciprocal(HyperDual a) {
  return chain(a, 1 / a.v, -1 / (a.v * a.v), 2 / (a.v * a.v * a.v));
}

inline HyperDual evaluate_op(const ad::Node& n, HyperDual a, HyperDual b, HyperDual c) {
  using ad::Op;
  const long double x = a.v;
  const auto truth = [](bool t) { return HyperDual{t ? 1.0L : 0.0L, 0, 0, 0}; };
  switch (n.op) {
    case Op::constant:
      return {static_cast<long double>(n.value), 0, 0, 0};
    case Op::input:
      break;
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a * reciprocal(b);
    case Op::neg:
      return -a;
    case Op::fma:
      return a * b + c;
    case Op::fms:
      return a * b - c;
    case Op::fnma:
      return c - a * b;
    case Op::sqrt:
      return chain(a, std::sqrt(x), 0.5L / std::sqrt(x), -0.25L / (x * std::sqrt(x)));
    case Op::sin:
      return chain(a, std::sin(x), std::cos(x), -std::sin(x));
    case Op::cos:
      return chain(a, std::cos(x), -std::sin(x), -std::cos(x));
    case Op::tan: {
      const long double t = std::tan(x);
      return chain(a, t, 1 + t * t, 2 * t * (1 + t * t));
    }
    case Op::exp:
      return chain(a, std::exp(x), std::exp(x), std::exp(x));
    case Op::expm1:
      return chain(a, std::expm1(x), std::exp(x), std::exp(x));
    case Op::log1p:
      return chain(a, std::log1p(x), 1 / (1 + x), -1 / ((1 + x) * (1 + x)));
    case Op::cbrt: {
      const long double r = std::cbrt(x);
      return chain(a, r, 1 / (3 * r * r), -2 / (9 * r * r * r * r * r));
    }
    case Op::log:
      return chain(a, std::log(x), 1 / x, -1 / (x * x));
    case Op::sinh:
      return chain(a, std::sinh(x), std::cosh(x), std::sinh(x));
    case Op::cosh:
      return chain(a, std::cosh(x), std::sinh(x), std::cosh(x));
    case Op::tanh: {
      const long double t = std::tanh(x), slope = 1 / (std::cosh(x) * std::cosh(x));
      return chain(a, t, slope, -2 * t * slope);
    }
    case Op::asin: {
      const long double s = 1 / std::sqrt(1 - x * x);
      return chain(a, std::asin(x), s, x * s * s * s);
    }
    case Op::acos: {
      const long double s = 1 / std::sqrt(1 - x * x);
      return chain(a, std::acos(x), -s, -x * s * s * s);
    }
    case Op::atan: {
      const long double s = 1 / (1 + x * x);
      return chain(a, std::atan(x), s, -2 * x * s * s);
    }
    case Op::atan2: {  // the angle turns as atan(a/b) does, or as -atan(b/a) where b is small
      HyperDual angle;
      if (std::abs(b.v) >= std::abs(a.v)) {
        angle = evaluate_op({Op::atan}, a * reciprocal(b), {}, {});
      } else {
        angle = -evaluate_op({Op::atan}, b * reciprocal(a), {}, {});
      }
      angle.v = std::atan2(a.v, b.v);
      return angle;
    }
    case Op::pow: {
      HyperDual r = evaluate_op({Op::exp}, b * evaluate_op({Op::log}, a, {}, {}), {}, {});
      r.v = std::pow(a.v, b.v);
      return r;
    }
    case Op::powi: {
      const auto k = static_cast<long double>(n.value);
      return chain(a, std::pow(x, k), k * std::pow(x, k - 1), k * (k - 1) * std::pow(x, k - 2));
    }
    case Op::abs:
      return x < 0 ? -a : x > 0 ? a : HyperDual{0, 0, 0, 0};
    case Op::sign:
      return {x > 0 ? 1.0L : x < 0 ? -1.0L : 0.0L, 0, 0, 0};
    case Op::min:
      return b.v < a.v ? b : a;
    case Op::max:
      return a.v < b.v ? b : a;
    case Op::floor:
      return {std::floor(x), 0, 0, 0};
    case Op::lt:
      return truth(a.v < b.v);
    case Op::le:
      return truth(a.v <= b.v);
    case Op::gt:
      return truth(a.v > b.v);
    case Op::ge:
      return truth(a.v >= b.v);
    case Op::eq:
      return truth(a.v == b.v);
    case Op::ne:
      return truth(a.v != b.v);
    case Op::logical_and:
      return truth(a.v != 0 && b.v != 0);
    case Op::logical_or:
      return truth(a.v != 0 || b.v != 0);
    case Op::logical_not:
      return truth(a.v == 0);
    case Op::select:
      return a.v != 0 ? b : c;
    case Op::gated_mul:
      return a.v == 0 && a.d1 == 0 && a.d2 == 0 && a.d12 == 0 ? HyperDual{} : a * b;
  }
  return {};
}

// Outputs of the program on hyper-dual inputs, all fields one after the other.
inline std::vector<HyperDual> evaluate_exactly(const ad::Program& program,
                                               std::span<const HyperDual> inputs) {
  std::vector<HyperDual> value;
  const auto at = [&](ad::Id id) {
    return id == ad::kNone ? HyperDual{} : value[static_cast<std::size_t>(id)];
  };
  for (const ad::Node& n : program.nodes()) {
    value.push_back(n.op == ad::Op::input ? inputs[static_cast<std::size_t>(n.value)]
                                          : evaluate_op(n, at(n.a), at(n.b), at(n.c)));
  }
  std::vector<HyperDual> outputs;
  for (const ad::Id id : program.outputs()) outputs.push_back(at(id));
  return outputs;
}

}  // namespace costate::test
