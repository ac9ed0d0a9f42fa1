#include "costate/ad/program.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate::ad {
namespace {

int find_field(const std::vector<Field>& fields, std::string_view name, const char* kind) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
    names.push_back(fields[i].name);
  }
  std::string known;
  for (const std::string& n : names) known += (known.empty() ? "" : ", ") + n;
  const std::string near = nearest_name(name, names);
  throw Error(
      {"the program has no " + std::string(kind) + " '" + std::string(name) + "'", "",
       (near.empty() ? "" : "did you mean '" + near + "'? ") + std::string(kind) + "s are: " + known});
}

std::vector<int> offsets(const std::vector<Field>& fields) {
  std::vector<int> offset;
  int total = 0;
  for (const Field& field : fields) {
    offset.push_back(total);
    total += field.size;
  }
  return offset;
}

}  // namespace

Program::Program(std::vector<Node> nodes, std::vector<Field> input_fields, std::vector<Field> output_fields,
                 std::vector<Id> outputs)
    : nodes_(std::move(nodes)),
      input_fields_(std::move(input_fields)),
      output_fields_(std::move(output_fields)),
      input_offsets_(offsets(input_fields_)),
      output_offsets_(offsets(output_fields_)),
      outputs_(std::move(outputs)) {
  for (const Field& field : input_fields_) input_count_ += field.size;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (int k = 0; k < info(nodes_[i].op).arity; ++k) {
      assert(nodes_[i].operand(k) >= 0 && static_cast<std::size_t>(nodes_[i].operand(k)) < i);
    }
  }
}

int Program::input_field(std::string_view name) const { return find_field(input_fields_, name, "input"); }
int Program::output_field(std::string_view name) const { return find_field(output_fields_, name, "output"); }

}  // namespace costate::ad
