// Text to Program: formulas as people write them, in scene files and on the command line.
//
//   parse_expression("a*x - b*x*y", {{"x"}, {"y"}, {"a"}, {"b"}})                 one output, "value"
//   parse_equations("r = x[0]^2 + x[1]^2\n a[0] = -x[0]/r; a[1] = -x[1]/r", {{"x", 2}}, {{"a", 2}})
//
//   numbers       2  0.5  1e-3
//   names         x  x[2]  pi  e, and what an earlier equation defined
//   arithmetic    + - * / and ^ or ** (to the right, and before the sign: -x^2 is -(x^2))
//   truth         < <= > >= == != && || !      c ? a : b   select(c, a, b)   where(c, a, b)
//   functions     sqrt sin cos tan exp expm1 log ln log1p cbrt sinh cosh tanh asin acos atan atan2 pow
//                 abs sign min max floor ceil step fma
//   comments      from # to the end of the line
//
// An equation ends with ; or the end of the line, which does not count inside parentheses.
// A mistake is an Error with the line and column, the line itself and a caret under the place. Text is
// treated as hostile: its length, its nesting and the program it makes are bounded.
//
// Tests: tests/ad/program_parse_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "costate/ad/program.h"

namespace costate::ad {

inline constexpr std::size_t kMaxTextLength = 1 << 20;
inline constexpr int kMaxNesting = 256;

// Where the text stands in the user's file, for messages.
struct TextOrigin {
  std::string name = "expression";
  int line = 1, column = 1;  // of the first character
};

// One expression; its value is the output field "value".
Program parse_expression(std::string_view text, const std::vector<Field>& inputs,
                         const TextOrigin& origin = {});

// Equations `name = expression` or `name[i] = expression`, in order. Those of `outputs` must all be given,
// each once; other names are for use in later equations.
Program parse_equations(std::string_view text, const std::vector<Field>& inputs,
                        const std::vector<Field>& outputs, const TextOrigin& origin = {});

}  // namespace costate::ad
