// Forward mode: the tangent of every node that depends on an active input, right after the node.
#include "costate/ad/derivative.h"
#include "costate/ad/derivative_rules.h"

namespace costate::ad {

Program jvp(const Program& program, const DerivativeOptions& options) {
  const std::vector<bool> active = active_fields(program, options);
  const std::vector<bool> varied = varied_nodes(program, active);
  Builder builder;
  const Copy primal = copy_into(builder, program);

  std::vector<Id> input_dot(program.input_count(), kNone);
  for (std::size_t f = 0; f < active.size(); ++f) {
    if (!active[f]) continue;
    const Field& field = program.input_fields()[f];
    const Id first = builder.input_field(field.name + "_dot", field.size);
    const int offset = program.input_offset(static_cast<int>(f));
    for (int i = 0; i < field.size; ++i) input_dot[offset + i] = first + i;
  }

  const std::vector<Node>& nodes = program.nodes();
  std::vector<Id> dot(nodes.size(), kNone);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!varied[i]) continue;
    if (nodes[i].op == Op::input) {
      dot[i] = input_dot[nodes[i].value];
      continue;
    }
    Id operand_dot[3] = {kNone, kNone, kNone};
    for (int k = 0; k < info(nodes[i].op).arity; ++k) {
      operand_dot[k] = dot[nodes[i].operand(k)];
    }
    dot[i] = tangent(builder, primal.operation[i], primal.value[i], operand_dot);
  }

  std::vector<Id> values, tangents;
  for (const Id id : program.outputs()) {
    values.push_back(primal.value[id]);
    tangents.push_back(dot[id] == kNone ? builder.constant(0) : dot[id]);
  }
  declare_outputs(builder, program, "", values);
  declare_outputs(builder, program, "_dot", tangents);
  return builder.finish();
}

}  // namespace costate::ad
