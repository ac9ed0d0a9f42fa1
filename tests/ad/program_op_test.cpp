// Every operation of a Program, checked in one place: value, first and second derivatives, special values,
// float and double, one world and many.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "costate/ad/builder.h"
#include "costate/ad/derivative.h"
#include "costate/ad/executable.h"
#include "tests/ad/program_oracle.h"
#include "tests/float_traps.h"

namespace costate::ad {
namespace {

using test::HyperDual;
using Point = std::vector<double>;

// Where each operation is smooth; points are operands. An operation that is not listed has no test, and
// fails.
std::vector<Point> sample_points(Op op) {
  switch (op) {
    case Op::constant:
      return {Point{}};
    case Op::input:
      return {Point{0.75}, Point{-3}};
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne:
    case Op::min:
    case Op::max:
    case Op::div:
    case Op::gated_mul:
      return {Point{1.5, -0.25}, Point{-2, 3}, Point{0.125, 0.75}};
    case Op::logical_and:
    case Op::logical_or:
      return {Point{0, 0}, Point{1, 0}, Point{0, 2}, Point{-1, 0.5}};
    case Op::logical_not:
      return {Point{0}, Point{1}, Point{-0.5}};
    case Op::fma:
    case Op::fms:
    case Op::fnma:
      return {Point{1.5, -0.25, 3}, Point{-2, 3, 0.5}};
    case Op::select:
      return {Point{1, -0.25, 3}, Point{0, 3, 0.5}, Point{-2, 1, 4}};
    case Op::log1p:
    case Op::cbrt:
    case Op::sqrt:
    case Op::log:
      return {Point{0.25}, Point{3}, Point{1e-3}, Point{700}};
    case Op::asin:
    case Op::acos:
      return {Point{0.3}, Point{-0.8}, Point{0.99}, Point{1e-3}};
    case Op::sin:
    case Op::cos:
    case Op::tan:
      return {Point{0.3}, Point{-1.2}, Point{10}, Point{-100.5}};
    case Op::exp:
    case Op::expm1:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::atan:
      return {Point{0.3}, Point{-1.2}, Point{4}, Point{-6.5}, Point{1e-3}};
    case Op::neg:
    case Op::abs:
    case Op::sign:
    case Op::floor:
      return {Point{0.3}, Point{-1.2}, Point{4.5}};
    case Op::atan2:
      return {Point{0.3, 1}, Point{1, 0.3}, Point{-2, -0.5}, Point{0.5, -3}, Point{-1, 2}};
    case Op::pow:
      return {Point{0.3, 1.7}, Point{2, -2.5}, Point{5, 0.1}, Point{1.5, 8.3}};
    case Op::powi:
      return {Point{0.3}, Point{-1.2}, Point{2.5}};
  }
  return {};
}

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kSpecial[] = {0.0, -0.0, 1, -1, 0.5, -2.5, kInf, -kInf, kNan, 1e30, -1e-30, 3, -2};

template <class T>
T standard_value(Op op, T a, T b, T c, int exponent) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a / b;
    case Op::neg:
      return -a;
    case Op::fma:
      return std::fma(a, b, c);
    case Op::fms:
      return std::fma(a, b, -c);
    case Op::fnma:
      return std::fma(-a, b, c);
    case Op::sqrt:
      return std::sqrt(a);
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::cos(a);
    case Op::tan:
      return std::tan(a);
    case Op::exp:
      return std::exp(a);
    case Op::expm1:
      return std::expm1(a);
    case Op::log:
      return std::log(a);
    case Op::log1p:
      return std::log1p(a);
    case Op::cbrt:
      return std::cbrt(a);
    case Op::sinh:
      return std::sinh(a);
    case Op::cosh:
      return std::cosh(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::asin:
      return std::asin(a);
    case Op::acos:
      return std::acos(a);
    case Op::atan:
      return std::atan(a);
    case Op::atan2:
      return std::atan2(a, b);
    case Op::pow:
      return std::pow(a, b);
    case Op::powi:
      return std::pow(a, T(exponent));
    case Op::abs:
      return std::abs(a);
    case Op::sign:
      return a > 0 ? T(1) : a < 0 ? T(-1) : a;
    case Op::min:
      return std::isnan(b) ? b : std::min(a, b);
    case Op::max:
      return std::isnan(b) ? b : std::max(a, b);
    case Op::floor:
      return std::floor(a);
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    case Op::ge:
      return a >= b;
    case Op::eq:
      return a == b;
    case Op::ne:
      return a != b;
    case Op::logical_and:
      return a != 0 && b != 0;
    case Op::logical_or:
      return a != 0 || b != 0;
    case Op::logical_not:
      return a == 0;
    case Op::select:
      return a != 0 ? b : c;
    case Op::gated_mul:
      return a * (a == 0 ? T(0) : b);
    case Op::constant:
    case Op::input:
      break;
  }
  return a;
}

// Program value = op(x[0], x[1], ...).
Program program_of(Op op, int exponent) {
  Builder builder;
  const int arity = op == Op::input ? 1 : info(op).arity;
  const Id x = builder.input_field("x", arity);
  Id y = x;
  if (op == Op::constant) {
    y = builder.constant(2.5);
  } else if (op != Op::input) {
    y = builder.make(
        {op, x, arity > 1 ? x + 1 : kNone, arity > 2 ? x + 2 : kNone, static_cast<double>(exponent)});
  }
  builder.output_field("value", std::vector<Id>{y});
  return builder.finish();
}

// All inputs of `worlds` worlds, [element][world], run in one call; all outputs the same way.
template <class T>
std::vector<T> run_worlds_by(Engine engine, const Program& program, const std::vector<T>& inputs,
                             std::ptrdiff_t worlds) {
  const Executable executable(program, engine);
  std::vector<InputBlock<T>> in;
  for (std::size_t f = 0; f < program.input_fields().size(); ++f) {
    in.push_back({inputs.data() + program.input_offset(static_cast<int>(f)) * worlds, worlds});
  }
  std::vector<T> outputs(static_cast<std::size_t>(program.output_count() * worlds), T(-12345));
  std::vector<OutputBlock<T>> out;
  for (std::size_t f = 0; f < program.output_fields().size(); ++f) {
    out.push_back({outputs.data() + program.output_offset(static_cast<int>(f)) * worlds, worlds});
  }
  std::vector<std::byte> scratch(executable.scratch_bytes<T>());
  executable.run<T>(in, out, worlds, scratch);
  return outputs;
}

template <class T>
auto bits(T x) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<std::uint64_t>(x);
  else
    return std::bit_cast<std::uint32_t>(x);
}

