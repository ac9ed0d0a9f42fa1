// What an instruction computes for one world, on the CPU and on a GPU: interpret.cpp, cuda/program_thread.h.
// Functions of the math library are the caller's, since each has its own.
#pragma once

#include <cmath>

#include "costate/ad/executable.h"
#include "costate/core/functions.h"

namespace costate::ad {

template <class T, class Function>
COSTATE_HD COSTATE_INLINE T arithmetic(const Instruction& i, T a, T b, T c, const Function& function) {
  switch (i.op) {
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
    case Op::abs:
      return std::fabs(a);
    case Op::sign:
      return costate::sign(a);
    case Op::min:
      return costate::min(a, b);
    case Op::max:
      return costate::max(a, b);
    case Op::floor:
      return std::floor(a);
    case Op::lt:
      return T(a < b);
    case Op::le:
      return T(a <= b);
    case Op::gt:
      return T(a > b);
    case Op::ge:
      return T(a >= b);
    case Op::eq:
      return T(a == b);
    case Op::ne:
      return T(a != b);
    case Op::logical_and:
      return T(a != 0 && b != 0);
    case Op::logical_or:
      return T(a != 0 || b != 0);
    case Op::logical_not:
      return T(a == 0);
    case Op::select:
      return a != 0 ? b : c;
    case Op::gated_mul:
      return a * (a == 0 ? T(0) : b);
    default:
      return function(i, a, b);
  }
}

}  // namespace costate::ad
