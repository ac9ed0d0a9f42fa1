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

constexpr std::int64_t kChunk = 4096;  // atoms
constexpr int kMostCells = 128;        // along one edge
constexpr int kParts = 4;              // of a layer, filled by threads of their own

constexpr int padded(int count) { return (count + 15) / 16 * 16; }

// Cells are searched in single precision, with a margin for its rounding: a list may have an atom too many.
using Lanes = NativePack<float>;

}  // namespace

// Cells of a periodic box, or of the space that the atoms take. Along y and z they are as long as the list
// reaches or longer; along x they are shorter, so that a row of them is searched no farther than the list
// reaches.
struct VerletList::Grid {
  std::array<int, 3> count = {1, 1, 1};
  std::array<double, 3> low = {0, 0, 0}, edge = {0, 0, 0};  // edge of the box; 0: open
  std::array<double, 3> size = {1, 1, 1};                   // of a cell
  // Of a box that is less than three times as long as the list reaches: one cell may hold two images of an
  // atom. All cells are searched there, and the nearest image is found atom by atom.
  std::array<bool, 3> tight = {false, false, false};
  double far2 = 0;  // of the list, with a margin for rounding
  double per = 1;   // cells per length along x

  int cells() const { return count[0] * count[1] * count[2]; }
  // Place in the box, or in what the atoms take.
  double inside(std::size_t k, double x) const {
    const double t = x - low[k];
    return edge[k] > 0 ? t - edge[k] * std::floor(t / edge[k]) : t;
  }
  int along(std::size_t k, double place) const { return std::clamp(int(place / size[k]), 0, count[k] - 1); }
  float inverse(std::size_t k) const { return tight[k] ? float(1 / edge[k]) : 0; }

  // A cell beside another one, and how far the atom in the other one is moved to be its nearest image.
  struct Near {
    int cell;
    float shift;
  };
  // Neighbours of cell c along y or z, each once.
  int neighbours(std::size_t k, int c, Near* to) const {
    const int n = count[k];
    int found = 0;
    for (int d = -1; d <= 1; ++d) {
      Near other{c + d, 0};
      if (edge[k] > 0) {
        other.cell += other.cell < 0 ? n : other.cell >= n ? -n : 0;
        if (!tight[k]) other.shift = float(c + d < 0 ? edge[k] : c + d >= n ? -edge[k] : 0);
      } else if (other.cell < 0 || other.cell >= n) {
        continue;
      }
      if (std::none_of(to, to + found, [&](const Near& one) { return one.cell == other.cell; }))
        to[found++] = other;
    }
    return found;
  }
  // Square of the distance along k between x and the nearest point of a cell.
  double square_to(std::size_t k, int cell, double x) const {
    if (tight[k]) return 0;
    const double d = std::max({0.0, cell * size[k] - x, x - (cell + 1) * size[k]});
    return d * d;
  }
  // body(first cell, last cell, shift of x) for the cells along x that are no farther from x than `half`.
  template <class Body>
  void each_stretch(double x, double half, const Body& body) const {
    const int n = count[0];
    if (tight[0]) return body(0, n - 1, 0.0F);
    const int from = int(std::floor((x - half) * per)), to = int(std::floor((x + half) * per));
    if (edge[0] > 0 && from < 0) body(from + n, std::min(to + n, n - 1), float(edge[0]));
    if (from < n && to >= 0) body(std::max(from, 0), std::min(to, n - 1), 0.0F);
    if (edge[0] > 0 && to >= n) body(std::max(from - n, 0), to - n, -float(edge[0]));
  }
};

VerletList::VerletList(int atoms, int dimensions, const std::vector<int>& excluded)
    : atoms_(atoms),
      dimensions_(dimensions),
      now_(std::size_t(atoms) * 3, 0.0),
      kept_(1),
      sorted_(std::size_t(atoms) + Lanes::lanes, 0),
      cell_of_(std::size_t(atoms), 0),
      layer_of_(std::size_t(atoms), 0),
      row_of_(std::size_t(atoms), 0),
      by_layer_(std::size_t(atoms)),
      moved2_(std::size_t((atoms + kChunk - 1) / kChunk), 0.0),
      inside_(now_.size(), 0.0F),
      sorted_x_(now_.size() + Lanes::lanes, 0.0F) {
  for (std::size_t e = 0; e + 1 < excluded.size(); e += 2) {
    excluded_.push_back(std::int64_t(excluded[e]) * atoms + excluded[e + 1]);
    excluded_.push_back(std::int64_t(excluded[e + 1]) * atoms + excluded[e]);
  }
  std::sort(excluded_.begin(), excluded_.end());
  kept_[0].built_at = now_;
}

bool VerletList::is_excluded(int i, int j) const {
  return !excluded_.empty() &&
         std::binary_search(excluded_.begin(), excluded_.end(), std::int64_t(i) * atoms_ + j);
}

