#include "costate/ad/record.h"

#include "costate/ad/executable.h"
#include "costate/core/error.h"

namespace costate::ad {

Var Var::record_op(Op op, Var a) { return record_op(op, a, Var(), Var()); }
Var Var::record_op(Op op, Var a, Var b) { return record_op(op, a, b, Var()); }

Var Var::record_op(Op op, Var a, Var b, Var c) {
  Builder* builder = nullptr;
  for (const Var& v : {a, b, c}) {
    if (v.builder_ == nullptr) continue;
    if (builder != nullptr && builder != v.builder_) {
      throw Error("values of two different recordings meet in one expression");
    }
    builder = v.builder_;
  }
  if (builder == nullptr) return apply<double>(op, a.value_, b.value_, c.value_);
  const int arity = info(op).arity;
  const Id first = a.id_in(*builder);
  const Id second = arity > 1 ? b.id_in(*builder) : kNone;
  const Id third = arity > 2 ? c.id_in(*builder) : kNone;
  return {*builder, builder->make({op, first, second, third, 0})};
}

Var Var::record_power(Var a, int exponent) {
  if (a.builder_ == nullptr) return apply<double>(Op::powi, a.value_, exponent, 0);
  return {*a.builder_, a.builder_->powi(a.id_, exponent)};
}

}  // namespace costate::ad
