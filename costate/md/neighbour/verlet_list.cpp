#include "costate/md/neighbour/verlet_list.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/functions.h"
#include "costate/core/parallel.h"
#include "costate/md/neighbour/lanes.h"

namespace costate::md {

namespace {

constexpr int padded(int count) { return (count + 15) / 16 * 16; }

// Cells are searched in single precision, with a margin for its rounding: a list may have an atom too many.
using Lanes = NativePack<float>;

}  // namespace

// Cells of a periodic box, or of the space that the atoms take.
struct VerletList::Grid {
  std::array<int, 3> count = {1, 1, 1};
  std::array<double, 3> low = {0, 0, 0}, edge = {0, 0, 0};  // edge of the box; 0: open
  std::array<double, 3> size = {1, 1, 1};                   // of a cell

  int cells() const { return count[0] * count[1] * count[2]; }
  // Place in the box, or in what the atoms take.
  double inside(std::size_t k, double x) const {
    const double t = x - low[k];
    return edge[k] > 0 ? t - edge[k] * std::floor(t / edge[k]) : t;
  }
  int along(std::size_t k, double place) const { return std::clamp(int(place / size[k]), 0, count[k] - 1); }
  // A cell beside another one, and how far the atom in the other one is moved to be its nearest image. With
  // fewer than three cells one of them holds two images: the nearest is then found atom by atom.
  struct Near {
    int cell;
    float shift;
  };
  // Neighbours of cell c along k, each once.
  int neighbours(std::size_t k, int c, Near* to) const {
    const int n = count[k];
    int found = 0;
    for (int d = -1; d <= 1; ++d) {
      Near other{c + d, 0};
      if (edge[k] > 0) {
        other.cell = (c + d + n) % n;
        if (n >= 3) other.shift = float(c + d < 0 ? edge[k] : c + d >= n ? -edge[k] : 0);
      } else if (other.cell < 0 || other.cell >= n) {
        continue;
      }
      if (std::none_of(to, to + found, [&](const Near& one) { return one.cell == other.cell; }))
        to[found++] = other;
    }
    return found;
  }
  // Of axes that have so few cells; 0: of the others.
  float inverse(std::size_t k) const { return edge[k] > 0 && count[k] < 3 ? float(1 / edge[k]) : 0; }
};

VerletList::VerletList(int atoms, int dimensions, const std::vector<int>& excluded)
    : atoms_(atoms),
      dimensions_(dimensions),
      now_(std::size_t(atoms) * 3, 0.0),
      built_at_(now_.size(), 0.0),
      counts_(std::size_t(atoms), 0),
      sorted_(std::size_t(atoms), 0),
      cell_of_(std::size_t(atoms), 0),
      sorted_x_(now_.size() + Lanes::lanes, 0.0F) {
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
  if (reach != reach_ || skin != skin_ || box.size() != box_.size()) return true;
  if (box != box_) return is_old_in(box);
  const double far2 = 0.25 * skin * skin;
  double worst = 0;
  for (std::size_t i = 0; i < now_.size(); i += 3) {
    const double a = now_[i] - built_at_[i], b = now_[i + 1] - built_at_[i + 1],
                 c = now_[i + 2] - built_at_[i + 2];
    worst = std::max(worst, a * a + b * b + c * c);
  }
  return !(worst <= far2);
}

// Of a box that has been scaled: the atoms move with it, and a pair that the list leaves out has come no
// nearer than its distance times the smallest scale, less what the two have moved besides.
bool VerletList::is_old_in(const std::vector<double>& box) const {
  std::array<double, 3> scale = {1, 1, 1};
  double least = 1;
  for (std::size_t k = 0; k < box.size(); ++k) {
    scale[k] = box[k] / box_[k];
    least = std::min(least, scale[k]);
  }
  double worst = 0;
  for (std::size_t i = 0; i < now_.size(); i += 3) {
    double square = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double moved = now_[i + k] - scale[k] * built_at_[i + k];
      square += moved * moved;
    }
    worst = std::max(worst, square);
  }
  return !(least * (reach_ + skin_) - 2 * std::sqrt(worst) >= reach_);
}