template <class Real>
void VerletList::update(const Real* x, int stride, const std::vector<double>& box, double reach,
                        double skin) {
  const double* built_at = current().built_at.data();
  parallel_for(atoms_, kChunk, [&](std::int64_t begin, std::int64_t end) {
    double worst = 0;
    for (auto i = int(begin); i < int(end); ++i) {
      double square = 0;
      for (int k = 0; k < dimensions_; ++k) {
        const auto at = std::size_t(3 * i + k);
        now_[at] = double(x[(i * dimensions_ + k) * stride]);
        square += (now_[at] - built_at[at]) * (now_[at] - built_at[at]);
      }
      worst = std::max(worst, square);
    }
    moved2_[std::size_t(begin / kChunk)] = worst;
  });
  ++uses_;
  const Kept& last = current();
  const bool moved = !(*std::max_element(moved2_.begin(), moved2_.end()) <= 0.25 * skin * skin);
  const bool same = reach == last.reach && skin == last.skin && box == last.box;
  if (!same || moved) {
    if (const int other = find(box, reach, skin); other >= 0)
      current_ = other;
    else
      build(box, reach, skin);
  }
  current().used = uses_;
}
template void VerletList::update(const float*, int, const std::vector<double>&, double, double);
template void VerletList::update(const double*, int, const std::vector<double>&, double, double);

// The last used of those that are good here; -1: none is.
int VerletList::find(const std::vector<double>& box, double reach, double skin) const {
  int found = -1;
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    const bool later = found < 0 || kept_[k].used > kept_[std::size_t(found)].used;
    if (later && is_good(kept_[k], box, reach, skin)) found = int(k);
  }
  return found;
}

bool VerletList::is_good(const Kept& list, const std::vector<double>& box, double reach, double skin) const {
  if (reach != list.reach || skin != list.skin || box.size() != list.box.size()) return false;
  if (box != list.box) return is_good_in(list, box);
  const double most = 0.25 * skin * skin;
  const double *now = now_.data(), *then = list.built_at.data();
  for (std::size_t i = 0; i < now_.size(); i += 3) {
    const double d[3] = {now[i] - then[i], now[i + 1] - then[i + 1], now[i + 2] - then[i + 2]};
    if (!(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= most)) return false;
  }
  return true;
}

// In a box that has been scaled: the atoms move with it, and a pair that the list leaves out has come no
// nearer than its distance times the smallest scale, less what the two have moved besides.
bool VerletList::is_good_in(const Kept& list, const std::vector<double>& box) const {
  std::array<double, 3> scale = {1, 1, 1};
  double least = 1;
  for (std::size_t k = 0; k < box.size(); ++k) {
    scale[k] = box[k] / list.box[k];
    least = std::min(least, scale[k]);
  }
  double worst = 0;
  for (std::size_t i = 0; i < now_.size(); i += 3) {
    double square = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double moved = now_[i + k] - scale[k] * list.built_at[i + k];
      square += moved * moved;
    }
    worst = std::max(worst, square);
  }
  return least * (list.reach + list.skin) - 2 * std::sqrt(worst) >= list.reach;
}

// The next list takes a new place while there is room, then the place of the list that was not used for the
// longest time.
void VerletList::make_room() {
  const auto bytes = std::int64_t(atoms_) * (current().capacity * std::int64_t(sizeof(int)) + 24);
  const auto most = std::min(std::int64_t(kMostKept), kKeptBytes / bytes);
  const auto oldest = std::min_element(kept_.begin(), kept_.end(),
                                       [](const Kept& a, const Kept& b) { return a.used < b.used; });
  current_ = int(oldest - kept_.begin());
  if (oldest->used < 0 || std::int64_t(kept_.size()) >= most) return;
  const int capacity = current().capacity;
  current_ = int(kept_.size());
  kept_.emplace_back();
  allocate(capacity);
}

void VerletList::build(const std::vector<double>& box, double reach, double skin) {
  make_room();
  ++builds_;
  Kept& list = current();
  list.reach = -1;  // until it is complete
  list.box = box, list.skin = skin, list.built_at = now_;
  const double far = reach + skin;
  const Grid grid = sort_into_cells(far);
  if (list.capacity == 0) {
    double volume = 1;
    for (int k = 0; k < dimensions_; ++k) volume *= grid.size[std::size_t(k)] * grid.count[std::size_t(k)];
    const double ball = 4.2 * far * far * far * double(atoms_) / volume;
    allocate(padded(std::min(atoms_, int(std::min(1.25 * ball + 24, 1e6)))));
  }
  while (!fill(grid)) allocate(padded(std::min(atoms_, 2 * list.capacity)));
  list.reach = reach;
}

