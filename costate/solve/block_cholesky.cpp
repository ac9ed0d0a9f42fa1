#include "costate/solve/block_cholesky.h"

#include <algorithm>
#include <cstring>

#include "costate/core/parallel.h"
#include "costate/solve/dense_panel.h"

namespace costate::solve {
namespace {

constexpr int kForks = 2;            // levels of the tree whose branches are parallel
constexpr double kWorthATask = 2e6;  // multiply-adds

// sum over rows of a . b in a fixed number of lanes, which the compiler turns into registers.
template <class Real>
double dot_lanes(const Real* a, const double* b, std::int64_t count) {
  double lane[8] = {}, sum = 0;
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int l = 0; l < 8; ++l) lane[l] += double(a[i + l]) * b[i + l];
  for (; i < count; ++i) sum += double(a[i]) * b[i];
  for (const double part : lane) sum += part;
  return sum;
}

}  // namespace

std::int64_t BlockCholesky::Node::stride() const { return 3LL * (pivots + rows) + kSpareRows; }

void BlockCholesky::analyse(int n, std::span<const Pair> pairs, std::span<const double> places,
                            std::span<const char> keep, bool single) {
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
  branches_.clear();
  if (!nodes_.empty()) plant(int(nodes_.size()) - 1, 0);
  place_updates();
  place_blocks(pairs, keep);
  const auto make_room = [&](auto& numbers) {
    numbers.values.resize(std::size_t(value_count_));
    numbers.fronts.resize(std::size_t(front_count_));
    numbers.updates.resize(std::size_t(update_count_));
  };
  make_room(double_);
  if (single) make_room(single_);
}

// Which later vertices each front reaches, where children's rows lie in it, and how much memory all that is.
void BlockCholesky::symbolic() {
  nodes_.clear(), rows_.clear(), map_.clear();
  node_of_.assign(order_.order.size(), 0);
  mark_.assign(order_.order.size(), -1);
  flops_ = 0;
  value_count_ = 0;
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
    node.values = value_count_;
    value_count_ += a * d;
    for (std::int64_t c = 0; c < a; ++c) flops_ += double((d - c) * (d - c));
    nodes_.push_back(node);
  }
}

// The branch of a node and of everything below it; returns its number.
int BlockCholesky::plant(int k, int depth) {
  const Node& node = nodes_[std::size_t(k)];
  int first = k;
  double work = 0;
  while (nodes_[std::size_t(first)].children[0] >= 0 || nodes_[std::size_t(first)].children[1] >= 0) {
    const int* child = nodes_[std::size_t(first)].children;
    first = child[0] >= 0 ? child[0] : child[1];
  }
  for (int i = first; i <= k; ++i) {
    const Node& n = nodes_[std::size_t(i)];
    const double a = 3.0 * n.pivots, d = a + 3.0 * n.rows;
    work += a * d * d;
  }
  Branch branch{first, k + 1, {-1, -1}, 0};
  if (depth < kForks && work > kWorthATask && node.children[0] >= 0 && node.children[1] >= 0) {
    branch.begin = k;
    for (int s = 0; s < 2; ++s) branch.branches[s] = plant(nodes_[std::size_t(k)].children[s], depth + 1);
  }
  branches_.push_back(branch);
  return int(branches_.size()) - 1;
}

// Within a branch updates are a stack: those of the children lie on its top, and are replaced by the node's
// own. What a branch leaves is the only thing on its stack.
void BlockCholesky::place_updates() {
  front_count_ = update_count_ = 0;
  for (Branch& branch : branches_) {
    std::int64_t front = 0, top = 0, most = 0;
    for (int k = branch.begin; k < branch.end; ++k) {
      Node& node = nodes_[std::size_t(k)];
      const bool forked = branch.branches[0] >= 0;
      for (const int child : node.children)
        if (child >= 0 && !forked)
          top -= 9LL * nodes_[std::size_t(child)].rows * nodes_[std::size_t(child)].rows;
      node.update = update_count_ + top;
      top += 9LL * node.rows * node.rows;
      most = std::max(most, top);
      front = std::max(front, node.stride() * std::int64_t(3 * (node.pivots + node.rows) + kSpareColumns));
    }
    branch.front = front_count_;
    front_count_ += front;
    update_count_ += most;
  }
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

template <class Real>
void BlockCholesky::assemble(const Node& node, const double* blocks, double shift, Real* F,
                             const Real* updates) const {
  const std::ptrdiff_t d = 3 * (node.pivots + node.rows), stride = node.stride();
  for (std::ptrdiff_t c = 0; c < d; ++c) {
    const std::ptrdiff_t top = std::max<std::ptrdiff_t>(0, c - kSpareColumns);
    std::memset(F + c * stride + top, 0, std::size_t(stride - top) * sizeof(Real));
  }
  for (int e = node.entry_begin; e < node.entry_end; ++e) {
    const Entry& entry = entries_[std::size_t(e)];
    const double* b = blocks + 9LL * entry.block;
    Real* to = F + 3 * entry.column * stride + 3 * entry.row;
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 3; ++r) to[c * stride + r] += Real(entry.transposed ? b[3 * c + r] : b[3 * r + c]);
    if (entry.row == entry.column)
      for (int c = 0; c < 3; ++c) to[c * stride + c] += Real(shift);
  }
  for (int s = 0; s < 2; ++s) {
    if (node.children[s] < 0) continue;
    const Node& child = nodes_[std::size_t(node.children[s])];
    const int* map = map_.data() + node.map_begin[s];
    for (int c = 0; c < child.rows; ++c)
      for (int i = 0; i < 3; ++i) {
        Real* column = F + (3 * map[c] + i) * stride;
        const Real* from = updates + child.update + (3LL * c + i) * 3 * child.rows;
        for (int r = c; r < child.rows; ++r) {
          Real* to = column + 3 * map[r];
          to[0] += from[3 * r], to[1] += from[3 * r + 1], to[2] += from[3 * r + 2];
        }
      }
  }
}