void VerletList::build(const std::vector<double>& box, double reach, double skin) {
  ++builds_;
  reach_ = reach, skin_ = skin, box_ = box, built_at_ = now_;
  const double far = reach + skin;
  if (!std::all_of(now_.begin(), now_.end(), [](double x) { return std::isfinite(x); }))
    throw Error({"a position is not finite", "neighbour list", "reduce dt"}, Error::Kind::numerics);
  Grid grid;
  double widest = far;
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
    grid.count[K] = int(std::clamp(span / far, 1.0, 128.0));
    grid.size[K] = span / grid.count[K];
    widest = std::max(widest, span);
  }
  const double far2 = std::pow(far + 2e-6 * widest, 2);
  // Atoms cell by cell, each cell in order of their numbers.
  first_.assign(std::size_t(grid.cells()) + 1, 0);
  for (int i = 0; i < atoms_; ++i) {
    std::array<int, 3> at;
    for (std::size_t k = 0; k < 3; ++k) at[k] = grid.along(k, grid.inside(k, now_[std::size_t(3 * i) + k]));
    const int cell = (at[2] * grid.count[1] + at[1]) * grid.count[0] + at[0];
    cell_of_[std::size_t(i)] = cell;
    ++first_[std::size_t(cell) + 1];
  }
  for (std::size_t c = 1; c < first_.size(); ++c) first_[c] += first_[c - 1];
  next_.assign(first_.begin(), first_.end() - 1);
  for (int i = 0; i < atoms_; ++i) {
    const auto place = std::size_t(next_[std::size_t(cell_of_[std::size_t(i)])]++);
    sorted_[place] = i;
    for (std::size_t k = 0; k < 3; ++k)
      sorted_x_[k * std::size_t(atoms_) + place] = float(grid.inside(k, now_[std::size_t(3 * i) + k]));
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
        if (!fill_layer(grid, int(layer), float(far2))) fits = false;
    });
    if (fits) break;
    capacity_ = padded(std::min(atoms_, 2 * capacity_));
    entries_.assign(std::size_t(atoms_) * std::size_t(capacity_), 0);
  }
}

// Rows of the atoms in one layer of cells; false: a row is full.
bool VerletList::fill_layer(const Grid& grid, int layer, float far2) {
  const int nx = grid.count[0], ny = grid.count[1];
  const int begin = first_[std::size_t(layer * nx * ny)], end = first_[std::size_t((layer + 1) * nx * ny)];
  for (int s = begin; s < end; ++s) counts_[std::size_t(sorted_[std::size_t(s)])] = 0;
  bool fits = true;
  for (int j = 0; j < atoms_; ++j) {
    const int cell = cell_of_[std::size_t(j)];
    Grid::Near layers[3], rows[3], columns[3];
    const int near_layers = grid.neighbours(2, cell / (nx * ny), layers);
    const auto* own =
        std::find_if(layers, layers + near_layers, [&](const Grid::Near& one) { return one.cell == layer; });
    if (own == layers + near_layers) continue;
    const int near_columns = grid.neighbours(0, cell % nx, columns),
              near_rows = grid.neighbours(1, cell / nx % ny, rows);
    std::array<float, 3> x;
    for (std::size_t k = 0; k < 3; ++k) x[k] = float(grid.inside(k, now_[std::size_t(3 * j) + k]));
    for (int r = 0; r < near_rows; ++r) {
      const auto line = std::size_t((layer * ny + rows[r].cell) * nx);
      for (int c = 0; c < near_columns;) {
        // Cells that follow each other, of one image, are one stretch.
        int last = c;
        while (last + 1 < near_columns && columns[last + 1].cell == columns[last].cell + 1 &&
               columns[last + 1].shift == columns[c].shift)
          ++last;
        fits &= add_stretch(grid, j, {x[0] + columns[c].shift, x[1] + rows[r].shift, x[2] + own->shift},
                            first_[line + std::size_t(columns[c].cell)],
                            first_[line + std::size_t(columns[last].cell) + 1], far2);
        c = last + 1;
      }
    }
  }
  return fits;
}

// Adds j to the rows of the atoms sorted_[from] ... that are near to x; false: a row is full.
bool VerletList::add_stretch(const Grid& grid, int j, const std::array<float, 3>& x, int from, int to,
                             float far2) {
  const auto n = std::size_t(atoms_);
  Lanes here[3], edge[3], inverse[3];
  bool images = false;
  for (std::size_t k = 0; k < 3; ++k) {
    here[k] = x[k], edge[k] = float(grid.edge[k]), inverse[k] = grid.inverse(k);
    images |= grid.inverse(k) > 0;
  }
  bool fits = true;
  int hits[2 * Lanes::lanes];
  for (int s = from; s < to; s += Lanes::lanes) {
    Lanes square(0.0F);
    for (std::size_t k = 0; k < 3; ++k) {
      Lanes d = Lanes::load_unaligned(sorted_x_.data() + k * n + std::size_t(s)) - here[k];
      if (images) d = d - edge[k] * costate::round(d * inverse[k]);
      square += d * d;
    }
    const int found = keep_lanes(square < Lanes(far2), s, hits);
    for (int h = 0; h < found && hits[h] < to; ++h) {
      const int i = sorted_[std::size_t(hits[h])];
      if (i == j || is_excluded(i, j)) continue;
      int& length = counts_[std::size_t(i)];
      if (length == capacity_)
        fits = false;
      else
        entries_[std::size_t(i) * std::size_t(capacity_) + std::size_t(length++)] = j;
    }
  }
  return fits;
}

}  // namespace costate::md
