#include "costate/solve/block_cholesky.h"

#include <algorithm>
#include <cstring>

#include "costate/solve/dense_panel.h"

namespace costate::solve {

void BlockCholesky::analyse(int n, std::span<const Pair> pairs, std::span<const double> places,
                            std::span<const char> keep) {
  n_ = n;
  graph_.begin.assign(std::size_t(n) + 1, 0);
  for (const Pair& p : pairs)
    for (const int v : p) ++graph_.begin[std::size_t(v) + 1];
  for (int i = 0; i < n; ++i) graph_.begin[std::size_t(i) + 1] += graph_.begin[std::size_t(i)];
  graph_.neighbour.resize(2 * pairs.size());
  fill_.assign(graph_.begin.begin(), graph_.begin.end() - 1);
  for (const Pair& p : pairs)
    for (int s = 0; s < 2; ++s)
      graph_.neighbour[std::size_t(fill_[std::size_t(p[std::size_t(s)])]++)] = p[std::size_t(1 - s)];
  order_.run(graph_, places, keep);
  position_.assign(std::size_t(n), -1);
  for (std::size_t k = 0; k < order_.order.size(); ++k) position_[std::size_t(order_.order[k])] = int(k);
  symbolic();
  place_blocks(pairs, keep);
}

// Which later vertices each front reaches, where children's rows lie in it, and how much memory all that is.
void BlockCholesky::symbolic() {
  nodes_.clear(), rows_.clear(), map_.clear();
  node_of_.assign(order_.order.size(), 0);
  mark_.assign(order_.order.size(), -1);
  flops_ = 0;
  std::int64_t values = 0, stack = 0, most = 0, front = 0;
  for (std::size_t k = 0; k < order_.nodes.size(); ++k) {
    const auto& given = order_.nodes[k];
    Node node{.first = given.first, .pivots = given.count, .row_begin = int(rows_.size())};
    const int end = node.first + node.pivots;
    const auto reach = [&](int position) {
      if (position < end || mark_[std::size_t(position)] == int(k)) return;
      mark_[std::size_t(position)] = int(k);
      rows_.push_back(position);
    };
    for (int i = node.first; i < end; ++i) {
      node_of_[std::size_t(i)] = int(k);
      const auto v = std::size_t(order_.order[std::size_t(i)]);
      for (int e = graph_.begin[v]; e < graph_.begin[v + 1]; ++e)
        reach(position_[std::size_t(graph_.neighbour[std::size_t(e)])]);
    }
    for (int s = 0; s < 2; ++s) {
      node.children[s] = given.children[s];
      if (given.children[s] < 0) continue;
      const Node child = nodes_[std::size_t(given.children[s])];
      for (int r = 0; r < child.rows; ++r) reach(rows_[std::size_t(child.row_begin + r)]);
      stack -= 9LL * child.rows * child.rows;
    }
    std::sort(rows_.begin() + node.row_begin, rows_.end());
    node.rows = int(rows_.size()) - node.row_begin;
    for (int s = 0; s < 2; ++s) {
      node.map_begin[s] = int(map_.size());
      if (node.children[s] < 0) continue;
      const Node& child = nodes_[std::size_t(node.children[s])];
      for (int r = 0; r < child.rows; ++r) {
        const int at = rows_[std::size_t(child.row_begin + r)];
        map_.push_back(at < end ? at - node.first
                                : node.pivots +
                                      int(std::lower_bound(rows_.begin() + node.row_begin, rows_.end(), at) -
                                          (rows_.begin() + node.row_begin)));
      }
    }
    const std::int64_t a = 3LL * node.pivots, d = a + 3LL * node.rows;
    node.values = values;
    values += a * d;
    front = std::max(front, d * d);
    // The front is built while the children's updates are still there.
    stack += 9LL * node.rows * node.rows;
    most = std::max(most, stack);
    for (std::int64_t c = 0; c < a; ++c) flops_ += double((d - c) * (d - c));
    nodes_.push_back(node);
  }
  values_.resize(std::size_t(values));
  front_.resize(std::size_t(front));
  stack_.resize(std::size_t(most));
}

void BlockCholesky::place_blocks(std::span<const Pair> pairs, std::span<const char> keep) {
  // Counting sort of blocks by the node that eliminates the earlier of their vertices.
  const auto owner = [&](int i, int j) {
    return node_of_[std::size_t(std::min(position_[std::size_t(i)], position_[std::size_t(j)]))];
  };
  fill_.assign(nodes_.size() + 1, 0);
  const auto each = [&](const auto& visit) {
    for (int i = 0; i < n_; ++i)
      if (keep[std::size_t(i)]) visit(i, i, i);
    for (std::size_t k = 0; k < pairs.size(); ++k)
      if (keep[std::size_t(pairs[k][0])] && keep[std::size_t(pairs[k][1])])
        visit(n_ + int(k), pairs[k][0], pairs[k][1]);
  };
  each([&](int, int i, int j) { ++fill_[std::size_t(owner(i, j)) + 1]; });
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    fill_[k + 1] += fill_[k];
    nodes_[k].entry_begin = fill_[k], nodes_[k].entry_end = fill_[k + 1];
  }
  entries_.resize(std::size_t(fill_[nodes_.size()]));
  each([&](int block, int i, int j) {
    const Node& node = nodes_[std::size_t(owner(i, j))];
    const auto local = [&](int position) {
      if (position < node.first + node.pivots) return position - node.first;
      const auto begin = rows_.begin() + node.row_begin;
      return node.pivots + int(std::lower_bound(begin, begin + node.rows, position) - begin);
    };
    const int row = local(position_[std::size_t(i)]), column = local(position_[std::size_t(j)]);
    entries_[std::size_t(fill_[std::size_t(owner(i, j))]++)] = {block, std::max(row, column),
                                                                std::min(row, column), row < column};
  });
}

