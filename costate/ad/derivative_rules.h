// The calculus of a Program: for each operation its partial derivatives, as nodes.
#pragma once

#include <vector>

#include "costate/ad/builder.h"
#include "costate/ad/derivative.h"

namespace costate::ad {

// Below, n is an operation on nodes of the builder and y the node of its value. The builder may have
// simplified the operation into another one, so y's own operands can differ from n's.

// dy/d(operand `which`); kNone if it is 0 everywhere. Not for select, min, max and gated_mul, which do not
// multiply.
Id partial(Builder& builder, const Node& n, Id y, int which);

// y_dot from the tangents of the operands (kNone: zero). kNone if zero.
Id tangent(Builder& builder, const Node& n, Id y, const Id operand_dot[3]);

// What operand `which` receives from y_bar; kNone if nothing. `gated`: y_bar may be the zero of a branch not
// taken.
Id cotangent(Builder& builder, const Node& n, Id y, int which, Id y_bar, bool gated);

// Nodes whose operands get the cotangent of a branch: a branch not taken hands zeros to them.
bool gates_operand(Op op, int which);

// A program copied into a builder, with its inputs declared.
struct Copy {
  std::vector<Id> value;        // the new node of each old one
  std::vector<Node> operation;  // each old node, its operands replaced by new ones
};
Copy copy_into(Builder& builder, const Program& program);
// The same with given nodes in the place of its inputs, one per number of them. Returns its first output.
Id splice(Builder& builder, const Program& program, const std::vector<Id>& inputs);
// Declares output fields named as the program's plus a suffix; `elements` has one node per output.
void declare_outputs(Builder& builder, const Program& program, const std::string& suffix,
                     const std::vector<Id>& elements);

// For each input field: is it active? Error for an unknown name.
std::vector<bool> active_fields(const Program& program, const DerivativeOptions& options);
// For each node: does it depend on an active input in a way that has a derivative?
std::vector<bool> varied_nodes(const Program& program, const std::vector<bool>& active);

}  // namespace costate::ad
