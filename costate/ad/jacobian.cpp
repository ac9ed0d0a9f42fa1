// The Jacobian row by row: a backward pass per output with cotangent 1. Rows share the values of the program
// itself and any common subexpression, and a row visits only what its output depends on.
#include "costate/ad/derivative.h"
#include "costate/ad/reverse_sweep.h"

namespace costate::ad {

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