void BlockCholesky::assemble(const Node& node, const double* blocks, double shift,
                             const double* const* updates) {
  const std::ptrdiff_t d = 3 * (node.pivots + node.rows);
  double* F = front_.data();
  std::memset(F, 0, std::size_t(d * d) * sizeof(double));
  for (int e = node.entry_begin; e < node.entry_end; ++e) {
    const Entry& entry = entries_[std::size_t(e)];
    const double* b = blocks + 9LL * entry.block;
    double* to = F + 3 * entry.column * d + 3 * entry.row;
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 3; ++r) to[c * d + r] += entry.transposed ? b[3 * c + r] : b[3 * r + c];
    if (entry.row == entry.column)
      for (int c = 0; c < 3; ++c) to[c * d + c] += shift;
  }
  for (int s = 0; s < 2; ++s) {
    if (node.children[s] < 0) continue;
    const int rows = nodes_[std::size_t(node.children[s])].rows;
    const int* map = map_.data() + node.map_begin[s];
    for (int c = 0; c < rows; ++c)
      for (int i = 0; i < 3; ++i) {
        double* column = F + (3 * map[c] + i) * d;
        const double* from = updates[s] + (3LL * c + i) * 3 * rows;
        for (int r = c; r < rows; ++r) {
          double* to = column + 3 * map[r];
          to[0] += from[3 * r], to[1] += from[3 * r + 1], to[2] += from[3 * r + 2];
        }
      }
  }
}

bool BlockCholesky::factor(const double* blocks, double shift) {
  std::int64_t top = 0;  // of the stack of updates: those of the children lie on it
  for (const Node& node : nodes_) {
    const double* updates[2] = {nullptr, nullptr};
    for (int s = 1; s >= 0; --s) {
      if (node.children[s] < 0) continue;
      const std::int64_t rows = nodes_[std::size_t(node.children[s])].rows;
      top -= 9 * rows * rows;
      updates[s] = stack_.data() + top;
    }
    assemble(node, blocks, shift, updates);
    const int a = 3 * node.pivots, b = 3 * node.rows, d = a + b;
    if (!factor_columns(front_.data(), d, a, d)) return false;
    std::memcpy(values_.data() + node.values, front_.data(),
                std::size_t(a) * std::size_t(d) * sizeof(double));
    for (int c = 0; c < b; ++c)
      std::memcpy(stack_.data() + top + std::int64_t(c) * b + c,
                  front_.data() + std::int64_t(a + c) * d + a + c, std::size_t(b - c) * sizeof(double));
    top += std::int64_t(b) * b;
  }
  return true;
}

void BlockCholesky::solve(double* x, double* y) const {
  const auto each = [&](const auto& visit) {
    for (std::size_t k = 0; k < order_.order.size(); ++k)
      for (int c = 0; c < 3; ++c) visit(y[3 * k + std::size_t(c)], x[3 * order_.order[k] + c]);
  };
  each([](double& inner, double& outer) { inner = outer; });
  for (const Node& node : nodes_) {
    const int a = 3 * node.pivots, d = a + 3 * node.rows;
    double* own = y + 3 * node.first;
    for (int c = 0; c < a; ++c) {
      const double* column = values_.data() + node.values + std::int64_t(c) * d;
      const double v = own[c] /= column[c];
      for (int r = c + 1; r < a; ++r) own[r] -= v * column[r];
      for (int r = 0; r < node.rows; ++r) {
        double* to = y + 3 * rows_[std::size_t(node.row_begin + r)];
        const double* from = column + a + 3 * r;
        to[0] -= v * from[0], to[1] -= v * from[1], to[2] -= v * from[2];
      }
    }
  }
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    const Node& node = nodes_[k];
    const int a = 3 * node.pivots, d = a + 3 * node.rows;
    double* own = y + 3 * node.first;
    for (int c = a; c-- > 0;) {
      const double* column = values_.data() + node.values + std::int64_t(c) * d;
      double sum = own[c];
      for (int r = c + 1; r < a; ++r) sum -= column[r] * own[r];
      for (int r = 0; r < node.rows; ++r) {
        const double* with = y + 3 * rows_[std::size_t(node.row_begin + r)];
        const double* from = column + a + 3 * r;
        sum -= with[0] * from[0] + with[1] * from[1] + with[2] * from[2];
      }
      own[c] = sum / column[c];
    }
  }
  each([](double& inner, double& outer) { outer = inner; });
}

}  // namespace costate::solve
