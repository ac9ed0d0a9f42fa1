// From nodes to instructions: products fused into sums, constants and inputs given slots of their own, and
// registers given to the other nodes by linear scan. Code is straight, so a value lives from its node to its
// last use; the register it frees is the next one handed out, while it is still warm. An instruction may
// overwrite an operand that dies in it, since every instruction works element by element.
#include <algorithm>
#include <limits>

#include "costate/ad/allocate.h"
#include "costate/core/error.h"

namespace costate::ad {

StraightCode allocate(const Program& source) {
  const Program program = fuse(source);
  StraightCode code;
  const std::vector<Node>& nodes = program.nodes();
  const std::size_t n = nodes.size();
  for (const Field& field : program.input_fields()) code.input_sizes.push_back(field.size);
  for (const Field& field : program.output_fields()) code.output_sizes.push_back(field.size);
  code.input_slots = static_cast<std::size_t>(program.input_count());

  constexpr std::size_t kForever = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> last_use(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = 0; k < info(nodes[i].op).arity; ++k) last_use[nodes[i].operand(k)] = i;
  }
  for (const Id id : program.outputs()) last_use[id] = kForever;

  std::vector<std::uint32_t> slot(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (nodes[i].op != Op::constant) continue;
    slot[i] = static_cast<std::uint32_t>(code.constants.size());
    code.constants.push_back(nodes[i].value);
  }
  code.constants_float.assign(code.constants.begin(), code.constants.end());
  const std::size_t first_input = code.constants.size(), first_register = code.first_register();

  std::vector<std::uint32_t> free;
  for (std::size_t i = 0; i < n; ++i) {
    const Node& node = nodes[i];
    if (node.op == Op::constant) continue;
    if (node.op == Op::input) {
      slot[i] = static_cast<std::uint32_t>(first_input + static_cast<std::size_t>(node.value));
      continue;
    }
    Instruction instruction{node.op, 0, 0, 0, 0, 0};
    if (node.op == Op::powi) instruction.exponent = static_cast<std::int32_t>(node.value);
    std::uint32_t* const operands[] = {&instruction.a, &instruction.b, &instruction.c};
    const int arity = info(node.op).arity;
    for (int k = 0; k < arity; ++k) *operands[k] = slot[node.operand(k)];
    for (int k = 0; k < arity; ++k) {
      const std::size_t id = node.operand(k);
      if (last_use[id] != i || slot[id] < first_register) continue;
      free.push_back(slot[id]);
      last_use[id] = 0;  // freed once, though an operand may appear twice
    }
    if (free.empty()) free.push_back(static_cast<std::uint32_t>(first_register + code.register_count++));
    instruction.out = slot[i] = free.back();
    free.pop_back();
    code.instructions.push_back(instruction);
  }
  for (const Id id : program.outputs()) code.output_slots.push_back(slot[id]);
  return code;
}

}  // namespace costate::ad