// By machine code and by the interpreter, which must agree.
template <class T>
std::vector<T> run_worlds(const Program& program, const std::vector<T>& inputs, std::ptrdiff_t worlds) {
  const std::vector<T> result = run_worlds_by<T>(Engine::machine_code, program, inputs, worlds);
  const std::vector<T> interpreted = run_worlds_by<T>(Engine::interpreter, program, inputs, worlds);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (std::isnan(result[i]) && std::isnan(interpreted[i])) continue;
    EXPECT_EQ(bits(result[i]), bits(interpreted[i]))
        << "machine code, output " << i << " of " << worlds << " worlds";
  }
  return result;
}

template <class T>
void expect_same_value(T actual, T expected, double ulps, const std::string& where) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << where << " gives " << actual;
  } else if (std::isinf(expected) || expected == 0) {
    EXPECT_EQ(actual, expected) << where;
    EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << where;
  } else {
    EXPECT_LE(std::abs(double(actual) - double(expected)),
              ulps * std::numeric_limits<T>::epsilon() * std::abs(double(expected)) +
                  ulps * std::numeric_limits<T>::denorm_min())
        << where;
  }
}

// The same bits for a world alone and among others, also in the last lanes of a strip.
template <class T>
void expect_worlds_agree(const Program& program, const std::vector<double>& values) {
  for (const std::ptrdiff_t worlds : {2, 7, 16, 37, 300}) {
    std::vector<T> many(static_cast<std::size_t>(program.input_count() * worlds));
    for (std::size_t i = 0; i < many.size(); ++i) {
      many[i] = T(values[(i * 7 + i / static_cast<std::size_t>(worlds)) % values.size()]);
    }
    const std::vector<T> together = run_worlds<T>(program, many, worlds);
    for (std::ptrdiff_t w = 0; w < worlds; ++w) {
      std::vector<T> one;
      for (int i = 0; i < program.input_count(); ++i)
        one.push_back(many[static_cast<std::size_t>(i * worlds + w)]);
      const std::vector<T> alone = run_worlds<T>(program, one, 1);
      for (std::size_t i = 0; i < alone.size(); ++i) {
        const T there = together[i * static_cast<std::size_t>(worlds) + static_cast<std::size_t>(w)];
        if (std::isnan(alone[i]) && std::isnan(there)) continue;  // the sign of a NaN means nothing
        ASSERT_EQ(bits(alone[i]), bits(there)) << "world " << w << " of " << worlds << ", output " << i;
      }
    }
  }
}

template <class T>
void expect_near_relative(T actual, long double expected, double tolerance, const std::string& what) {
  EXPECT_NEAR(double(actual), double(expected), tolerance * std::max(1.0, std::abs(double(expected))))
      << what;
}

