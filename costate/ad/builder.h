// Builder: makes a Program node by node, and keeps it small while doing so.
//
// - Common subexpressions: a node that exists already is returned instead of made again (hash consing).
// - Constant folding: with the interpreter's own functions, in double. A constant expression that would raise
//   "invalid" or "divide by zero" (1/0, log(-1)) is left to run time.
// - Identities that are exact in IEEE arithmetic for every x, signed zeros, infinities and NaN included:
//     x*1, x/1, x-0, x+(-0) -> x       x*(-1), x/(-1), (-0)-x -> -x      -(-x) -> x
//     x+(-y) -> x-y, x-(-y) -> x+y     x/2^k -> x*2^-k                   (-x)*y -> -(x*y), (-x)/y -> -(x/y)
//     select(true, a, b) -> a, select(c, a, a) -> a
//   x+0, x*0 and x-x stay: they differ from x, 0 and 0 for x = -0, infinity or NaN.
// - Powers with a constant integer exponent become products (2, 3, 4), reciprocals (-1) or powi.
// - Dead code: finish() keeps what the outputs need.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "costate/ad/program.h"

namespace costate::ad {

class Builder {
 public:
  // Declares an input field; returns the node of its first element, the others follow.
  Id input_field(std::string name, int size = 1);
  // Declares an output field.
  void output_field(std::string name, std::span<const Id> elements);

  Id constant(double value);
  Id unary(Op op, Id a) { return make({op, a, kNone, kNone, 0}); }
  Id binary(Op op, Id a, Id b) { return make({op, a, b, kNone, 0}); }
  Id ternary(Op op, Id a, Id b, Id c) { return make({op, a, b, c, 0}); }
  Id powi(Id a, int exponent);
  // A node whose operands are already nodes of this builder.
  Id make(Node node);

  const Node& node(Id id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  bool is_constant(Id id) const { return node(id).op == Op::constant; }
  bool is_constant(Id id, double value) const;  // bit for bit, so that 0 and -0 differ

  // The program of everything declared so far.
  Program finish() const;

 private:
  struct Hash {
    std::size_t operator()(const Node& n) const;
  };
  struct Same {
    bool operator()(const Node& x, const Node& y) const;
  };
  Id simplified(Node& node);  // an existing node that equals it, or kNone; may rewrite the node
  Id fold(const Node& node);
  Id intern(const Node& node);

  std::vector<Node> nodes_;
  std::unordered_map<Node, Id, Hash, Same> known_;
  std::vector<Field> inputs_, outputs_;
  std::vector<Id> output_ids_;
  int input_count_ = 0;
};

}  // namespace costate::ad
