#include "costate/ad/builder.h"

#include <bit>
#include <cassert>
#include <utility>

#include "costate/core/error.h"

namespace costate::ad {

std::size_t Builder::Hash::operator()(const Node& n) const {
  std::uint64_t h = static_cast<std::uint64_t>(n.op);
  for (const std::uint64_t word :
       {static_cast<std::uint64_t>(static_cast<std::uint32_t>(n.a)),
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(n.b)),
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(n.c)), std::bit_cast<std::uint64_t>(n.value)}) {
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
  }
  return static_cast<std::size_t>(h);
}

bool Builder::Same::operator()(const Node& x, const Node& y) const {
  return x.op == y.op && x.a == y.a && x.b == y.b && x.c == y.c &&
         std::bit_cast<std::uint64_t>(x.value) == std::bit_cast<std::uint64_t>(y.value);
}

Id Builder::intern(const Node& node) {
  const auto [place, is_new] = known_.try_emplace(node, static_cast<Id>(nodes_.size()));
  if (is_new) nodes_.push_back(node);
  return place->second;
}

Id Builder::input_field(std::string name, int size) {
  if (size < 0) throw Error("input '" + name + "' has a negative size");
  for (const Field& field : inputs_) {
    if (field.name == name) throw Error("input '" + name + "' is declared twice");
  }
  const Id first = static_cast<Id>(nodes_.size());
  for (int i = 0; i < size; ++i)
    intern({Op::input, kNone, kNone, kNone, static_cast<double>(input_count_++)});
  inputs_.push_back({std::move(name), size});
  return first;
}

void Builder::output_field(std::string name, std::span<const Id> elements) {
  for (const Field& field : outputs_) {
    if (field.name == name) throw Error("output '" + name + "' is declared twice");
  }
  output_ids_.insert(output_ids_.end(), elements.begin(), elements.end());
  outputs_.push_back({std::move(name), static_cast<int>(elements.size())});
}

Id Builder::constant(double value) { return intern({Op::constant, kNone, kNone, kNone, value}); }

bool Builder::is_constant(Id id, double value) const {
  return is_constant(id) &&
         std::bit_cast<std::uint64_t>(node(id).value) == std::bit_cast<std::uint64_t>(value);
}

Id Builder::make(Node node) {
  for (int i = 0; i < info(node.op).arity; ++i) {
    assert(node.operand(i) >= 0 && static_cast<std::size_t>(node.operand(i)) < nodes_.size());
  }
  if (const Id known = simplified(node); known != kNone) return known;
  if (info(node.op).commutative && node.a > node.b) std::swap(node.a, node.b);
  return intern(node);
}

Program Builder::finish() const {
  std::vector<bool> needed(nodes_.size(), false);
  for (const Id id : output_ids_) needed[id] = true;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (int k = 0; k < info(nodes_[i].op).arity; ++k) needed[nodes_[i].operand(k)] = true;
  }
  std::vector<Node> kept;
  std::vector<Id> place(nodes_.size(), kNone);
  const auto moved = [&](Id id) { return id == kNone ? kNone : place[id]; };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!needed[i]) continue;
    place[i] = static_cast<Id>(kept.size());
    const Node& n = nodes_[i];
    kept.push_back({n.op, moved(n.a), moved(n.b), moved(n.c), n.value});
  }
  std::vector<Id> outputs;
  for (const Id id : output_ids_) outputs.push_back(moved(id));
  return Program(std::move(kept), inputs_, outputs_, std::move(outputs));
}

}  // namespace costate::ad
