// Random programs whose values and derivatives stay moderate: every function gets an argument inside its
// domain.
#pragma once

#include <random>
#include <vector>

#include "costate/ad/builder.h"

namespace costate::test {

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed, bool smooth = false) : random_(seed), smooth_(smooth) {}

  ad::Program make(int inputs, int outputs, int operations) {
    using namespace ad;
    builder_ = Builder();
    const Id x = builder_.input_field("x", inputs);
    values_.clear();
    for (int i = 0; i < inputs; ++i) values_.push_back(x + i);
    for (const double c : {0.5, -1.25, 2.0}) values_.push_back(builder_.constant(c));
    for (int i = 0; i < operations; ++i) values_.push_back(operation());
    std::vector<Id> results(values_.end() - outputs, values_.end());
    builder_.output_field("y", results);
    return builder_.finish();
  }

 private:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  ad::Id any() { return values_[static_cast<std::size_t>(below(static_cast<int>(values_.size())))]; }
  ad::Id call(ad::Op op, ad::Id a) { return builder_.unary(op, a); }
  ad::Id call(ad::Op op, ad::Id a, ad::Id b) { return builder_.binary(op, a, b); }
  ad::Id number(double value) { return builder_.constant(value); }
  // In (-1, 1), and at least 1.
  ad::Id bounded(ad::Id a) { return call(ad::Op::tanh, call(ad::Op::mul, number(0.5), a)); }
  ad::Id positive(ad::Id a) { return call(ad::Op::add, number(1), call(ad::Op::mul, bounded(a), a)); }

  ad::Id operation() {
    using ad::Op;
    const ad::Id a = any(), b = any(), c = any();
    switch (below(smooth_ ? 22 : 30)) {
      case 0:
        return call(Op::add, a, bounded(b));
      case 1:
        return call(Op::sub, bounded(a), b);
      case 2:
        return call(Op::mul, bounded(a), b);
      case 3:
        return call(Op::div, a, positive(b));
      case 4:
        return call(Op::neg, a);
      case 5:
        return builder_.ternary(Op::fma, bounded(a), b, c);
      case 6:
        return builder_.ternary(Op::fms, a, bounded(b), c);
      case 7:
        return builder_.ternary(Op::fnma, bounded(a), bounded(b), c);
      case 8:
        return call(Op::sqrt, positive(a));
      case 9:
        return call(Op::sin, a);
      case 10:
        return call(Op::cos, a);
      case 11:
        return call(Op::tan, bounded(a));
      case 12:
        return call(Op::exp, bounded(a));
      case 13:
        return call(Op::log, positive(a));
      case 14:
        return call(Op::sinh, bounded(a));
      case 15:
        return call(Op::cosh, bounded(a));
      case 16:
        return call(Op::asin, call(Op::mul, number(0.75), bounded(a)));
      case 17:
        return call(Op::acos, call(Op::mul, number(0.75), bounded(a)));
      case 18:
        return call(Op::atan, a);
      case 19:
        return call(Op::atan2, a, positive(b));
      case 20:
        return call(Op::pow, positive(a), bounded(b));
      case 21:
        return builder_.powi(positive(a), below(2) == 0 ? -5 : 6);
      case 22:
        return call(Op::abs, a);
      case 23:
        return call(Op::sign, a);
      case 24:
        return call(Op::min, a, b);
      case 25:
        return call(Op::max, a, b);
      case 26:
        return builder_.ternary(Op::select, call(Op::lt, a, b), c, b);
      case 27:
        return builder_.ternary(Op::select, call(Op::logical_and, call(Op::gt, a, b), call(Op::ne, b, c)), a,
                                c);
      case 28:
        return call(Op::mul, call(Op::floor, bounded(a)), b);
      default:
        return call(Op::mul, call(Op::ge, a, b), c);
    }
  }

  std::mt19937 random_;
  bool smooth_;
  ad::Builder builder_;
  std::vector<ad::Id> values_;
};

}  // namespace costate::test
