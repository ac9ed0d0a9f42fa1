// The Jacobian row by row: a backward pass per output with cotangent 1. Rows share the values of the program
// itself and any common subexpression, and a row visits only what its output depends on.
#include <algorithm>

#include "costate/ad/derivative.h"
#include "costate/ad/reverse_sweep.h"

namespace costate::ad {

std::size_t Sparsity::nonzeros() const {
  std::size_t count = 0;
  for (const std::vector<int>& row : columns_of_row) count += row.size();
  return count;
}

Sparsity sparsity(const Program& program) {
  const std::vector<Node>& nodes = program.nodes();
  const std::vector<bool> varied =
      varied_nodes(program, std::vector<bool>(program.input_fields().size(), true));
  Sparsity pattern{program.output_count(), program.input_count(), {}};
  // A backward search per output: memory stays linear in the size of the program.
  std::vector<std::size_t> reached_by(nodes.size(), 0);
  std::size_t pass = 0;
  for (const Id output : program.outputs()) {
    ++pass;
    std::vector<int> columns;
    std::vector<Id> pending{output};
    while (!pending.empty()) {
      const std::size_t i = pending.back();
      pending.pop_back();
      if (!varied[i] || reached_by[i] == pass) continue;
      reached_by[i] = pass;
      if (nodes[i].op == Op::input) columns.push_back(static_cast<int>(nodes[i].value));
      for (int k = nodes[i].op == Op::select ? 1 : 0; k < info(nodes[i].op).arity; ++k) {
        pending.push_back(nodes[i].operand(k));
      }
    }
    std::sort(columns.begin(), columns.end());
    pattern.columns_of_row.push_back(std::move(columns));
  }
  return pattern;
}

Jacobian jacobian(const Program& program, const DerivativeOptions& options) {
  const std::vector<bool> active = active_fields(program, options);
  Builder builder;
  ReverseSweep sweep(builder, program, active);
  const Id one = builder.constant(1);

  Jacobian result;
  result.rows = program.output_count();
  std::vector<Id> entries;
  for (int r = 0; r < result.rows; ++r) {
    std::vector<Id> output_bar(result.rows, kNone);
    output_bar[r] = one;
    const std::vector<Id> input_bar = sweep.run(output_bar);
    int column = 0;
    for (std::size_t f = 0; f < active.size(); ++f) {
      if (!active[f]) continue;
      for (int i = 0; i < program.input_fields()[f].size; ++i, ++column) {
        const Id entry = input_bar[program.input_offset(static_cast<int>(f)) + i];
        if (entry == kNone) continue;
        entries.push_back(entry);
        result.row.push_back(r);
        result.column.push_back(column);
      }
    }
    result.columns = column;
  }
  builder.output_field("jacobian", entries);
  result.program = builder.finish();
  return result;
}

}  // namespace costate::ad
