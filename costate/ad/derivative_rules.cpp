#include "costate/ad/derivative_rules.h"

#include <cassert>

namespace costate::ad {
namespace {

// a op b on nodes, so that the rules below read like the formulas.
struct Expression {
  Builder* builder;
  Id id;

  friend Expression operator+(Expression x, Expression y) {
    return {x.builder, x.builder->binary(Op::add, x.id, y.id)};
  }
  friend Expression operator-(Expression x, Expression y) {
    return {x.builder, x.builder->binary(Op::sub, x.id, y.id)};
  }
  friend Expression operator*(Expression x, Expression y) {
    return {x.builder, x.builder->binary(Op::mul, x.id, y.id)};
  }
  friend Expression operator/(Expression x, Expression y) {
    return {x.builder, x.builder->binary(Op::div, x.id, y.id)};
  }
  friend Expression operator-(Expression x) { return {x.builder, x.builder->unary(Op::neg, x.id)}; }
};

}  // namespace

Id partial(Builder& builder, const Node& n, Id y_id, int which) {
  const Expression a{&builder, n.a}, b{&builder, n.b}, y{&builder, y_id};
  const auto number = [&](double value) { return Expression{&builder, builder.constant(value)}; };
  const auto call = [&](Op op, Expression x) { return Expression{&builder, builder.unary(op, x.id)}; };
  const Expression one = number(1);
  switch (n.op) {
    case Op::add:
      return one.id;
    case Op::sub:
      return number(which == 0 ? 1 : -1).id;
    case Op::mul:
      return which == 0 ? b.id : a.id;
    case Op::div:
      return which == 0 ? (one / b).id : (-(y * (one / b))).id;
    case Op::neg:
      return number(-1).id;
    case Op::fma:
      return which == 0 ? b.id : which == 1 ? a.id : one.id;
    case Op::fms:
      return which == 0 ? b.id : which == 1 ? a.id : number(-1).id;
    case Op::fnma:
      return which == 0 ? (-b).id : which == 1 ? (-a).id : one.id;
    case Op::sqrt:
      return (number(0.5) / y).id;
    case Op::sin:
      return call(Op::cos, a).id;
    case Op::cos:
      return (-call(Op::sin, a)).id;
    case Op::tan:
      return (one + y * y).id;
    case Op::exp:
      return y.id;
    case Op::expm1:  // y + 1 would lose the slope of very negative a
      return call(Op::exp, a).id;
    case Op::log1p:
      return (one / (one + a)).id;
    case Op::cbrt:
      return (one / (number(3) * (y * y))).id;
    case Op::log:
      return (one / a).id;
    case Op::sinh:
      return call(Op::cosh, a).id;
    case Op::cosh:
      return call(Op::sinh, a).id;
    case Op::tanh:
      return (one - y * y).id;
    // (1 - a)(1 + a) keeps its digits near |a| = 1, where 1 - a*a loses them.
    case Op::asin:
      return (one / call(Op::sqrt, (one - a) * (one + a))).id;
    case Op::acos:
      return (-(one / call(Op::sqrt, (one - a) * (one + a)))).id;
    case Op::atan:
      return (one / (one + a * a)).id;
    case Op::atan2: {
      const Expression squared = a * a + b * b;
      const Id origin = builder.binary(Op::eq, squared.id, number(0).id);
      const Expression safe{&builder, builder.ternary(Op::select, origin, one.id, squared.id)};
      return which == 0 ? (b / safe).id : (-(a / safe)).id;
    }
    case Op::pow: {
      const auto choose = [&](Id condition, Expression x, Expression z) {
        return Expression{&builder, builder.ternary(Op::select, condition, x.id, z.id)};
      };
      if (which == 0) {  // y x^(y-1); 0 for y = 0, where x^(y-1) may be infinite
        const Id none = builder.binary(Op::eq, b.id, number(0).id);
        const Expression less = choose(none, one, b - one);
        return choose(none, number(0), b * Expression{&builder, builder.binary(Op::pow, a.id, less.id)}).id;
      }
      // x^y log x; 0 where log x is infinite or not real, without taking it.
      const Id positive = builder.binary(Op::gt, a.id, number(0).id);
      return choose(positive, y * call(Op::log, choose(positive, a, one)), number(0)).id;
    }
    case Op::powi: {
      const int k = static_cast<int>(n.value);
      return (number(k) * Expression{&builder, builder.powi(a.id, k - 1)}).id;
    }
    case Op::abs:
      return call(Op::sign, a).id;
    case Op::select:
    case Op::min:
    case Op::max:
    case Op::gated_mul:
      assert(false);
      return kNone;
    case Op::constant:
    case Op::input:
    case Op::sign:
    case Op::floor:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not:
      return kNone;
  }
  return kNone;
}

namespace {

// 1 where the second operand of min or max is the result; a tie is the first's.
Id takes_second(Builder& builder, const Node& n, Id y) { return builder.binary(Op::ne, y, n.a); }

}  // namespace

bool gates_operand(Op op, int which) {
  switch (op) {
    case Op::select:
      return which > 0;
    case Op::min:
    case Op::max:
    case Op::gated_mul:
      return true;
    default:
      return false;
  }
}

Id tangent(Builder& builder, const Node& n, Id y, const Id operand_dot[3]) {
  const auto or_zero = [&](Id id) { return id == kNone ? builder.constant(0) : id; };
  switch (n.op) {
    case Op::select:
      if (operand_dot[1] == kNone && operand_dot[2] == kNone) return kNone;
      return builder.ternary(Op::select, n.a, or_zero(operand_dot[1]), or_zero(operand_dot[2]));
    case Op::min:
    case Op::max:
      if (operand_dot[0] == kNone && operand_dot[1] == kNone) return kNone;
      return builder.ternary(Op::select, takes_second(builder, n, y), or_zero(operand_dot[1]),
                             or_zero(operand_dot[0]));
    default:
      break;
  }
  Id sum = kNone;
  for (int k = 0; k < info(n.op).arity; ++k) {
    if (operand_dot[k] == kNone) continue;
    Id term = kNone;
    if (n.op == Op::gated_mul) {
      term = k == 0 ? builder.binary(Op::gated_mul, operand_dot[0], n.b)
                    : builder.binary(Op::gated_mul, n.a, operand_dot[1]);
    } else {
      const Id slope = partial(builder, n, y, k);
      if (slope == kNone) continue;
      term = builder.binary(Op::mul, slope, operand_dot[k]);
    }
    sum = sum == kNone ? term : builder.binary(Op::add, sum, term);
  }
  return sum;
}

Id cotangent(Builder& builder, const Node& n, Id y, int which, Id y_bar, bool gated) {
  switch (n.op) {
    case Op::select: {
      const Id zero = builder.constant(0);
      if (which == 0) return kNone;
      return which == 1 ? builder.ternary(Op::select, n.a, y_bar, zero)
                        : builder.ternary(Op::select, n.a, zero, y_bar);
    }
    case Op::min:
    case Op::max: {
      const Id zero = builder.constant(0);
      const Id second = takes_second(builder, n, y);
      return which == 0 ? builder.ternary(Op::select, second, zero, y_bar)
                        : builder.ternary(Op::select, second, y_bar, zero);
    }
    case Op::gated_mul:
      return which == 0 ? builder.binary(Op::gated_mul, y_bar, n.b)
                        : builder.binary(Op::gated_mul, n.a, y_bar);
    default:
      break;
  }
  const Id slope = partial(builder, n, y, which);
  if (slope == kNone) return kNone;
  return builder.binary(gated ? Op::gated_mul : Op::mul, y_bar, slope);
}

namespace {

Copy copy_with(Builder& builder, const Program& program, const std::vector<Id>& inputs) {
  Copy copy;
  const auto copied = [&](Id id) { return id == kNone ? kNone : copy.value[id]; };
  for (const Node& n : program.nodes()) {
    copy.operation.push_back({n.op, copied(n.a), copied(n.b), copied(n.c), n.value});
    if (n.op == Op::input) {
      copy.value.push_back(inputs[n.value]);
    } else if (n.op == Op::constant) {
      copy.value.push_back(builder.constant(n.value));
    } else {
      copy.value.push_back(builder.make(copy.operation.back()));
    }
  }
  return copy;
}

}  // namespace

Copy copy_into(Builder& builder, const Program& program) {
  std::vector<Id> inputs;
  for (const Field& field : program.input_fields()) {
    const Id first = builder.input_field(field.name, field.size);
    for (int i = 0; i < field.size; ++i) inputs.push_back(first + i);
  }
  return copy_with(builder, program, inputs);
}

Id splice(Builder& builder, const Program& program, const std::vector<Id>& inputs) {
  return copy_with(builder, program, inputs).value[program.outputs().front()];
}

void declare_outputs(Builder& builder, const Program& program, const std::string& suffix,
                     const std::vector<Id>& elements) {
  std::size_t first = 0;
  for (const Field& field : program.output_fields()) {
    builder.output_field(field.name + suffix,
                         std::span(elements).subspan(first, static_cast<std::size_t>(field.size)));
    first += static_cast<std::size_t>(field.size);
  }
}

std::vector<bool> active_fields(const Program& program, const DerivativeOptions& options) {
  std::vector<bool> active(program.input_fields().size(), options.active.empty());
  for (const std::string& name : options.active) {
    active[program.input_field(name)] = true;
  }
  return active;
}

std::vector<bool> varied_nodes(const Program& program, const std::vector<bool>& active) {
  std::vector<bool> active_element;
  for (std::size_t f = 0; f < active.size(); ++f) {
    active_element.insert(active_element.end(), static_cast<std::size_t>(program.input_fields()[f].size),
                          active[f]);
  }
  std::vector<bool> varied;
  varied.reserve(program.nodes().size());
  for (const Node& n : program.nodes()) {
    bool is_varied = n.op == Op::input && active_element[n.value];
    const bool flat = n.op == Op::sign || n.op == Op::floor || is_truth(n.op);
    for (int k = n.op == Op::select ? 1 : 0; k < info(n.op).arity && !flat; ++k) {
      is_varied = is_varied || varied[n.operand(k)];
    }
    varied.push_back(is_varied);
  }
  return varied;
}

}  // namespace costate::ad
