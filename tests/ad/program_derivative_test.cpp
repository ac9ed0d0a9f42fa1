#include "costate/ad/derivative.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "costate/ad/dual.h"
#include "costate/ad/executable.h"
#include "costate/ad/parse.h"
#include "costate/ad/record.h"
#include "costate/core/error.h"
#include "tests/ad/program_oracle.h"
#include "tests/ad/random_program.h"
#include "tests/float_traps.h"

namespace costate::ad {
namespace {

using test::HyperDual;
using Values = std::vector<double>;

Values random_values(std::mt19937& random, std::size_t n) {
  std::uniform_real_distribution<double> uniform(-1.5, 1.5);
  Values values(n);
  for (double& v : values) v = uniform(random);
  return values;
}

double dot(const Values& a, const Values& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
double norm(const Values& a) { return std::sqrt(dot(a, a)); }
Values tail(const Values& all, std::size_t n) {
  return {all.end() - static_cast<std::ptrdiff_t>(n), all.end()};
}

class RandomPrograms : public testing::TestWithParam<unsigned> {
 protected:
  static constexpr std::size_t inputs = 4, outputs = 3;
  void SetUp() override {
    f = test::RandomProgram(GetParam()).make(inputs, outputs, 40);
    std::mt19937 random(GetParam() + 1000);
    x = random_values(random, inputs);
    v = random_values(random, inputs);
    w = random_values(random, outputs);
  }
  std::vector<HyperDual> oracle(const Values& d1, const Values& d2) const {
    std::vector<HyperDual> in;
    for (std::size_t i = 0; i < inputs; ++i) in.push_back({x[i], d1[i], d2[i], 0});
    return test::evaluate_exactly(f, in);
  }
  Program f;
  Values x, v, w;
};

TEST_P(RandomPrograms, JvpAndVjpAreTransposes) {
  const Values jv = tail(evaluate(jvp(f), {x, v}), outputs);
  const Values jtw = evaluate(vjp(f), {x, w});
  const double scale = std::max(norm(jv) * norm(w), norm(jtw) * norm(v));
  EXPECT_LE(std::abs(dot(jv, w) - dot(jtw, v)), 1e-13 * std::max(scale, 1e-3));
}

TEST_P(RandomPrograms, FirstDerivativesAreExact) {
  const Values forward = evaluate(jvp(f), {x, v});
  const std::vector<HyperDual> exact = oracle(v, v);
  for (std::size_t i = 0; i < outputs; ++i) {
    EXPECT_NEAR(forward[i], double(exact[i].v), 1e-12 * std::max(1.0L, std::abs(exact[i].v)));
    EXPECT_NEAR(forward[outputs + i], double(exact[i].d1), 1e-12 * std::max(1.0L, std::abs(exact[i].d1)));
  }
}

TEST_P(RandomPrograms, HessianVectorProductsAgreeInBothModesAndWithTheOracle) {
  const Values forward_over_reverse = tail(evaluate(jvp(vjp(f)), {x, w, v, Values(outputs, 0.0)}), inputs);
  const Values reverse_over_reverse = evaluate(vjp(vjp(f)), {x, w, v});
  for (std::size_t i = 0; i < inputs; ++i) {
    Values unit(inputs, 0.0);
    unit[i] = 1;
    const std::vector<HyperDual> exact = oracle(unit, v);
    long double expected = 0, scale = 1;
    for (std::size_t k = 0; k < outputs; ++k) {
      expected += w[k] * exact[k].d12;
      scale += std::abs(exact[k].d12) + std::abs(exact[k].d1);
    }
    EXPECT_NEAR(forward_over_reverse[i], double(expected), double(1e-11L * scale)) << i;
    EXPECT_NEAR(reverse_over_reverse[i], double(expected), double(1e-11L * scale)) << i;
  }
}

TEST_P(RandomPrograms, JacobianIsTheVjpOfEachOutput) {
  const Jacobian j = jacobian(f);
  const Values entries = evaluate(j.program, {x});
  ASSERT_EQ(j.rows, int(outputs));
  ASSERT_EQ(j.columns, int(inputs));
  std::vector<Values> dense(outputs, Values(inputs, 0.0));
  for (std::size_t k = 0; k < entries.size(); ++k) {
    dense[static_cast<std::size_t>(j.row[k])][static_cast<std::size_t>(j.column[k])] = entries[k];
  }
  for (std::size_t r = 0; r < outputs; ++r) {
    Values unit(outputs, 0.0);
    unit[r] = 1;
    const Values row = evaluate(vjp(f), {x, unit});
    for (std::size_t c = 0; c < inputs; ++c) {
      EXPECT_NEAR(dense[r][c], row[c], 1e-13 * std::max(1.0, std::abs(row[c]))) << r << " " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Program, RandomPrograms, testing::Range(0u, 60u));

// --- kinks ----------------------------------------------------------------------------------------

// The derivative at a kink, in both modes, is the one that Dual gives for the same code.
template <class F>
void expect_same_kink_as_dual(const F& f, Values x) {
  const Program program = record([&](const auto& in) { return f(in[0], in[1]); }, Field{"x", 2});
  using D = Dual<double, 2>;
  const D exact = f(D::variable(x[0], 0), D::variable(x[1], 1));
  const Values bar = evaluate(vjp(program), {x, {1}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(bar[static_cast<std::size_t>(i)], exact.d[i]) << "vjp, element " << i;
    Values unit{i == 0 ? 1.0 : 0.0, i == 1 ? 1.0 : 0.0};
    EXPECT_EQ(evaluate(jvp(program), {x, unit})[1], exact.d[i]) << "jvp, element " << i;
  }
}

TEST(ProgramKinks, AreThoseOfDual) {
  expect_same_kink_as_dual([](auto a, auto b) { return abs(a) + b; }, {0, 1});
  expect_same_kink_as_dual([](auto a, auto b) { return min(a, b); }, {2, 2});
  expect_same_kink_as_dual([](auto a, auto b) { return max(a, b); }, {-1, -1});
  expect_same_kink_as_dual([](auto a, auto b) { return sign(a) + floor(b); }, {0, 3});
  expect_same_kink_as_dual([](auto a, auto b) { return atan2(a, b); }, {0, 0});
  expect_same_kink_as_dual([](auto a, auto b) { return pow(a, b); }, {0, 2});
  expect_same_kink_as_dual([](auto a, auto b) { return pow(a, b); }, {0, 1});
  expect_same_kink_as_dual([](auto a, auto b) { return pow(a, b); }, {1, 0});
  expect_same_kink_as_dual([](auto a, auto b) { return pow(a, b); }, {-2, 3});
  expect_same_kink_as_dual([](auto a, auto b) { return hypot(a, b); }, {0, 0});
  expect_same_kink_as_dual([](auto a, auto b) { return select(a < b, a, b * b); }, {3, 3});
}

TEST(ProgramKinks, NanOfTheBranchNotTakenStaysOutOfEveryDerivative) {
  const test::AllowFloatExceptions allow;
  for (const char* text : {"x > 0 ? sqrt(x) : x^2", "x > 0 ? x*log(x) : x^2", "min(x^2, 1/(x+1) + 100)",
                           "where(x > -5 && x < 1e-9, x*x, exp(sqrt(x))/x)"}) {
    SCOPED_TRACE(text);
    const Program f = parse_expression(text, {{"x"}});
    const double x = text[0] == 'm' ? -1 : -3;
    EXPECT_EQ(evaluate(f, {{x}})[0], x * x);
    EXPECT_EQ(evaluate(jvp(f), {{x}, {1}})[1], 2 * x);
    EXPECT_EQ(evaluate(vjp(f), {{x}, {1}})[0], 2 * x);
    EXPECT_EQ(evaluate(jvp(vjp(f)), {{x}, {1}, {1}, {0}})[1], 2);
    const Values twice = evaluate(vjp(vjp(f)), {{x}, {1}, {1}});
    EXPECT_EQ(twice[0], 2);
    EXPECT_EQ(twice[1], 2 * x);
  }
}

TEST(ProgramKinks, CodeWithoutBranchesHasNoGates) {
  const Program f = parse_expression("sin(x)*y/(1 + x^2)", {{"x"}, {"y"}});
  const Program second = vjp(vjp(f));
  for (const Node& n : second.nodes()) EXPECT_NE(n.op, Op::gated_mul);
}

// --- what is differentiated -----------------------------------------------------------------------

TEST(ProgramDerivative, OnlyActiveInputsGetCotangents) {
  const Program f = parse_expression("a*x + b*y", {{"x"}, {"y"}, {"a"}, {"b"}});
  const Program f_t = vjp(f, {{"a", "y"}, false});
  ASSERT_EQ(f_t.output_fields().size(), 2u);
  EXPECT_EQ(f_t.output_fields()[0].name, "y_bar");
  EXPECT_EQ(f_t.output_fields()[1].name, "a_bar");
  EXPECT_EQ(evaluate(f_t, {{2}, {3}, {5}, {7}, {1}}), (Values{7, 2}));
  const Program f_d = jvp(f, {{"b"}, false});
  EXPECT_EQ(f_d.input_fields().size(), 5u);
  EXPECT_EQ(evaluate(f_d, {{2}, {3}, {5}, {7}, {1}}), (Values{31, 3}));
}

TEST(ProgramDerivative, UnknownActiveInputIsAnErrorThatSuggestsOne) {
  const Program f = parse_expression("mass*x", {{"x"}, {"mass"}});
  try {
    vjp(f, {{"mas"}, false});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'mass'?"), std::string::npos) << error.what();
  }
}

TEST(ProgramDerivative, OutputsCanComeWithTheCotangents) {
  const Program f = parse_expression("x*x", {{"x"}});
  EXPECT_EQ(evaluate(vjp(f, {{}, true}), {{3}, {1}}), (Values{9, 6}));
}

TEST(ProgramDerivative, InputThatDoesNotMatterHasZeroCotangent) {
  const Program f = parse_expression("x + floor(y)", {{"x"}, {"y"}, {"z"}});
  EXPECT_EQ(evaluate(vjp(f), {{1}, {2}, {3}, {1}}), (Values{1, 0, 0}));
}

TEST(ProgramDerivative, AJacobianHasTheEntriesThatMayDifferFromZero) {
  const Program f =
      parse_equations("y[0] = x[0]*x[1]; y[1] = 3; y[2] = floor(x[0]) + sin(x[2])", {{"x", 3}}, {{"y", 3}});
  const Jacobian j = jacobian(f);
  EXPECT_EQ(j.row, (std::vector<int>{0, 0, 2}));
  EXPECT_EQ(j.column, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(evaluate(j.program, {{2, 5, 0}}), (Values{5, 2, 1}));
}

}  // namespace
}  // namespace costate::ad
