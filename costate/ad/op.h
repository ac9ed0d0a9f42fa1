// Op: the operations a Program is made of, over real numbers.
//
// Truth values are numbers: a comparison gives 0 or 1, and anything that is not 0 counts as true.
// Where an operation has a kink or a jump, this is what its derivative means:
//
//   abs                                0 at 0
//   sign, floor, comparisons, logic    0 everywhere
//   min, max                           a tie takes the first argument
//   select(c, a, b)                    that of the branch taken
//   atan2                              0 at the origin
//   pow(x, y)                          d/dy is 0 for x <= 0, d/dx is 0 for y = 0
//
// They are the conventions of Dual (dual.h). A NaN on either side of min or max stays, as in
// core/functions.h. Tests: tests/ad/program_op_test.cpp runs over kOps, so an operation without a test fails
// it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace costate::ad {

enum class Op : std::uint8_t {
  constant,
  input,
  add,
  sub,
  mul,
  div,
  neg,
  fma,   // a * b + c, rounded once
  fms,   // a * b - c, rounded once
  fnma,  // c - a * b, rounded once
  sqrt,
  sin,
  cos,
  tan,
  exp,
  expm1,  // e^a - 1
  log,
  log1p,  // log(1 + a)
  cbrt,
  sinh,
  cosh,
  tanh,
  asin,
  acos,
  atan,
  atan2,
  pow,
  powi,  // integer exponent, held in the node
  abs,
  sign,
  min,
  max,
  floor,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,
  logical_or,
  logical_not,
  select,
  gated_mul,  // a * b, but 0 where a is 0 whatever b is: keeps the NaN of a branch not taken out of a
              // gradient
};

struct OpInfo {
  Op op;
  std::string_view name;
  int arity;         // operands that are nodes
  bool commutative;  // bit for bit
};

inline constexpr std::array kOps = {
    OpInfo{Op::constant, "constant", 0, false},
    OpInfo{Op::input, "input", 0, false},
    OpInfo{Op::add, "add", 2, true},
    OpInfo{Op::sub, "sub", 2, false},
    OpInfo{Op::mul, "mul", 2, true},
    OpInfo{Op::div, "div", 2, false},
    OpInfo{Op::neg, "neg", 1, false},
    OpInfo{Op::fma, "fma", 3, false},
    OpInfo{Op::fms, "fms", 3, false},
    OpInfo{Op::fnma, "fnma", 3, false},
    OpInfo{Op::sqrt, "sqrt", 1, false},
    OpInfo{Op::sin, "sin", 1, false},
    OpInfo{Op::cos, "cos", 1, false},
    OpInfo{Op::tan, "tan", 1, false},
    OpInfo{Op::exp, "exp", 1, false},
    OpInfo{Op::expm1, "expm1", 1, false},
    OpInfo{Op::log, "log", 1, false},
    OpInfo{Op::log1p, "log1p", 1, false},
    OpInfo{Op::cbrt, "cbrt", 1, false},
    OpInfo{Op::sinh, "sinh", 1, false},
    OpInfo{Op::cosh, "cosh", 1, false},
    OpInfo{Op::tanh, "tanh", 1, false},
    OpInfo{Op::asin, "asin", 1, false},
    OpInfo{Op::acos, "acos", 1, false},
    OpInfo{Op::atan, "atan", 1, false},
    OpInfo{Op::atan2, "atan2", 2, false},
    OpInfo{Op::pow, "pow", 2, false},
    OpInfo{Op::powi, "powi", 1, false},
    OpInfo{Op::abs, "abs", 1, false},
    OpInfo{Op::sign, "sign", 1, false},
    OpInfo{Op::min, "min", 2, false},
    OpInfo{Op::max, "max", 2, false},
    OpInfo{Op::floor, "floor", 1, false},
    OpInfo{Op::lt, "lt", 2, false},
    OpInfo{Op::le, "le", 2, false},
    OpInfo{Op::gt, "gt", 2, false},
    OpInfo{Op::ge, "ge", 2, false},
    OpInfo{Op::eq, "eq", 2, true},
    OpInfo{Op::ne, "ne", 2, true},
    OpInfo{Op::logical_and, "and", 2, true},
    OpInfo{Op::logical_or, "or", 2, true},
    OpInfo{Op::logical_not, "not", 1, false},
    OpInfo{Op::select, "select", 3, false},
    OpInfo{Op::gated_mul, "gated_mul", 2, false},
};

constexpr const OpInfo& info(Op op) { return kOps[static_cast<std::size_t>(op)]; }

constexpr bool op_table_in_order() {
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    if (static_cast<std::size_t>(kOps[i].op) != i) return false;
  }
  return kOps.size() == static_cast<std::size_t>(Op::gated_mul) + 1;
}
static_assert(op_table_in_order());

// The value is a truth value, 0 or 1.
constexpr bool is_truth(Op op) { return op >= Op::lt && op <= Op::logical_not; }

}  // namespace costate::ad
