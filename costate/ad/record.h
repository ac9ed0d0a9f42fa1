// Recording: a generic function, run once on Vars, becomes a Program.
//
//   Program rhs = record([](auto x, auto p) {
//     return std::array{p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]};
//   }, Field{"x", 3}, Field{"p", 3});
//
// A Var is a scalar like any other of costate: the same kernel that computes with double or Pack can be
// recorded. It has no value yet, so an `if` on it does not compile: comparisons give a VarMask, for
// select(mask, a, b). Tests: tests/ad/program_record_test.cpp.
#pragma once

#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "costate/ad/builder.h"
#include "costate/core/functions.h"
#include "costate/core/pack.h"
#include "costate/core/vec.h"

namespace costate::ad {

class Var {
 public:
  Var() = default;  // 0
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Var(Number value) : value_(static_cast<double>(value)) {}
  Var(Builder& builder, Id id) : builder_(&builder), id_(id) {}

  // A recorded value is not known yet: branch with select(a < b, x, y).
  explicit operator bool() const = delete;

  Builder* builder() const { return builder_; }  // null for a number that has met no recorded value
  Id id_in(Builder& b) const { return builder_ != nullptr ? id_ : b.constant(value_); }

  Var& operator+=(Var b) { return *this = *this + b; }
  Var& operator-=(Var b) { return *this = *this - b; }
  Var& operator*=(Var b) { return *this = *this * b; }
  Var& operator/=(Var b) { return *this = *this / b; }

  friend Var operator+(Var a) { return a; }
  friend Var operator-(Var a) { return record_op(Op::neg, a); }
  friend Var operator+(Var a, Var b) { return record_op(Op::add, a, b); }
  friend Var operator-(Var a, Var b) { return record_op(Op::sub, a, b); }
  friend Var operator*(Var a, Var b) { return record_op(Op::mul, a, b); }
  friend Var operator/(Var a, Var b) { return record_op(Op::div, a, b); }

  // One node; on plain numbers, their value.
  static Var record_op(Op op, Var a);
  static Var record_op(Op op, Var a, Var b);
  static Var record_op(Op op, Var a, Var b, Var c);
  static Var record_power(Var a, int exponent);

 private:
  Builder* builder_ = nullptr;
  Id id_ = kNone;
  double value_ = 0;
};

// A truth value of a recorded program.
class VarMask {
 public:
  VarMask() = default;
  VarMask(bool value) : number_(value ? 1 : 0) {}
  explicit VarMask(Var number) : number_(number) {}
  // Not known yet either: use select.
  explicit operator bool() const = delete;
  // 1 or 0, as a value of the program.
  Var number() const { return number_; }

  friend VarMask operator&(VarMask a, VarMask b) {
    return VarMask(Var::record_op(Op::logical_and, a.number_, b.number_));
  }
  friend VarMask operator|(VarMask a, VarMask b) {
    return VarMask(Var::record_op(Op::logical_or, a.number_, b.number_));
  }
  friend VarMask operator^(VarMask a, VarMask b) {
    return VarMask(Var::record_op(Op::ne, a.number_, b.number_));
  }
  friend VarMask operator!(VarMask a) { return VarMask(Var::record_op(Op::logical_not, a.number_)); }
  friend VarMask operator&&(VarMask a, VarMask b) { return a & b; }
  friend VarMask operator||(VarMask a, VarMask b) { return a | b; }