template <class Real>
bool BlockCholesky::eliminate(const Node& node, const double* blocks, double shift, Real* F,
                              Numbers<Real>& to) const {
  assemble(node, blocks, shift, F, to.updates.data());
  const int a = 3 * node.pivots, b = 3 * node.rows, d = a + b;
  const std::int64_t stride = node.stride();
  if (!factor_columns(F, d, a, int(stride))) return false;
  for (int c = 0; c < a; ++c)
    std::memcpy(to.values.data() + node.values + std::int64_t(c) * d + c, F + c * stride + c,
                std::size_t(d - c) * sizeof(Real));
  for (int c = 0; c < b; ++c)
    std::memcpy(to.updates.data() + node.update + std::int64_t(c) * b + c, F + (a + c) * stride + a + c,
                std::size_t(b - c) * sizeof(Real));
  return true;
}

template <class Real>
bool BlockCholesky::grow(int k, const double* blocks, double shift, Numbers<Real>& to) const {
  const Branch& branch = branches_[std::size_t(k)];
  if (branch.branches[0] >= 0) {
    bool grown[2] = {false, false};
    parallel_for(2, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) grown[s] = grow(branch.branches[s], blocks, shift, to);
    });
    if (!grown[0] || !grown[1]) return false;
  }
  for (int i = branch.begin; i < branch.end; ++i)
    if (!eliminate(nodes_[std::size_t(i)], blocks, shift, to.fronts.data() + branch.front, to)) return false;
  return true;
}

bool BlockCholesky::factor(const double* blocks, double shift) {
  return branches_.empty() || grow(int(branches_.size()) - 1, blocks, shift, double_);
}
bool BlockCholesky::factor_single(const double* blocks) {
  return branches_.empty() || grow(int(branches_.size()) - 1, blocks, 0, single_);
}

// L y = x, then L' x = y. The rows below the pivots of a node are brought together before, so that each
// column of L meets numbers that lie side by side.
template <class Real>
void BlockCholesky::substitute(const std::vector<Real>& values, double* x, double* y) const {
  const auto each = [&](const auto& visit) {
    for (std::size_t k = 0; k < order_.order.size(); ++k)
      for (int c = 0; c < 3; ++c) visit(y[3 * k + std::size_t(c)], x[3 * order_.order[k] + c]);
  };
  double* below = y + 3 * n_;
  const auto each_below = [&](const Node& node, const auto& visit) {
    for (int r = 0; r < node.rows; ++r)
      for (int c = 0; c < 3; ++c) visit(below[3 * r + c], y[3 * rows_[std::size_t(node.row_begin + r)] + c]);
  };
  each([](double& inner, double& outer) { inner = outer; });
  for (const Node& node : nodes_) {
    const int a = 3 * node.pivots, b = 3 * node.rows;
    double* own = y + 3 * node.first;
    each_below(node, [](double& here, double& there) { here = there; });
    for (int c = 0; c < a; ++c) {
      const Real* column = values.data() + node.values + std::int64_t(c) * (a + b);
      const double v = own[c] /= double(column[c]);
      for (int r = c + 1; r < a; ++r) own[r] -= v * double(column[r]);
      for (int r = 0; r < b; ++r) below[r] -= v * double(column[a + r]);
    }
    each_below(node, [](double& here, double& there) { there = here; });
  }
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    const Node& node = nodes_[k];
    const int a = 3 * node.pivots, b = 3 * node.rows;
    double* own = y + 3 * node.first;
    each_below(node, [](double& here, double& there) { here = there; });
    for (int c = a; c-- > 0;) {
      const Real* column = values.data() + node.values + std::int64_t(c) * (a + b);
      own[c] =
          (own[c] - dot_lanes(column + c + 1, own + c + 1, a - c - 1) - dot_lanes(column + a, below, b)) /
          double(column[c]);
    }
  }
  each([](double& inner, double& outer) { outer = inner; });
}

void BlockCholesky::solve(double* x, double* work) const { substitute(double_.values, x, work); }
void BlockCholesky::solve_single(double* x, double* work) const { substitute(single_.values, x, work); }

}  // namespace costate::solve
