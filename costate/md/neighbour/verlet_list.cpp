#include "costate/md/neighbour/verlet_list.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/parallel.h"

namespace costate::md {

namespace {

constexpr int padded(int count) { return (count + 15) / 16 * 16; }

}  // namespace

// Cells of a periodic box, or of the space that the atoms take.
struct VerletList::Grid {
  std::array<int, 3> count = {1, 1, 1};
  std::array<double, 3> low = {0, 0, 0}, edge = {0, 0, 0};  // edge of the box; 0: open
  std::array<double, 3> size = {1, 1, 1};                   // of a cell

  int cells() const { return count[0] * count[1] * count[2]; }
  int along(int k, double x) const {
    const auto K = std::size_t(k);
    double t = x - low[K];
    if (edge[K] > 0) t -= edge[K] * std::floor(t / edge[K]);
    return std::clamp(int(t / size[K]), 0, count[K] - 1);
  }
  // Neighbours of cell c along k, each once.
  int neighbours(int k, int c, int* to) const {
    const int n = count[std::size_t(k)];
    int found = 0;
    for (int d = -1; d <= 1; ++d) {
      int other = c + d;
      if (edge[std::size_t(k)] > 0)
        other = (other + n) % n;
      else if (other < 0 || other >= n)
        continue;
      if (std::find(to, to + found, other) == to + found) to[found++] = other;
    }
    return found;
  }
};

VerletList::VerletList(int atoms, int dimensions, const std::vector<int>& excluded)
    : atoms_(atoms),
      dimensions_(dimensions),
      now_(std::size_t(atoms) * 3, 0.0),
      built_at_(now_.size(), 0.0),
      counts_(std::size_t(atoms), 0),
      sorted_(std::size_t(atoms), 0),
      cell_of_(std::size_t(atoms), 0),
      sorted_x_(now_.size(), 0.0) {
  for (std::size_t e = 0; e + 1 < excluded.size(); e += 2) {
    excluded_.push_back(std::int64_t(excluded[e]) * atoms + excluded[e + 1]);
    excluded_.push_back(std::int64_t(excluded[e + 1]) * atoms + excluded[e]);
  }
  std::sort(excluded_.begin(), excluded_.end());
}

bool VerletList::is_excluded(int i, int j) const {
  return !excluded_.empty() &&
         std::binary_search(excluded_.begin(), excluded_.end(), std::int64_t(i) * atoms_ + j);
}

template <class Real>
void VerletList::update(const Real* x, int stride, const std::vector<double>& box, double reach,
                        double skin) {
  for (int i = 0; i < atoms_; ++i)
    for (int k = 0; k < dimensions_; ++k)
      now_[std::size_t(3 * i + k)] = double(x[(i * dimensions_ + k) * stride]);
  if (is_old(box, reach, skin)) build(box, reach, skin);
}
template void VerletList::update(const float*, int, const std::vector<double>&, double, double);
template void VerletList::update(const double*, int, const std::vector<double>&, double, double);

bool VerletList::is_old(const std::vector<double>& box, double reach, double skin) const {
  if (reach != reach_ || skin != skin_ || box != box_) return true;
  const double far2 = 0.25 * skin * skin;
  double worst = 0;
  for (std::size_t i = 0; i < now_.size(); i += 3) {
    const double a = now_[i] - built_at_[i], b = now_[i + 1] - built_at_[i + 1],
                 c = now_[i + 2] - built_at_[i + 2];
    worst = std::max(worst, a * a + b * b + c * c);
  }
  return !(worst <= far2);
}

void VerletList::build(const std::vector<double>& box, double reach, double skin) {
  ++builds_;
  reach_ = reach, skin_ = skin, box_ = box, built_at_ = now_;
  const double far = reach + skin;
  Grid grid;
  for (int k = 0; k < dimensions_; ++k) {
    const auto K = std::size_t(k);
    double span;
    if (!box.empty()) {
      span = grid.edge[K] = box[K];
    } else {
      double low = now_[K], high = now_[K];
      for (std::size_t i = K; i < now_.size(); i += 3)
        low = std::min(low, now_[i]), high = std::max(high, now_[i]);
      grid.low[K] = low;
      span = std::max(high - low, 1e-300);
    }
    if (!std::isfinite(span))
      throw Error({"a position is not finite", "neighbour list", "reduce dt"}, Error::Kind::numerics);
    grid.count[K] = std::clamp(int(span / far), 1, 128);
    grid.size[K] = span / grid.count[K];
  }
  // Atoms cell by cell, each cell in order of their numbers.
  first_.assign(std::size_t(grid.cells()) + 1, 0);
  for (int i = 0; i < atoms_; ++i) {
    const double* x = &now_[std::size_t(3 * i)];
    const int cell =
        (grid.along(2, x[2]) * grid.count[1] + grid.along(1, x[1])) * grid.count[0] + grid.along(0, x[0]);
    cell_of_[std::size_t(i)] = cell;
    ++first_[std::size_t(cell) + 1];
  }
  for (std::size_t c = 1; c < first_.size(); ++c) first_[c] += first_[c - 1];
  next_.assign(first_.begin(), first_.end() - 1);
  for (int i = 0; i < atoms_; ++i) {
    const auto place = std::size_t(next_[std::size_t(cell_of_[std::size_t(i)])]++);
    sorted_[place] = i;
    for (std::size_t k = 0; k < 3; ++k)
      sorted_x_[k * std::size_t(atoms_) + place] = now_[std::size_t(3 * i) + k];
  }
  if (capacity_ == 0) {
    double volume = 1;
    for (int k = 0; k < dimensions_; ++k) volume *= grid.size[std::size_t(k)] * grid.count[std::size_t(k)];
    const double ball = 4.2 * far * far * far * double(atoms_) / volume;
    capacity_ = padded(std::min(atoms_, int(std::min(1.5 * ball + 32, 1e6))));
    entries_.resize(std::size_t(atoms_) * std::size_t(capacity_));
  }
  for (;;) {
    std::atomic<bool> fits = true;
    parallel_for(grid.count[2], 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t layer = begin; layer < end; ++layer)
        if (!fill_layer(grid, int(layer), far * far)) fits = false;
    });
    if (fits) break;
    capacity_ = padded(std::min(atoms_, 2 * capacity_));
    entries_.assign(std::size_t(atoms_) * std::size_t(capacity_), 0);
  }
}

