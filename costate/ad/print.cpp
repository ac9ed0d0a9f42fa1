
#include "costate/ad/program.h"
#include "costate/core/text.h"

namespace costate::ad {
namespace {

std::string element(const Field& field, int i) {
  return field.size == 1 ? field.name : field.name + "[" + std::to_string(i) + "]";
}

}  // namespace

std::string to_string(const Program& program) {
  std::vector<std::string> input_names;
  for (const Field& field : program.input_fields()) {
    for (int i = 0; i < field.size; ++i) input_names.push_back(element(field, i));
  }
  const auto name = [&](Id id) {
    const Node& n = program.nodes()[id];
    if (n.op == Op::constant) return exact_number(n.value);
    if (n.op == Op::input) return input_names[n.value];
    return std::string("%").append(std::to_string(id));
  };
  std::string text;
  for (std::size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (info(n.op).arity == 0) continue;
    text.append("%").append(std::to_string(i)).append(" = ").append(info(n.op).name);
    for (int k = 0; k < info(n.op).arity; ++k) text.append(" ").append(name(n.operand(k)));
    if (n.op == Op::powi) text.append(" ").append(exact_number(n.value));
    text += "\n";
  }
  std::size_t k = 0;
  for (const Field& field : program.output_fields()) {
    for (int i = 0; i < field.size; ++i) {
      text.append(element(field, i)).append(" = ").append(name(program.outputs()[k++])).append("\n");
    }
  }
  return text;
}

}  // namespace costate::ad
