#include "costate/ad/layered.h"

#include "costate/ad/builder.h"
#include "costate/core/error.h"

namespace costate::ad {
namespace {

Id copy_of(const Node& n, const std::vector<Id>& place, Builder& builder) {
  const auto moved = [&](Id id) { return id == kNone ? kNone : place[id]; };
  if (n.op == Op::constant) return builder.constant(n.value);
  return builder.make({n.op, moved(n.a), moved(n.b), moved(n.c), n.value});
}

// The field that an element of all inputs belongs to.
std::vector<int> field_of_element(const Program& program) {
  std::vector<int> fields;
  for (std::size_t f = 0; f < program.input_fields().size(); ++f)
    fields.insert(fields.end(), static_cast<std::size_t>(program.input_fields()[f].size),
                  static_cast<int>(f));
  return fields;
}

}  // namespace

std::string product_field(std::size_t k) { return "dense/" + std::to_string(k); }
std::string vector_field(std::size_t k) { return product_field(k) + "/in"; }

// Nodes are walked in an order in which every product stands after its vector: results are inputs, which
// stand first in the program, so each is made when a node first asks for it.
Program expand(const LayeredProgram& layered) {
  if (layered.products.empty()) return layered.program;
  const Program& program = layered.program;
  const std::vector<Node>& nodes = program.nodes();
  const std::vector<int> field_of = field_of_element(program);
  Builder builder;
  std::vector<Id> first_of(program.input_fields().size(), kNone);
  std::vector<int> product_of(program.input_fields().size(), -1);
  for (std::size_t k = 0; k < layered.products.size(); ++k)
    product_of[program.input_field(product_field(k))] = static_cast<int>(k);
  for (std::size_t f = 0; f < first_of.size(); ++f) {
    const Field& field = program.input_fields()[f];
    if (product_of[f] < 0) first_of[f] = builder.input_field(field.name, field.size);
  }

  std::vector<std::vector<Id>> results(layered.products.size());
  std::vector<Id> place(nodes.size(), kNone);
  const auto product = [&](std::size_t k) -> const std::vector<Id>& {
    if (!results[k].empty()) return results[k];
    const DenseProduct& d = layered.products[k];
    const Id weights = first_of[program.input_field(d.weights)];
    const int vector = program.output_offset(program.output_field(vector_field(k)));
    for (int i = 0; i < d.rows; ++i) {
      Id sum = kNone;
      for (int j = 0; j < d.columns; ++j) {
        const Id e = place[program.outputs()[vector + j]];
        if (e == kNone) throw Error("a product of a layered program is used before its vector is computed");
        const Id term = builder.binary(Op::mul, weights + d.place(i, j), e);
        sum = sum == kNone ? term : builder.binary(Op::add, sum, term);
      }
      results[k].push_back(sum);
    }
    return results[k];
  };
  // Inputs are looked up when they are used: that of a product may stand before its vector.
  const auto value = [&](Id id) {
    if (place[id] != kNone || nodes[id].op != Op::input) return place[id];
    const std::size_t element = nodes[id].value;
    const std::size_t field = field_of[element];
    const int within = static_cast<int>(element) - program.input_offset(static_cast<int>(field));
    place[id] = product_of[field] < 0 ? first_of[field] + within
                                      : product(static_cast<std::size_t>(product_of[field]))[within];
    return place[id];
  };
  // A vector may be an input itself: those of plain fields are known from the start.
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op == Op::input && product_of[field_of[nodes[i].value]] < 0) value(static_cast<Id>(i));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op == Op::input) continue;
    for (int k = 0; k < info(nodes[i].op).arity; ++k) value(nodes[i].operand(k));
    place[i] = copy_of(nodes[i], place, builder);
  }
  for (std::size_t f = 0; f < program.output_fields().size() - layered.products.size(); ++f) {
    std::vector<Id> elements;
    for (int i = 0; i < program.output_fields()[f].size; ++i)
      elements.push_back(value(program.outputs()[program.output_offset(static_cast<int>(f)) + i]));
    builder.output_field(program.output_fields()[f].name, elements);
  }
  return builder.finish();
}

