// Reverse mode: from the last node to the first, each node hands its cotangent to its operands.
#include "costate/ad/derivative.h"
#include "costate/ad/derivative_rules.h"
#include "costate/ad/reverse_sweep.h"

namespace costate::ad {

ReverseSweep::ReverseSweep(Builder& builder, const Program& program, const std::vector<bool>& active)
    : builder_(builder),
      program_(program),
      primal_(copy_into(builder, program)),
      varied_(varied_nodes(program, active)),
      gated_(program.nodes().size(), false) {
  // A node is gated if some of its cotangent comes through a branch.
  for (std::size_t i = program.nodes().size(); i-- > 0;) {
    const Node& n = program.nodes()[i];
    for (int k = 0; k < info(n.op).arity; ++k) {
      if (gated_[i] || gates_operand(n.op, k)) gated_[n.operand(k)] = true;
    }
  }
}

std::vector<Id> ReverseSweep::run(const std::vector<Id>& output_bar) {
  const std::vector<Node>& nodes = program_.nodes();
  std::vector<Id> bar(nodes.size(), kNone);
  const auto receive = [&](Id node, Id contribution) {
    Id& sum = bar[node];
    sum = sum == kNone ? contribution : builder_.binary(Op::add, sum, contribution);
  };
  for (std::size_t k = 0; k < output_bar.size(); ++k) {
    if (output_bar[k] != kNone) receive(program_.outputs()[k], output_bar[k]);
  }
  std::vector<Id> input_bar(program_.input_count(), kNone);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (bar[i] == kNone || !varied_[i]) continue;
    if (nodes[i].op == Op::input) input_bar[nodes[i].value] = bar[i];
    for (int k = 0; k < info(nodes[i].op).arity; ++k) {
      if (!varied_[nodes[i].operand(k)]) continue;
      const Id contribution =
          cotangent(builder_, primal_.operation[i], primal_.value[i], k, bar[i], gated_[i]);
      if (contribution != kNone) receive(nodes[i].operand(k), contribution);
    }
  }
  return input_bar;
}

Program vjp(const Program& program, const DerivativeOptions& options) {
  const std::vector<bool> active = active_fields(program, options);
  Builder builder;
  ReverseSweep sweep(builder, program, active);
  std::vector<Id> output_bar;
  for (const Field& field : program.output_fields()) {
    const Id first = builder.input_field(field.name + "_bar", field.size);
    for (int i = 0; i < field.size; ++i) output_bar.push_back(first + i);
  }
  const std::vector<Id> input_bar = sweep.run(output_bar);

  if (options.with_outputs) {
    std::vector<Id> values;
    for (const Id id : program.outputs()) values.push_back(sweep.value(id));
    declare_outputs(builder, program, "", values);
  }
  for (std::size_t f = 0; f < active.size(); ++f) {
    if (!active[f]) continue;
    const Field& field = program.input_fields()[f];
    std::vector<Id> elements;
    for (int i = 0; i < field.size; ++i) {
      const Id bar = input_bar[program.input_offset(static_cast<int>(f)) + i];
      elements.push_back(bar == kNone ? builder.constant(0) : bar);
    }
    builder.output_field(field.name + "_bar", elements);
  }
  return builder.finish();
}

}  // namespace costate::ad