// Rows of the atoms in one layer of cells; false: a row is full.
bool VerletList::fill_layer(const Grid& grid, int layer, double far2) {
  const int nx = grid.count[0], ny = grid.count[1];
  const auto n = std::size_t(atoms_);
  const int begin = first_[std::size_t(layer * nx * ny)], end = first_[std::size_t((layer + 1) * nx * ny)];
  for (int s = begin; s < end; ++s) counts_[std::size_t(sorted_[std::size_t(s)])] = 0;
  const double *xs = sorted_x_.data(), *ys = xs + n, *zs = ys + n;
  std::array<double, 3> edge = grid.edge, inverse = {0, 0, 0};
  for (std::size_t k = 0; k < 3; ++k) inverse[k] = edge[k] > 0 ? 1 / edge[k] : 0;
  constexpr int kStrip = 256;
  double squares[kStrip];
  int hits[kStrip];
  bool fits = true;
  for (int j = 0; j < atoms_; ++j) {
    const int cell = cell_of_[std::size_t(j)], cz = cell / (nx * ny);
    int layers[3];
    const int near_layers = grid.neighbours(2, cz, layers);
    if (std::find(layers, layers + near_layers, layer) == layers + near_layers) continue;
    int columns[3], rows[3];
    const int near_columns = grid.neighbours(0, cell % nx, columns),
              near_rows = grid.neighbours(1, cell / nx % ny, rows);
    const double x = now_[std::size_t(3 * j)], y = now_[std::size_t(3 * j) + 1],
                 z = now_[std::size_t(3 * j) + 2];
    for (int r = 0; r < near_rows; ++r) {
      for (int c = 0; c < near_columns;) {
        // Cells that follow each other are one stretch.
        int last = c;
        while (last + 1 < near_columns && columns[last + 1] == columns[last] + 1) ++last;
        const auto line = std::size_t((layer * ny + rows[r]) * nx);
        const int stretch_end = first_[line + std::size_t(columns[last]) + 1];
        for (int from = first_[line + std::size_t(columns[c])]; from < stretch_end; from += kStrip) {
          const int count = std::min(kStrip, stretch_end - from);
          for (int s = 0; s < count; ++s) {
            double dx = xs[from + s] - x, dy = ys[from + s] - y, dz = zs[from + s] - z;
            dx -= edge[0] * __builtin_rint(dx * inverse[0]);
            dy -= edge[1] * __builtin_rint(dy * inverse[1]);
            dz -= edge[2] * __builtin_rint(dz * inverse[2]);
            squares[s] = dx * dx + dy * dy + dz * dz;
          }
          int found = 0;
          for (int s = 0; s < count; ++s) {
            hits[found] = from + s;
            found += squares[s] < far2;
          }
          for (int h = 0; h < found; ++h) {
            const int i = sorted_[std::size_t(hits[h])];
            if (i == j || is_excluded(i, j)) continue;
            int& length = counts_[std::size_t(i)];
            if (length == capacity_)
              fits = false;
            else
              entries_[std::size_t(i) * std::size_t(capacity_) + std::size_t(length++)] = j;
          }
        }
        c = last + 1;
      }
    }
  }
  return fits;
}

}  // namespace costate::md
