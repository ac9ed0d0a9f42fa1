// The rewriting rules of Builder (see builder.h for the list and why others are absent), and multiply-add
// fusion.
#include <cfenv>
#include <cmath>

#include "costate/ad/builder.h"
#include "costate/ad/executable.h"

namespace costate::ad {
namespace {

// 1/x is exact and normal: x is a power of two well inside the range.
bool has_exact_reciprocal(double x) {
  int exponent = 0;
  return std::isfinite(x) && std::abs(std::frexp(x, &exponent)) == 0.5 && std::abs(exponent) < 1000;
}

}  // namespace

Id Builder::fold(const Node& n) {
  const auto value_of = [&](Id id) { return id == kNone ? 0.0 : node(id).value; };
  std::fenv_t saved;
  std::feholdexcept(&saved);  // also holds traps off
  const double second = n.op == Op::powi ? n.value : value_of(n.b);
  const double value = apply<double>(n.op, value_of(n.a), second, value_of(n.c));
  const bool raised = std::fetestexcept(FE_INVALID | FE_DIVBYZERO) != 0;
  std::fesetenv(&saved);
  return raised ? kNone : constant(value);
}

Id Builder::simplified(Node& n) {
  const int arity = info(n.op).arity;
  if (arity == 0) return kNone;
  bool all_constant = true;
  for (int i = 0; i < arity; ++i) all_constant = all_constant && is_constant(n.operand(i));
  if (all_constant) {
    if (const Id folded = fold(n); folded != kNone) return folded;
  }
  const auto is = [&](Id id, double value) { return is_constant(id, value); };
  switch (n.op) {
    case Op::add:
      if (is(n.a, -0.0)) return n.b;
      if (is(n.b, -0.0)) return n.a;
      if (node(n.b).op == Op::neg) return binary(Op::sub, n.a, node(n.b).a);
      if (node(n.a).op == Op::neg) return binary(Op::sub, n.b, node(n.a).a);
      break;
    case Op::sub:
      if (is(n.b, 0.0)) return n.a;
      if (is(n.a, -0.0)) return unary(Op::neg, n.b);
      if (node(n.b).op == Op::neg) return binary(Op::add, n.a, node(n.b).a);
      break;
    case Op::mul:
      if (is(n.a, 1.0)) return n.b;
      if (is(n.b, 1.0)) return n.a;
      if (is(n.a, -1.0)) return unary(Op::neg, n.b);
      if (is(n.b, -1.0)) return unary(Op::neg, n.a);
      if (node(n.a).op == Op::neg && is_constant(n.b)) {
        return binary(Op::mul, node(n.a).a, constant(-node(n.b).value));
      }
      if (node(n.b).op == Op::neg && is_constant(n.a)) {
        return binary(Op::mul, node(n.b).a, constant(-node(n.a).value));
      }
      // A sign that has left the product can join a sum.
      if (node(n.a).op == Op::neg) return unary(Op::neg, binary(Op::mul, node(n.a).a, n.b));
      if (node(n.b).op == Op::neg) return unary(Op::neg, binary(Op::mul, n.a, node(n.b).a));
      break;
    case Op::div:
      if (is(n.b, 1.0)) return n.a;
      if (is(n.b, -1.0)) return unary(Op::neg, n.a);
      if (is_constant(n.b) && has_exact_reciprocal(node(n.b).value)) {
        return binary(Op::mul, n.a, constant(1 / node(n.b).value));
      }
      if (node(n.a).op == Op::neg) return unary(Op::neg, binary(Op::div, node(n.a).a, n.b));
      break;
    case Op::neg:
      if (node(n.a).op == Op::neg) return node(n.a).a;
      break;
    case Op::pow:
      if (is_constant(n.b)) {
        const double y = node(n.b).value;
        if (std::abs(y) <= 1 << 20 && y == std::floor(y)) return powi(n.a, static_cast<int>(y));
      }
      break;
    case Op::powi:
      if (n.value == 1) return n.a;
      if (n.value == 0) return constant(1);
      break;
    case Op::min:
    case Op::max:
      if (n.a == n.b) return n.a;
      break;
    case Op::select:
      if (is_constant(n.a)) return node(n.a).value != 0 ? n.b : n.c;
      if (n.b == n.c) return n.b;
      if (node(n.a).op == Op::logical_not) return ternary(Op::select, node(n.a).a, n.c, n.b);
      break;
    case Op::logical_not:
      if (node(n.a).op == Op::logical_not && is_truth(node(node(n.a).a).op)) return node(n.a).a;
      break;
    case Op::gated_mul:
      if (is_constant(n.a)) return node(n.a).value == 0 ? constant(0) : binary(Op::mul, n.a, n.b);
      if (is_constant(n.b) && std::isfinite(node(n.b).value)) return binary(Op::mul, n.a, n.b);
      break;
    default:
      break;
  }
  return kNone;
}

Id Builder::powi(Id a, int exponent) {
  switch (exponent) {
    case 0:
      return constant(1);  // as std::pow, for NaN too
    case 1:
      return a;
    case 2:
      return binary(Op::mul, a, a);
    case 3:
      return binary(Op::mul, binary(Op::mul, a, a), a);
    case 4: {
      const Id square = binary(Op::mul, a, a);
      return binary(Op::mul, square, square);
    }
    case -1:
      return binary(Op::div, constant(1), a);
    default:
      return make({Op::powi, a, kNone, kNone, static_cast<double>(exponent)});
  }
}

Program fuse(const Program& program) {
  const std::vector<Node>& nodes = program.nodes();
  std::vector<int> uses(nodes.size(), 0);
  for (const Node& n : nodes) {
    for (int k = 0; k < info(n.op).arity; ++k) ++uses[n.operand(k)];
  }
  for (const Id id : program.outputs()) ++uses[id];
  const auto lone_product = [&](Id id) { return nodes[id].op == Op::mul && uses[id] == 1; };
  std::vector<Node> fused = nodes;
  std::vector<bool> absorbed(nodes.size(), false);
  const auto fuse_into = [&](std::size_t i, Op op, Id product, Id other) {
    const Node& p = fused[product];
    fused[i] = {op, p.a, p.b, other, 0};
    absorbed[product] = true;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node n = nodes[i];
    // The later of two products is fused: the earlier one is ready first and becomes the addend.
    if (n.op == Op::add && lone_product(n.b)) {
      fuse_into(i, Op::fma, n.b, n.a);
    } else if (n.op == Op::add && lone_product(n.a)) {
      fuse_into(i, Op::fma, n.a, n.b);
    } else if (n.op == Op::sub && lone_product(n.b)) {
      fuse_into(i, Op::fnma, n.b, n.a);
    } else if (n.op == Op::sub && lone_product(n.a)) {
      fuse_into(i, Op::fms, n.a, n.b);
    }
  }
  std::vector<Node> kept;
  std::vector<Id> place(nodes.size(), kNone);
  const auto moved = [&](Id id) { return id == kNone ? kNone : place[id]; };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (absorbed[i]) continue;
    place[i] = static_cast<Id>(kept.size());
    kept.push_back({fused[i].op, moved(fused[i].a), moved(fused[i].b), moved(fused[i].c), fused[i].value});
  }
  std::vector<Id> outputs;
  for (const Id id : program.outputs()) outputs.push_back(moved(id));
  return Program(std::move(kept), program.input_fields(), program.output_fields(), std::move(outputs));
}

}  // namespace costate::ad