 private:
  Var number_;
};

inline VarMask operator<(Var a, Var b) { return VarMask(Var::record_op(Op::lt, a, b)); }
inline VarMask operator<=(Var a, Var b) { return VarMask(Var::record_op(Op::le, a, b)); }
inline VarMask operator>(Var a, Var b) { return VarMask(Var::record_op(Op::gt, a, b)); }
inline VarMask operator>=(Var a, Var b) { return VarMask(Var::record_op(Op::ge, a, b)); }
inline VarMask operator==(Var a, Var b) { return VarMask(Var::record_op(Op::eq, a, b)); }
inline VarMask operator!=(Var a, Var b) { return VarMask(Var::record_op(Op::ne, a, b)); }

inline Var select(VarMask m, Var a, Var b) { return Var::record_op(Op::select, m.number(), a, b); }
inline Var fma(Var a, Var b, Var c) { return Var::record_op(Op::fma, a, b, c); }
inline Var sqrt(Var a) { return Var::record_op(Op::sqrt, a); }
inline Var sin(Var a) { return Var::record_op(Op::sin, a); }
inline Var cos(Var a) { return Var::record_op(Op::cos, a); }
inline Var tan(Var a) { return Var::record_op(Op::tan, a); }
inline Var exp(Var a) { return Var::record_op(Op::exp, a); }
inline Var expm1(Var a) { return Var::record_op(Op::expm1, a); }
inline Var log(Var a) { return Var::record_op(Op::log, a); }
inline Var log1p(Var a) { return Var::record_op(Op::log1p, a); }
inline Var cbrt(Var a) { return Var::record_op(Op::cbrt, a); }
inline Var sinh(Var a) { return Var::record_op(Op::sinh, a); }
inline Var cosh(Var a) { return Var::record_op(Op::cosh, a); }
inline Var tanh(Var a) { return Var::record_op(Op::tanh, a); }
inline Var asin(Var a) { return Var::record_op(Op::asin, a); }
inline Var acos(Var a) { return Var::record_op(Op::acos, a); }
inline Var atan(Var a) { return Var::record_op(Op::atan, a); }
inline Var atan2(Var a, Var b) { return Var::record_op(Op::atan2, a, b); }
inline Var pow(Var a, Var b) { return Var::record_op(Op::pow, a, b); }
inline Var pow(Var a, int n) { return Var::record_power(a, n); }
inline Var abs(Var a) { return Var::record_op(Op::abs, a); }
inline Var fabs(Var a) { return Var::record_op(Op::abs, a); }
inline Var sign(Var a) { return Var::record_op(Op::sign, a); }
inline Var min(Var a, Var b) { return Var::record_op(Op::min, a, b); }
inline Var max(Var a, Var b) { return Var::record_op(Op::max, a, b); }
inline Var floor(Var a) { return Var::record_op(Op::floor, a); }
// Made of the above. copysign takes -0 for positive; hypot squares, so it overflows beyond 1e154.
inline Var ceil(Var a) { return -floor(-a); }
inline Var trunc(Var a) { return select(a < 0, ceil(a), floor(a)); }
inline Var round(Var a) { return select(a < 0, ceil(a - 0.5), floor(a + 0.5)); }
inline Var copysign(Var a, Var b) { return select(b < 0, -abs(a), abs(a)); }
inline Var log2(Var a) { return log(a) * 1.44269504088896341; }
inline Var hypot(Var a, Var b) {  // derivative 0 at the origin
  const Var squared = a * a + b * b;
  return select(squared == 0, 0, sqrt(select(squared == 0, 1, squared)));
}
inline SinCos<Var> sincos(Var a) { return {sin(a), cos(a)}; }
inline VarMask is_finite(Var a) { return a - a == 0; }
inline Var gated_mul(Var a, Var b) { return Var::record_op(Op::gated_mul, a, b); }

// Where a kernel that is not a plain function of fields is recorded: declare inputs, compute, declare
// outputs, finish.
class Recorder {
 public:
  std::vector<Var> input(std::string name, int size) {
    const Id first = builder_.input_field(std::move(name), size);
    std::vector<Var> elements;
    for (int i = 0; i < size; ++i) elements.emplace_back(builder_, first + i);
    return elements;
  }
  template <int N>
  Vec<Var, N> input(std::string name) {
    const Id first = builder_.input_field(std::move(name), N);
    Vec<Var, N> elements;
    for (int i = 0; i < N; ++i) elements[i] = Var(builder_, first + i);
    return elements;
  }
  Var scalar(std::string name) { return Var(builder_, builder_.input_field(std::move(name), 1)); }

  void output(std::string name, Var value) { output(std::move(name), &value, 1); }
  template <int N>
  void output(std::string name, const Vec<Var, N>& values) {
    output(std::move(name), values.e, N);
  }
  template <class Range>
  requires requires(const Range& r) { r.data(), r.size(); }
  void output(std::string name, const Range& values) {
    output(std::move(name), values.data(), values.size());
  }
  void output(std::string name, const Var* values, std::size_t count) {
    std::vector<Id> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(values[i].id_in(builder_));
    builder_.output_field(std::move(name), ids);
  }

  Program finish() const { return builder_.finish(); }
  Recorder() = default;
  Recorder(const Recorder&) = delete;  // Vars point into it
  Recorder& operator=(const Recorder&) = delete;

 private:
  Builder builder_;
};

// The program of f(x, u, ...), with one std::vector<Var> argument per field and the result, a Var or an array
// of them, as the output field "value".
template <class F, class... Fields>
Program record(const F& f, const Fields&... fields) {
  Recorder recorder;
  // Braces: the fields are declared from left to right.
  std::tuple arguments{recorder.input(Field(fields).name, Field(fields).size)...};
  recorder.output("value", std::apply(f, arguments));
  return recorder.finish();
}

}  // namespace costate::ad

namespace costate {

template <>
struct ScalarTraits<ad::Var> {
  using Value = double;
  using MaskType = ad::VarMask;
  static constexpr int lanes = 1;
};

}  // namespace costate
