#include "costate/ad/record.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "costate/ad/executable.h"
#include "costate/ad/parse.h"
#include "costate/core/error.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using costate::test::expect_error;

// A kernel of the engine's kind: a template on the scalar, arithmetic with plain numbers, select on masks.
template <class S>
Vec<S, 2> bounce(const Vec<S, 2>& x, const S& restitution) {
  const mask_t<S> below = (x[0] < S(0)) & !(x[1] > S(0));
  Vec<S, 2> y;
  y[0] = select(below, -restitution * x[0], x[0]);
  y[1] = select(below, -restitution * x[1], x[1] - 9.81 * S(0.01));
  y[1] += 2 * dot(x, x) / 4;
  return y;
}

const auto every_function = [](const auto& x) {
  const auto t = sincos(x[0]);
  return t.sin + t.cos + tan(x[0]) + exp(x[0]) + expm1(x[0]) + log(x[1]) + log1p(x[1]) + log2(x[1]) +
         cbrt(x[1]) + sinh(x[0]) + cosh(x[0]) + tanh(x[0]) + asin(x[0]) + acos(x[0]) + atan(x[0]) +
         atan2(x[0], x[1]) + pow(x[1], x[0]) + pow(x[1], 3) + sqrt(x[1]) + abs(x[0]) + sign(x[0]) +
         min(x[0], x[1]) + max(x[0], x[1]) + floor(x[1]) + trunc(-x[1]) + round(x[1]) + hypot(x[0], x[1]) +
         copysign(x[1], x[0]) + fma(x[0], x[1], x[1]);
};

}  // namespace

namespace ad {
namespace {

TEST(Record, KernelGivesTheSameAsWithDouble) {
  Recorder recorder;
  const Vec<Var, 2> x = recorder.input<2>("x");
  const Var e = recorder.scalar("e");
  recorder.output("y", bounce<Var>(x, e));
  const Program program = recorder.finish();
  for (const std::array<double, 2> state :
       {std::array{0.5, -1.0}, std::array{-0.5, -1.0}, std::array{-0.5, 1.0}}) {
    const Vec<double, 2> y = bounce<double>({state[0], state[1]}, 0.8);
    const std::vector<double> recorded = evaluate(program, {{state[0], state[1]}, {0.8}});
    EXPECT_NEAR(recorded[0], y[0], 1e-15);
    EXPECT_NEAR(recorded[1], y[1], 1e-15);
  }
}

TEST(Record, EveryFunctionOfTheKernelLanguageIsThere) {
  const auto& f = every_function;
  const Program program = record(f, Field{"x", 2});
  const std::array<double, 2> x{-0.3, 2.6};
  EXPECT_NEAR(evaluate(program, {{x[0], x[1]}})[0], f(Vec<double, 2>{{x[0], x[1]}}), 1e-13);
}

TEST(Record, NumbersMixWithRecordedValues) {
  const Program program =
      record([](const auto& x) { return 2 * x[0] + 1.5f - 1 / x[0] + (x[0] - 3); }, Field{"x"});
  EXPECT_EQ(evaluate(program, {{4}})[0], 8 + 1.5 - 0.25 + 1);
  static_assert(!std::is_convertible_v<Var, bool> && !std::is_constructible_v<bool, Var>,
                "a recorded value cannot decide an if");
  static_assert(!std::is_constructible_v<bool, VarMask>);
  static_assert(std::is_same_v<mask_t<Var>, VarMask>);
}

TEST(Record, ConstantsFoldWhileRecording) {
  const Program program =
      record([](const auto&) { return sqrt(Var(2)) * 3 + select(Var(1) < Var(2), 1, 0); }, Field{"x"});
  ASSERT_EQ(program.nodes().size(), 1u);
  EXPECT_NEAR(program.nodes()[0].value, 3 * std::sqrt(2.0) + 1, 1e-15);
}

TEST(Record, TwoRecordingsDoNotMix) {
  Recorder one, two;
  const Var x = one.scalar("x"), y = two.scalar("y");
  expect_error([&] { return x + y; }, "values of two different recordings meet in one expression");
}

TEST(Builder, SharesCommonSubexpressionsAndDropsDeadCode) {
  const Program program =
      parse_equations("dead = exp(x); y = sin(x)*sin(x) + (x + z)*(z + x)", {{"x"}, {"z"}}, {{"y"}});
  int sines = 0, sums = 0;
  for (const Node& n : program.nodes()) {
    sines += n.op == Op::sin;
    sums += n.op == Op::add;
    EXPECT_NE(n.op, Op::exp);
  }
  EXPECT_EQ(sines, 1);
  EXPECT_EQ(sums, 2);
}

TEST(Builder, RewritesOnlyWhatIsExactForEveryNumber) {
  const auto same = [](const char* a, const char* b) {
    const std::vector<Field> inputs{{"x"}, {"y"}};
    return to_string(parse_expression(a, inputs)) == to_string(parse_expression(b, inputs));
  };
  for (const char* text :
       {"x*1", "1*x", "x/1", "x - 0", "-(-x)", "x^1", "1 < 2 ? x : y", "x < y ? x : x", "min(x, x)"}) {
    EXPECT_TRUE(same(text, "x")) << text;
  }
  EXPECT_TRUE(same("x*(-1)", "-x"));
  EXPECT_TRUE(same("x + (-y)", "x - y"));
  EXPECT_TRUE(same("x - (-y)", "x + y"));
  EXPECT_TRUE(same("x/4", "x*0.25"));
  EXPECT_TRUE(same("(-x)*y", "-(x*y)"));
  EXPECT_TRUE(same("x^2", "x*x"));
  EXPECT_FALSE(same("x + 0", "x"));  // -0 + 0 is 0
  EXPECT_FALSE(same("x*0", "0"));    // infinity * 0 is NaN
  EXPECT_FALSE(same("x - x", "0"));
  EXPECT_FALSE(same("x/3", "x*(1/3)"));
}

TEST(Builder, LeavesUndefinedConstantsToRunTime) {
  EXPECT_EQ(to_string(parse_expression("1/0 + log(-1)", {})), "%2 = div 1 0\n%4 = add %2 nan\nvalue = %4\n");
  EXPECT_EQ(to_string(parse_expression("1/4 + log(1)", {})),
            "value = 0.25\n");  // those that are defined are numbers
}

TEST(Fuse, ProductsJoinTheSumThatIsTheirOnlyUse) {
  const std::vector<Field> inputs{{"x"}, {"y"}};
  EXPECT_EQ(to_string(fuse(parse_expression("x*y + 3", inputs))), "%3 = fma x y 3\nvalue = %3\n");
  EXPECT_EQ(to_string(fuse(parse_expression("x*y - 3", inputs))), "%3 = fms x y 3\nvalue = %3\n");
  EXPECT_EQ(to_string(fuse(parse_expression("3 - x*y", inputs))), "%3 = fnma x y 3\nvalue = %3\n");
  EXPECT_EQ(to_string(fuse(parse_expression("(x*y + 3)*(x*y)", inputs))),
            to_string(parse_expression("(x*y + 3)*(x*y)", inputs)));
}

}  // namespace
}  // namespace ad
}  // namespace costate