// Rows for as many atoms in the list of the moment.
void VerletList::allocate(int capacity) {
  Kept& list = current();
  list.capacity = capacity;
  list.counts.resize(std::size_t(atoms_));
  list.entries = std::make_unique_for_overwrite<int[]>(std::size_t(atoms_) * std::size_t(capacity));
}

// False: a row is full.
bool VerletList::fill(const Grid& grid) {
  std::atomic<bool> fits = true;
  const int rows = grid.count[1], parts = std::min(rows, kParts);
  parallel_for(std::int64_t(grid.count[2]) * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const int part = int(task % parts);
      if (!fill_rows(grid, int(task / parts), rows * part / parts, rows * (part + 1) / parts)) fits = false;
    }
  });
  return fits;
}

// Atoms cell by cell, each cell in order of their numbers.
VerletList::Grid VerletList::sort_into_cells(double far) {
  if (!std::all_of(now_.begin(), now_.end(), [](double x) { return std::isfinite(x); }))
    throw Error({"a position is not finite", "neighbour list", "reduce dt"}, Error::Kind::numerics);
  Grid grid;
  double widest = far;
  for (int k = 0; k < dimensions_; ++k) {
    const auto K = std::size_t(k);
    double span;
    if (!current().box.empty()) {
      span = grid.edge[K] = current().box[K];
    } else {
      double low = now_[K], high = now_[K];
      for (std::size_t i = K; i < now_.size(); i += 3)
        low = std::min(low, now_[i]), high = std::max(high, now_[i]);
      grid.low[K] = low;
      span = std::max(high - low, 1e-300);
    }
    grid.count[K] = int(std::clamp(span / far, 1.0, double(kMostCells)));
    grid.tight[K] = grid.edge[K] > 0 && grid.count[K] < 3;
    grid.size[K] = span / grid.count[K];
    widest = std::max(widest, span);
  }
  constexpr int kShorter = 4;
  if (kShorter * grid.cells() <= 2 * atoms_) {
    grid.count[0] *= kShorter;
    grid.size[0] /= kShorter;
  }
  grid.per = 1 / grid.size[0];
  grid.far2 = std::pow(far + 2e-6 * widest, 2);
  first_.assign(std::size_t(grid.cells()) + 1, 0);
  parallel_for(atoms_, kChunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      std::array<int, 3> at;
      for (std::size_t k = 0; k < 3; ++k) {
        const double place = grid.inside(k, now_[3 * i + k]);
        at[k] = grid.along(k, place);
        inside_[3 * i + k] = float(place);
      }
      cell_of_[i] = (at[2] * grid.count[1] + at[1]) * grid.count[0] + at[0];
      layer_of_[i] = at[2];
      row_of_[i] = at[1];
    }
  });
  for (const int cell : cell_of_) ++first_[std::size_t(cell) + 1];
  for (std::size_t c = 1; c < first_.size(); ++c) first_[c] += first_[c - 1];
  next_.assign(first_.begin(), first_.end() - 1);
  for (int i = 0; i < atoms_; ++i) {
    const auto place = std::size_t(next_[std::size_t(cell_of_[std::size_t(i)])]++);
    sorted_[place] = i;
  }
  parallel_for(atoms_, kChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::size_t k = 0; k < 3; ++k)
      for (auto place = std::size_t(begin); place < std::size_t(end); ++place)
        sorted_x_[k * std::size_t(atoms_) + place] = inside_[std::size_t(3 * sorted_[place]) + k];
  });
  sort_into_layers(grid.count[2]);
  return grid;
}

void VerletList::sort_into_layers(int layers) {
  first_of_layer_.assign(std::size_t(layers) + 1, 0);
  for (const int layer : layer_of_) ++first_of_layer_[std::size_t(layer) + 1];
  for (std::size_t l = 1; l < first_of_layer_.size(); ++l) first_of_layer_[l] += first_of_layer_[l - 1];
  next_.assign(first_of_layer_.begin(), first_of_layer_.end() - 1);
  for (int i = 0; i < atoms_; ++i)
    by_layer_[std::size_t(next_[std::size_t(layer_of_[std::size_t(i)])]++)] = i;
}

// The atoms of sorted_[from] ... sorted_[to - 1] that are near to x, behind each other; returns how many.
template <bool kImages>
int VerletList::search(const Grid& grid, const std::array<float, 3>& x, int from, int to, int* hits) const {
  const float* at[3];
  Lanes here[3], edge[3], inverse[3];
  for (std::size_t k = 0; k < 3; ++k) {
    at[k] = sorted_x_.data() + k * std::size_t(atoms_);
    here[k] = x[k], edge[k] = float(grid.edge[k]), inverse[k] = grid.inverse(k);
  }
  const Lanes far2(float(grid.far2));
  int found = 0;
  for (int s = from; s < to; s += Lanes::lanes) {
    Lanes square(0.0F);
    for (std::size_t k = 0; k < 3; ++k) {
      Lanes d = Lanes::load_unaligned(at[k] + s) - here[k];
      if constexpr (kImages) d = d - edge[k] * costate::round(d * inverse[k]);
      square += d * d;
    }
    const auto near = (square < far2) & (lane_numbers<Lanes>() < Lanes(float(to - s)));
    found += keep_lanes(near, sorted_.data() + s, hits + found);
  }
  return found;
}

