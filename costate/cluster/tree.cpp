#include "costate/cluster/tree.h"

#include <algorithm>

namespace costate::cluster {

std::int64_t Node::end(std::int64_t blocks) const { return std::min(blocks, (index + 1) << level); }

Node root(std::int64_t blocks) {
  Node node;
  while ((std::int64_t(1) << node.level) < blocks) ++node.level;
  return node;
}

void TreeSum::put(Node node, Part part) {
  while (node != root_) {
    const Node other = node.sibling();
    if (other.first() < blocks_) {
      const auto found = waiting_.find(other);
      if (found == waiting_.end()) break;
      part = node.index % 2 == 0 ? sum(std::move(part), found->second) : sum(std::move(found->second), part);
      waiting_.erase(found);
    }
    node = node.parent();
  }
  waiting_.emplace(node, std::move(part));
}

}  // namespace costate::cluster
