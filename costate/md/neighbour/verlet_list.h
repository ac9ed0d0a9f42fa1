// Verlet lists by cells: for every atom the atoms that were nearer than reach + skin when the list was made,
// in increasing order of their numbers.
//
// A list is good while no atom has moved by more than skin / 2 (and the reach is the same), so that no pair
// within reach is ever missing. The last lists are kept, as many as fit into kKeptBytes: a transpose that
// walks a run backwards finds those of the way forward, and makes none. Who uses a list drops what is out of
// reach *before* adding anything up (list_term.h): sums then run over the same atoms in the same order
// whatever the skin and the age of the list, and results do not depend on it to the bit.
//
// Some rows of cells in one layer are filled by one thread, which takes the neighbours in order of their
// numbers: rows of the list come out sorted, and no two threads write one of them.
// Tests: tests/md/large_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace costate::md {

class VerletList {
 public:
  // Positions lie as atoms x dimensions numbers; box: edges, empty for open space. Excluded pairs are left
  // out.
  VerletList(int atoms, int dimensions, const std::vector<int>& excluded);

  // Finds a list that is good here among those that are kept, or makes one.
  template <class Real>
  void update(const Real* x, int stride, const std::vector<double>& box, double reach, double skin);

  // Padded to a multiple of 16 with atoms that exist.
  const int* row(int i) const { return current().entries.get() + std::int64_t(i) * current().capacity; }
  int size(int i) const { return current().counts[std::size_t(i)]; }
  int capacity() const { return current().capacity; }  // of a row
  std::int64_t builds() const { return builds_; }

 private:
  static constexpr std::int64_t kKeptBytes = 64 << 20;
  static constexpr int kMostKept = 16;

  struct Grid;
  struct Kept {
    std::unique_ptr<int[]>
        entries;              // rows of `capacity`; the threads that fill them are the first to touch them
    std::vector<int> counts;  // how much of each is filled
    int capacity = 0;
    std::vector<double> built_at, box;
    double reach = -1, skin = -1;
    std::int64_t used = -1;  // when it was last used
  };
  Kept& current() { return kept_[std::size_t(current_)]; }
  const Kept& current() const { return kept_[std::size_t(current_)]; }
  bool is_good(const Kept& list, const std::vector<double>& box, double reach, double skin) const;
  bool is_good_in(const Kept& list, const std::vector<double>& box) const;
  int find(const std::vector<double>& box, double reach, double skin) const;
  void make_room();
  void build(const std::vector<double>& box, double reach, double skin);
  bool fill(const Grid& grid);
  void allocate(int capacity);
  Grid sort_into_cells(double far);
  void sort_into_layers(int layers);
  bool fill_rows(const Grid& grid, int layer, int first_row, int end_row);
  template <bool kImages>
  int search(const Grid& grid, const std::array<float, 3>& x, int from, int to, int* hits) const;
  bool add_to_rows(int j, const int* hits, int found);
  void pad_row(int i);
  bool is_excluded(int i, int j) const;

  int atoms_, dimensions_;
  std::vector<std::int64_t> excluded_;  // i * atoms + j, sorted, both ways
  std::vector<double> now_;
  std::vector<Kept> kept_;
  int current_ = 0;
  std::int64_t builds_ = 0, uses_ = 0;
  // Of the cells: first atom of each, atoms and positions cell by cell; of the atoms: cell, layer and row of
  // cells, place in the box.
  std::vector<int> first_, next_, sorted_, cell_of_, layer_of_, row_of_;
  std::vector<int> first_of_layer_, by_layer_;  // atoms layer by layer, each in order of their numbers
  std::vector<double> moved2_;                  // of chunks of atoms: the farthest since the list was made
  std::vector<float> inside_, sorted_x_;
};

}  // namespace costate::md