// First and second derivatives at one point against the oracle.
template <class T>
void expect_derivatives(const Program& f, const Point& x, double tolerance) {
  const std::size_t n = x.size();
  const Program f_t = vjp(f), f_d = jvp(f), f_td = jvp(f_t), f_tt = vjp(f_t);
  const double y_bar = 0.75;
  Point direction;
  for (std::size_t i = 0; i < n; ++i) direction.push_back(0.5 + 0.375 * static_cast<double>(i));

  const auto oracle = [&](std::size_t element) {  // d1: one element; d2: the direction
    std::vector<HyperDual> in(n);
    for (std::size_t i = 0; i < n; ++i) {
      in[i] = {static_cast<long double>(T(x[i])), i == element ? 1.0L : 0.0L, direction[i], 0};
    }
    return test::evaluate_exactly(f, in)[0];
  };
  const auto with = [&](std::initializer_list<Point> blocks) {
    std::vector<T> all;
    for (const Point& block : blocks) all.insert(all.end(), block.begin(), block.end());
    return all;
  };

  const std::vector<T> forward = run_worlds<T>(f_d, with({x, direction}), 1);
  expect_near_relative(forward[1], oracle(n).d2, tolerance, "jvp");
  const std::vector<T> reverse = run_worlds<T>(f_t, with({x, {y_bar}}), 1);
  const std::vector<T> hessian_jvp = run_worlds<T>(f_td, with({x, {y_bar}, direction, {0}}), 1);
  const std::vector<T> hessian_vjp = run_worlds<T>(f_tt, with({x, {y_bar}, direction}), 1);
  for (std::size_t i = 0; i < n; ++i) {
    const HyperDual exact = oracle(i);
    const std::string element = " element " + std::to_string(i);
    expect_near_relative(reverse[i], y_bar * exact.d1, tolerance, "vjp" + element);
    expect_near_relative(hessian_jvp[n + i], y_bar * exact.d12, 4 * tolerance, "jvp of vjp" + element);
    expect_near_relative(hessian_vjp[i], y_bar * exact.d12, 4 * tolerance, "vjp of vjp" + element);
  }
  expect_near_relative(hessian_vjp[n], oracle(n).d2, tolerance, "vjp of vjp, output cotangent");
}

template <class T>
void expect_op_correct(Op op, int exponent = 0) {
  SCOPED_TRACE(std::string(info(op).name) + (sizeof(T) == 8 ? " in double" : " in float"));
  const std::vector<Point> points = sample_points(op);
  ASSERT_FALSE(points.empty()) << "operation without a test";
  const Program f = program_of(op, exponent);
  const double tolerance = sizeof(T) == 8 ? 2e-14 : 1e-5;
  const bool long_power = op == Op::powi && std::abs(exponent) > 3;
  for (const Point& x : points) {
    SCOPED_TRACE(testing::PrintToString(x));
    std::vector<T> in(x.begin(), x.end());
    const T value = run_worlds<T>(f, in, 1)[0];
    in.resize(3, T(0));
    const T expected = op == Op::constant ? T(2.5) : standard_value<T>(op, in[0], in[1], in[2], exponent);
    expect_same_value(value, expected, long_power ? 10 : 3, "value");
    expect_derivatives<T>(f, x, tolerance);
  }

  const test::AllowFloatExceptions allow;
  const int arity = info(op).arity;
  for (const double a : kSpecial) {
    for (const double b : kSpecial) {
      for (const double c : kSpecial) {
        if (arity == 0 || (arity < 3 && !(c == 1)) || (arity < 2 && !(b == 1))) continue;
        std::vector<T> in{T(a), T(b), T(c)};
        const T expected = standard_value<T>(op, in[0], in[1], in[2], exponent);
        in.resize(static_cast<std::size_t>(arity));
        expect_same_value(run_worlds<T>(f, in, 1)[0], expected, long_power ? 10 : 4,
                          "of " + testing::PrintToString(in));
      }
    }
  }
  std::vector<double> values(std::begin(kSpecial), std::end(kSpecial));
  for (const Point& x : points) values.insert(values.end(), x.begin(), x.end());
  for (int i = 0; i < 23; ++i) values.push_back(-4 + 0.37 * i);
  for (const Program& program : {f, jvp(f), vjp(f), vjp(vjp(f))}) {
    if (program.input_count() > 0) expect_worlds_agree<T>(program, values);
  }
}

class EveryOp : public testing::TestWithParam<OpInfo> {};

TEST_P(EveryOp, IsCorrectInDouble) {
  if (GetParam().op != Op::powi) return expect_op_correct<double>(GetParam().op);
  for (const int exponent : {-7, -2, -1, 0, 1, 2, 3, 4, 5, 12, 31})
    expect_op_correct<double>(Op::powi, exponent);
}

TEST_P(EveryOp, IsCorrectInFloat) {
  if (GetParam().op != Op::powi) return expect_op_correct<float>(GetParam().op);
  for (const int exponent : {-7, -2, 5, 12}) expect_op_correct<float>(Op::powi, exponent);
}

INSTANTIATE_TEST_SUITE_P(Program, EveryOp, testing::ValuesIn(kOps),
                         [](const auto& op) { return std::string(op.param.name); });

}  // namespace
}  // namespace costate::ad