Program part(const Program& program, const std::vector<int>& output_fields) {
  const std::vector<Node>& nodes = program.nodes();
  const std::vector<int> field_of = field_of_element(program);
  std::vector<bool> needed(nodes.size(), false), read(program.input_fields().size(), false);
  for (const int f : output_fields) {
    for (int i = 0; i < program.output_fields()[f].size; ++i)
      needed[program.outputs()[program.output_offset(f) + i]] = true;
  }
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (int k = 0; k < info(nodes[i].op).arity; ++k) needed[nodes[i].operand(k)] = true;
    if (nodes[i].op == Op::input) read[field_of[nodes[i].value]] = true;
  }
  Builder builder;
  std::vector<Id> first_of(read.size(), kNone), place(nodes.size(), kNone);
  for (std::size_t f = 0; f < read.size(); ++f) {
    const Field& field = program.input_fields()[f];
    if (read[f]) first_of[f] = builder.input_field(field.name, field.size);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!needed[i]) continue;
    if (nodes[i].op != Op::input) {
      place[i] = copy_of(nodes[i], place, builder);
      continue;
    }
    const auto element = static_cast<int>(nodes[i].value);
    const int field = field_of[element];
    place[i] = first_of[field] + element - program.input_offset(field);
  }
  for (const int f : output_fields) {
    std::vector<Id> elements;
    for (int i = 0; i < program.output_fields()[f].size; ++i)
      elements.push_back(place[program.outputs()[program.output_offset(f) + i]]);
    builder.output_field(program.output_fields()[f].name, elements);
  }
  return builder.finish();
}

Program assume(const Program& program, int output_field) {
  const std::vector<Node>& nodes = program.nodes();
  Builder builder;
  std::vector<Id> inputs, place(nodes.size(), kNone);
  for (const Field& field : program.input_fields()) {
    const Id first = builder.input_field(field.name, field.size);
    for (int i = 0; i < field.size; ++i) inputs.push_back(first + i);
  }
  const Field& known = program.output_fields()[output_field];
  const Id first = builder.input_field(known.name, known.size);
  const auto output = [&](int field, int i) {
    return static_cast<std::size_t>(program.outputs()[program.output_offset(field) + i]);
  };
  // Inputs and constants are at hand anyway.
  for (int i = 0; i < known.size; ++i) {
    const std::size_t node = output(output_field, i);
    if (info(nodes[node].op).arity > 0) place[node] = first + i;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (place[i] != kNone) continue;
    place[i] = nodes[i].op == Op::input ? inputs[nodes[i].value] : copy_of(nodes[i], place, builder);
  }
  for (int f = 0; f < static_cast<int>(program.output_fields().size()); ++f) {
    if (f == output_field) continue;
    const Field& field = program.output_fields()[f];
    std::vector<Id> elements;
    for (int i = 0; i < field.size; ++i) elements.push_back(place[output(f, i)]);
    builder.output_field(field.name, elements);
  }
  return builder.finish();
}

std::optional<Program> arguments_of(const Program& program, Op op) {
  const std::vector<Node>& nodes = program.nodes();
  const auto node_of = [&](Id id) -> const Node& { return nodes[id]; };
  for (const Id id : program.outputs()) {
    if (node_of(id).op != op) return std::nullopt;
  }
  Builder builder;
  std::vector<Id> inputs, place;
  for (const Field& field : program.input_fields()) {
    const Id first = builder.input_field(field.name, field.size);
    for (int i = 0; i < field.size; ++i) inputs.push_back(first + i);
  }
  for (const Node& n : nodes)
    place.push_back(n.op == Op::input ? inputs[n.value] : copy_of(n, place, builder));
  std::vector<int> all;
  for (int f = 0; f < static_cast<int>(program.output_fields().size()); ++f) {
    std::vector<Id> elements;
    for (int i = 0; i < program.output_fields()[f].size; ++i) {
      const Id id = program.outputs()[program.output_offset(f) + i];
      elements.push_back(place[node_of(id).a]);
    }
    builder.output_field(program.output_fields()[f].name, elements);
    all.push_back(f);
  }
  return part(builder.finish(), all);
}

}  // namespace costate::ad
