#include "costate/solve/nested_dissection.h"

#include <algorithm>

namespace costate::solve {
namespace {

constexpr int kLeaf = 10;  // vertices that are eliminated together without a further cut

}  // namespace

void NestedDissection::run(const Graph& graph, std::span<const double> places, std::span<const char> keep) {
  graph_ = &graph;
  places_ = places.data();
  const int n = int(graph.begin.size()) - 1;
  side_.assign(std::size_t(n), 0);
  list_.clear(), order.clear(), nodes.clear();
  calls_ = 0;
  for (int i = 0; i < n; ++i)
    if (keep[std::size_t(i)]) list_.push_back(i);
  if (!list_.empty()) part(0, int(list_.size()));
  order = list_;
}

// list_[first, last) becomes left, right, separator; returns where the separator begins and sets side_.
int NestedDissection::separate(int first, int last, int axis) {
  const auto begin = list_.begin() + first, end = list_.begin() + last, middle = begin + (last - first) / 2;
  std::nth_element(begin, middle, end, [&](int a, int b) {
    const double p = places_[3 * a + axis], q = places_[3 * b + axis];
    return p != q ? p < q : a < b;
  });
  ++calls_;
  for (auto i = begin; i != end; ++i) side_[std::size_t(*i)] = i < middle ? calls_ : -calls_;
  const auto touches = [&](int v) {
    const int other = -side_[std::size_t(v)];
    for (int k = graph_->begin[std::size_t(v)]; k < graph_->begin[std::size_t(v) + 1]; ++k)
      if (side_[std::size_t(graph_->neighbour[std::size_t(k)])] == other) return true;
    return false;
  };
  const auto left = std::count_if(begin, middle, touches), right = std::count_if(middle, end, touches);
  if (left <= right) {
    const auto boundary = std::partition(begin, middle, [&](int v) { return !touches(v); });
    std::rotate(boundary, middle, end);
    return int(end - (middle - boundary) - list_.begin());
  }
  return int(std::partition(middle, end, [&](int v) { return !touches(v); }) - list_.begin());
}

int NestedDissection::part(int first, int last) {
  Node node;
  int separator = first;
  if (last - first > kLeaf) {
    double low[3], high[3];
    for (int d = 0; d < 3; ++d) {
      low[d] = high[d] = places_[3 * list_[std::size_t(first)] + d];
      for (int i = first; i < last; ++i) {
        low[d] = std::min(low[d], places_[3 * list_[std::size_t(i)] + d]);
        high[d] = std::max(high[d], places_[3 * list_[std::size_t(i)] + d]);
      }
    }
    int axis = 0;
    for (int d = 1; d < 3; ++d)
      if (high[d] - low[d] > high[axis] - low[axis]) axis = d;
    separator = separate(first, last, axis);
    // Where the left half ends: of what precedes the separator, the vertices of the one side come first.
    const int own = side_[std::size_t(list_[std::size_t(first)])];
    const auto cut = std::find_if(list_.begin() + first, list_.begin() + separator,
                                  [&](int v) { return side_[std::size_t(v)] != own; });
    const int middle = int(cut - list_.begin());
    if (middle > first) node.children[0] = part(first, middle);
    if (separator > middle) node.children[1] = part(middle, separator);
  }
  node.first = separator, node.count = last - separator;
  nodes.push_back(node);
  return int(nodes.size()) - 1;
}

}  // namespace costate::solve
