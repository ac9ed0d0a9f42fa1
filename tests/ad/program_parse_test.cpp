#include "costate/ad/parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "costate/ad/executable.h"
#include "costate/core/error.h"
#include "tests/expect_error.h"

namespace costate::ad {
namespace {

double value(std::string_view text, double x = 0.75, double y = -2) {
  return evaluate(parse_expression(text, {{"x"}, {"y"}}), {{x}, {y}})[0];
}

TEST(ParseExpression, BindsAsWritten) {
  EXPECT_EQ(value("1 + 2*3"), 7);
  EXPECT_EQ(value("(1 + 2)*3"), 9);
  EXPECT_EQ(value("8/4/2"), 1);
  EXPECT_EQ(value("5 - 3 - 1"), 1);
  EXPECT_EQ(value("2^3^2"), 512);
  EXPECT_EQ(value("2**3"), 8);
  EXPECT_EQ(value("-2^2"), -4);
  EXPECT_EQ(value("2^-1"), 0.5);
  EXPECT_EQ(value("-x^2"), -0.5625);
  EXPECT_EQ(value("--+-x"), -0.75);
  EXPECT_EQ(value("1 < 2 && 2 < 1 || 3 != 4"), 1);
  EXPECT_EQ(value("!(x > 0) || y == -2"), 1);
  EXPECT_EQ(value("x > 0 ? y > 0 ? 1 : 2 : 3"), 2);
  EXPECT_EQ(value("1 + (x > 0 ? 10 : 20)"), 11);
  EXPECT_EQ(value("x\n  # a comment\n"), 0.75);
}

TEST(ParseExpression, KnowsNumbersConstantsAndFunctions) {
  EXPECT_EQ(value("1e-3"), 1e-3);
  EXPECT_EQ(value(".5 + 1.5E+2"), 150.5);
  EXPECT_EQ(value("pi"), std::numbers::pi);
  EXPECT_EQ(value("e"), std::numbers::e);
  EXPECT_NEAR(value("sin(x)^2 + cos(x)**2"), 1, 1e-15);
  EXPECT_EQ(value("min(x, y) + max(x, y)*10"), 5.5);
  EXPECT_EQ(value("select(x < y, 1, 2) + where(y < x, 10, 20)"), 12);
  EXPECT_EQ(value("ceil(1.2) + floor(-1.2) + step(0) + step(-1)"), 1);
  EXPECT_EQ(value("ln(exp(1)) + abs(y) + sign(y)"), 2);
  EXPECT_EQ(value("fma(2, 3, 4)"), 10);
}

TEST(ParseExpression, AnInputHidesAConstantOfTheSameName) {
  EXPECT_EQ(evaluate(parse_expression("e + 1", {{"e"}}), {{5}})[0], 6);
}

TEST(ParseEquations, UseEarlierNamesAndFillArrays) {
  const Program f = parse_equations(
      "r2 = x[0]^2 + x[1]^2   # squared distance\n"
      "r = sqrt(r2); k = mu / (r*\n r2)\n"
      "a[1] = -k*x[1]\n"
      "a[0] = -k*x[0]\n",
      {{"x", 2}, {"mu"}}, {{"a", 2}});
  const std::vector<double> a = evaluate(f, {{3, 4}, {250}});
  EXPECT_NEAR(a[0], -6, 1e-14);
  EXPECT_NEAR(a[1], -8, 1e-14);
}

// The whole message: where, what, the line, the caret, the advice.
void expect_error(std::string_view text, const std::string& message) {
  try {
    parse_expression(text, {{"x"}, {"velocity"}, {"q", 3}});
    FAIL() << "no error for " << text;
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), message);
  }
}

TEST(ParseExpression, ErrorsPointAtTheColumn) {
  expect_error("x + * 2",
               "expression:1:5: expected a number, a name or '(', found '*'\n"
               "  x + * 2\n"
               "      ^");
  expect_error("x +\n",
               "expression:1:4: expected a number, a name or '(', found the end of the line\n  x +\n     ^");
  expect_error("(x + 1",
               "expression:1:7: expected ')', found the end of the text\n"
               "  (x + 1\n"
               "        ^");
  expect_error("2*velocty",
               "expression:1:3: unknown name 'velocty'\n"
               "  2*velocty\n"
               "    ^\n"
               "  did you mean 'velocity'?");
  expect_error("sine(x)",
               "expression:1:1: unknown function 'sine'\n"
               "  sine(x)\n"
               "  ^\n"
               "  did you mean 'sin'?");
  expect_error("\n\n 1 + q[3]",
               "expression:3:6: 'q' has 3 elements, numbered from 0; there is no [3]\n"
               "   1 + q[3]\n"
               "       ^");
  expect_error("x $ 2", "expression:1:3: this character is not part of an expression\n  x $ 2\n    ^");
  expect_error("2x", "expression:1:2: a number is followed by 'x'\n  2x\n   ^\n  write * between factors");
  expect_error("x(2)",
               "expression:1:1: 'x' is a value, not a function\n  x(2)\n  ^\n  write * between factors");
  expect_error("0 < x < 1",
               "expression:1:7: comparisons do not chain\n  0 < x < 1\n        ^\n  write a < b && b < c");
  expect_error("atan2(x)", "expression:1:1: 'atan2' takes 2 arguments, not 1\n  atan2(x)\n  ^");
  expect_error("q + 1", "expression:1:1: 'q' is an array of 3 elements\n  q + 1\n  ^\n  write q[0]");
  expect_error("q[0.5]", "expression:1:3: an index is a whole number such as 0\n  q[0.5]\n    ^");
  expect_error("sin + 1", "expression:1:1: 'sin' is a function\n  sin + 1\n  ^\n  give it arguments in ( )");
  expect_error("x & x", "expression:1:3: '&' is not an operator\n  x & x\n    ^\n  write &&");
  expect_error("1e999", "expression:1:1: this number does not fit a double\n  1e999\n  ^");
  expect_error("x x", "expression:1:3: expected an operator or the end, found 'x'\n  x x\n    ^");
  expect_error("", "expression:1:1: expected a number, a name or '(', found the end of the text\n  \n  ^");
}