// Adds j to the rows of the atoms that were found near to it; false: a row is full.
bool VerletList::add_to_rows(int j, const int* hits, int found) {
  const bool some_excluded = !excluded_.empty();
  Kept& list = current();
  int *counts = list.counts.data(), *entries = list.entries.get();
  const int capacity = list.capacity;
  bool fits = true;
  for (int h = 0; h < found; ++h) {
    const int i = hits[h], length = counts[i];
    if (i == j || (some_excluded && is_excluded(i, j))) continue;
    if (length == capacity) {
      fits = false;
      continue;
    }
    entries[std::ptrdiff_t(i) * capacity + length] = j;
    counts[i] = length + 1;
  }
  return fits;
}

// Rows of the atoms in some rows of cells of one layer; false: a row is full.
bool VerletList::fill_rows(const Grid& grid, int layer, int first_row, int end_row) {
  const int nx = grid.count[0], ny = grid.count[1];
  const auto cells = [&](int row) { return std::size_t((layer * ny + row) * nx); };
  for (int s = first_[cells(first_row)]; s < first_[cells(end_row)]; ++s)
    current().counts[std::size_t(sorted_[std::size_t(s)])] = 0;
  const auto search_here = grid.tight[0] || grid.tight[1] || grid.tight[2] ? &VerletList::search<true>
                                                                           : &VerletList::search<false>;
  const auto inside = [&](const Grid::Near& row) { return row.cell >= first_row && row.cell < end_row; };
  Grid::Near layers[3], rows[3];
  std::array<bool, kMostCells> beside{};  // rows that have one of these beside them
  for (int r = 0; r < ny; ++r)
    beside[std::size_t(r)] = std::any_of(rows, rows + grid.neighbours(1, r, rows), inside);
  const int near_layers = grid.neighbours(2, layer, layers);
  const int *next[3], *end[3];
  for (int n = 0; n < near_layers; ++n) {
    next[n] = by_layer_.data() + first_of_layer_[std::size_t(layers[n].cell)];
    end[n] = by_layer_.data() + first_of_layer_[std::size_t(layers[n].cell) + 1];
  }
  constexpr int kRoom = 1024, kStretch = kRoom - 2 * Lanes::lanes;
  int hits[kRoom], found = 0;
  bool fits = true;
  for (;;) {
    int which = -1;  // of the lists of atoms, the one whose next has the lowest number
    for (int n = 0; n < near_layers; ++n)
      if (next[n] != end[n] && (which < 0 || *next[n] < *next[which])) which = n;
    if (which < 0) break;
    const int j = *next[which]++;
    if (!beside[std::size_t(row_of_[std::size_t(j)])]) continue;
    const float* x = inside_.data() + std::ptrdiff_t(3) * j;
    const float z = x[2] - layers[which].shift;  // the shift of this layer's atoms, the other way
    const double left = grid.far2 - grid.square_to(2, layer, double(z));
    if (left < 0) continue;
    const int near_rows = grid.neighbours(1, row_of_[std::size_t(j)], rows);
    for (int r = 0; r < near_rows; ++r) {
      if (!inside(rows[r])) continue;
      const float y = x[1] + rows[r].shift;
      const double half2 = left - grid.square_to(1, rows[r].cell, double(y));
      if (half2 < 0) continue;
      const std::size_t line = cells(rows[r].cell);
      grid.each_stretch(double(x[0]), std::sqrt(half2), [&](int first, int last, float shift) {
        const int to = first_[line + std::size_t(last) + 1];
        for (int from = first_[line + std::size_t(first)]; from < to; from += kStretch) {
          const int until = std::min(to, from + kStretch);
          if (found + until - from > kStretch) fits &= add_to_rows(j, hits, found), found = 0;
          found += (this->*search_here)(grid, {x[0] + shift, y, z}, from, until, hits + found);
        }
      });
    }
    fits &= add_to_rows(j, hits, found);
    found = 0;
  }
  for (int s = first_[cells(first_row)]; s < first_[cells(end_row)]; ++s) pad_row(sorted_[std::size_t(s)]);
  return fits;
}

void VerletList::pad_row(int i) {
  Kept& list = current();
  const int count = list.counts[std::size_t(i)];
  int* row = list.entries.get() + std::int64_t(i) * list.capacity;
  std::fill(row + count, row + padded(count), i);
}

}  // namespace costate::md
