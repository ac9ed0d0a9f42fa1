#include "costate/soft/step/assembly.h"

#include <algorithm>

#include "costate/core/parallel.h"

namespace costate::soft {
namespace {

constexpr std::int64_t kGrain = 256;

}  // namespace

Assembly::Assembly(int vertices, const std::vector<const Groups*>& groups) : vertices_(vertices) {
  struct Found {
    int row, column;  // row > column
    std::int64_t slot;
    bool transposed;
  };
  std::vector<Found> found;
  std::vector<std::vector<std::int64_t>> of(static_cast<std::size_t>(vertices)), diagonal(of.size());
  for (const Groups* g : groups) {
    for (std::int64_t e = 0; e < g->count(); ++e) {
      const int* v = g->vertex.data() + e * g->nodes;
      for (int a = 0; a < g->nodes; ++a) {
        of[std::size_t(v[a])].push_back(slots_++);
        for (int b = a; b < g->nodes; ++b, ++blocks_) {
          if (a == b)
            diagonal[std::size_t(v[a])].push_back(blocks_);
          else
            found.push_back({std::max(v[a], v[b]), std::min(v[a], v[b]), blocks_, v[a] < v[b]});
        }
      }
    }
  }
  std::sort(found.begin(), found.end(), [](const Found& p, const Found& q) {
    return p.row != q.row ? p.row < q.row : p.column != q.column ? p.column < q.column : p.slot < q.slot;
  });
  slot_begin_ = {0}, source_begin_ = {0};
  for (const auto& list : of) {
    slot_of_.insert(slot_of_.end(), list.begin(), list.end());
    slot_begin_.push_back(std::int64_t(slot_of_.size()));
  }
  for (const auto& list : diagonal) {
    for (const std::int64_t slot : list) sources_.push_back({slot, false});
    source_begin_.push_back(std::int64_t(sources_.size()));
  }
  std::vector<std::vector<Entry>> rows(of.size());
  for (std::size_t i = 0; i < of.size(); ++i) rows[i].push_back({std::int64_t(i), int(i), false});
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (k == 0 || found[k].row != found[k - 1].row || found[k].column != found[k - 1].column) {
      if (!pairs_.empty()) source_begin_.push_back(std::int64_t(sources_.size()));
      pairs_.push_back({found[k].row, found[k].column});
      const std::int64_t block = vertices_ + std::int64_t(pairs_.size()) - 1;
      rows[std::size_t(found[k].row)].push_back({block, found[k].column, false});
      rows[std::size_t(found[k].column)].push_back({block, found[k].row, true});
    }
    sources_.push_back({found[k].slot, found[k].transposed});
  }
  if (!pairs_.empty()) source_begin_.push_back(std::int64_t(sources_.size()));
  row_begin_ = {0};
  for (const auto& row : rows) {
    rows_.insert(rows_.end(), row.begin(), row.end());
    row_begin_.push_back(std::int64_t(rows_.size()));
  }
}

void Assembly::add(const double* slots, int width, double* out) const {
  parallel_for(vertices_, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t k = slot_begin_[std::size_t(i)]; k < slot_begin_[std::size_t(i) + 1]; ++k)
        for (int c = 0; c < width; ++c) out[width * i + c] += slots[width * slot_of_[std::size_t(k)] + c];
  });
}

void Assembly::gather_blocks(const double* slots, double* blocks) const {
  parallel_for(this->blocks(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      double sum[9] = {};
      for (std::int64_t k = source_begin_[std::size_t(b)]; k < source_begin_[std::size_t(b) + 1]; ++k) {
        const Source& source = sources_[std::size_t(k)];
        const double* from = slots + 9 * source.slot;
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) sum[3 * i + j] += source.transposed ? from[3 * j + i] : from[3 * i + j];
      }
      std::copy(sum, sum + 9, blocks + 9 * b);
    }
  });
}

std::int64_t Assembly::find(int row, int column) const {
  const auto at = std::lower_bound(pairs_.begin(), pairs_.end(), Pair{row, column});
  return at != pairs_.end() && *at == Pair{row, column} ? vertices_ + (at - pairs_.begin()) : -1;
}

void Assembly::multiply(const double* blocks, const double* x, double* y) const {
  parallel_for(vertices_, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double sum[3] = {};
      for (std::int64_t k = row_begin_[std::size_t(i)]; k < row_begin_[std::size_t(i) + 1]; ++k) {
        const Entry& entry = rows_[std::size_t(k)];
        const double* b = blocks + 9 * entry.block;
        const double* v = x + 3 * entry.column;
        if (entry.transposed)
          for (int c = 0; c < 3; ++c) sum[c] += b[c] * v[0] + b[3 + c] * v[1] + b[6 + c] * v[2];
        else
          for (int c = 0; c < 3; ++c) sum[c] += b[3 * c] * v[0] + b[3 * c + 1] * v[1] + b[3 * c + 2] * v[2];
      }
      std::copy(sum, sum + 3, y + 3 * i);
    }
  });
}

}  // namespace costate::soft