TEST(ParseExpression, OriginIsWhereTheTextStandsInTheFile) {
  try {
    parse_expression("x + bogus", {{"x"}}, {"scene.toml", 14, 9});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().where, "scene.toml:14:13");
  }
}

void expect_equation_error(std::string_view text, const std::string& part) {
  try {
    parse_equations(text, {{"x"}}, {{"y", 2}, {"z"}});
    FAIL() << "no error for " << text;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(ParseEquations, ErrorsNameTheEquation) {
  expect_equation_error("y[0] = 1; z = 2", "no equation gives 'y[1]'");
  expect_equation_error("y[0] = 1; y[0] = 2; y[1] = 2; z = 1", "'y' is given twice");
  expect_equation_error("y = 1", "'y' has 2 elements");
  expect_equation_error("y[2] = 1", "there is no [2]");
  expect_equation_error("x = 1", "already an input");
  expect_equation_error("a = 1; a = 2", "already an input or an earlier equation");
  expect_equation_error("y[0] = z", "'z' is used before its equation");
  expect_equation_error("sin = 1", "a function or constant of the language");
  expect_equation_error("t[0] = 1", "is not a declared array");
  expect_equation_error("z + 1", "expected '='");
  expect_equation_error("z = 1 y[0] = 2", "expected an operator, ';' or the end of the line");
  costate::test::expect_error([&] { return parse_equations("x = 1", {{"x"}}, {{"x"}}); },
                              "'x' is both an input and an output");
}

TEST(ParseExpression, DeepNestingIsAnErrorNotAStackOverflow) {
  for (const std::string open : {"(", "-", "!", "sin(", "1?", "2^", "x[", "1?1:"}) {
    std::string text;
    while (text.size() < kMaxTextLength - 10) text += open;
    costate::test::expect_error([&] { return parse_expression(text, {{"x"}}); },
                                open == "x[" ? "an index is a whole number" : "nested more than");
  }
  costate::test::expect_error([&] { return parse_expression(std::string(kMaxTextLength + 1, ' '), {{"x"}}); },
                              "characters long; the limit is");
  std::string fine = "x";
  for (int i = 0; i < 100; ++i) fine = "(" + fine + ")";
  EXPECT_EQ(value(fine), 0.75);
}

TEST(ParseExpression, LongSumsAreFine) {
  std::string text = "x";
  for (int i = 0; i < 100000; ++i) text += "+x";
  EXPECT_EQ(value(text, 1), 100001);
}

// Whatever the bytes: a program or an Error, soon.
TEST(ParseExpression, RandomTextNeverCrashes) {
  std::mt19937 random(7);
  const std::string_view pieces[] = {"x", "q[1]",  "(",    ")",  "+", "-",  "*",    "/", "^", "**",
                                     "1", "2.5e3", "sin(", ",",  "<", "&&", "?",    ":", "!", "[",
                                     "]", ";",     "=",    "\n", "#", " ",  "pow(", "e"};
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    const int length = std::uniform_int_distribution<int>(1, 12)(random);
    for (int i = 0; i < length; ++i) {
      if (round % 4 == 0)
        text += static_cast<char>(std::uniform_int_distribution<int>(0, 255)(random));
      else
        text += pieces[std::uniform_int_distribution<std::size_t>(0, std::size(pieces) - 1)(random)];
    }
    try {
      parse_expression(text, {{"x"}, {"q", 2}});
      ++parsed;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find('^'), std::string::npos);
    }
    try {
      parse_equations("z = " + text, {{"x"}, {"q", 2}}, {{"z"}});
    } catch (const Error&) {
    }
  }
  EXPECT_GT(parsed, 200);
}

}  // namespace
}  // namespace costate::ad
