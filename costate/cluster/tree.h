// The order in which blocks are added: a binary tree over their numbers.
//
//   node (level, index) covers the blocks [index 2^level, (index + 1) 2^level), as far as there are blocks
//   sum of a node = sum of its lower half + sum of its upper half; a half without blocks adds nothing
//
// The tree depends on the number of blocks alone. Whoever computes a node, in whatever order nodes arrive,
// the root has the same bits. A worker may add up a node before it sends it, so a contiguous range of blocks
// is at most 2 log2(blocks) nodes.
// Tests: tests/cluster/tree_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "costate/cluster/part.h"

namespace costate::cluster {

struct Node {
  int level = 0;
  std::int64_t index = 0;

  auto operator<=>(const Node&) const = default;
  std::int64_t first() const { return index << level; }
  // One past the last block, of so many.
  std::int64_t end(std::int64_t blocks) const;
  std::int64_t count(std::int64_t blocks) const { return end(blocks) - first(); }
  Node lower() const { return {level - 1, 2 * index}; }
  Node upper() const { return {level - 1, 2 * index + 1}; }
  Node parent() const { return {level + 1, index / 2}; }
  // The other half of the parent.
  Node sibling() const { return {level, index ^ 1}; }
};

// The node that covers all blocks.
Node root(std::int64_t blocks);

// The sum so far: nodes that wait for their siblings.
class TreeSum {
 public:
  explicit TreeSum(std::int64_t blocks) : blocks_(blocks), root_(cluster::root(blocks)) {}

  // Every block is in exactly one node that is put here.
  void put(Node node, Part part);
  bool complete() const { return waiting_.count(root_) > 0; }
  const Part& total() const { return waiting_.at(root_); }

 private:
  std::int64_t blocks_;
  Node root_;
  std::map<Node, Part> waiting_;
};

}  // namespace costate::cluster
