// Verlet lists by cells: for every atom the atoms that were nearer than reach + skin when the list was made,
// in increasing order of their numbers.
//
// The list is made again when some atom has moved by more than skin / 2 (or the box or the reach has
// changed), so that no pair within reach is ever missing. Who uses it drops what is out of reach *before*
// adding anything up (list_term.h): sums then run over the same atoms in the same order whatever the skin and
// the age of the list, and results do not depend on it to the bit.
//
// Some rows of cells in one layer are filled by one thread, which takes the neighbours in order of their
// numbers: rows of the list come out sorted, and no two threads write one of them.
// Tests: tests/md/large_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace costate::md {

class VerletList {
 public:
  // Positions lie as atoms x dimensions numbers; box: edges, empty for open space. Excluded pairs are left
  // out.
  VerletList(int atoms, int dimensions, const std::vector<int>& excluded);

  // Makes the list if it may have become too old.
  template <class Real>
  void update(const Real* x, int stride, const std::vector<double>& box, double reach, double skin);

  // Padded to a multiple of 16 with atoms that exist.
  const int* row(int i) const { return entries_.data() + std::int64_t(i) * capacity_; }
  int size(int i) const { return counts_[std::size_t(i)]; }
  std::int64_t builds() const { return builds_; }

 private:
  struct Grid;
  bool is_old(const std::vector<double>& box, double reach, double skin) const;
  bool is_old_in(const std::vector<double>& box) const;
  void build(const std::vector<double>& box, double reach, double skin);
  Grid sort_into_cells(double far);
  void sort_into_layers(int layers);
  bool fill_rows(const Grid& grid, int layer, int first_row, int end_row);
  template <bool kImages>
  int search(const Grid& grid, const std::array<float, 3>& x, int from, int to, int* hits) const;
  bool add_to_rows(int j, const int* hits, int found);
  bool is_excluded(int i, int j) const;

  int atoms_, dimensions_, capacity_ = 0;
  std::vector<std::int64_t> excluded_;  // i * atoms + j, sorted, both ways
  std::vector<double> now_, built_at_, box_;
  double reach_ = -1, skin_ = -1;
  std::int64_t builds_ = 0;
  std::vector<int> entries_, counts_;
  // Of the cells: first atom of each, atoms and positions cell by cell; of the atoms: cell, layer and row of
  // cells, place in the box.
  std::vector<int> first_, next_, sorted_, cell_of_, layer_of_, row_of_;
  std::vector<int> first_of_layer_, by_layer_;  // atoms layer by layer, each in order of their numbers
  std::vector<double> moved2_;                  // of chunks of atoms: the farthest since the list was made
  std::vector<float> inside_, sorted_x_;
};

}  // namespace costate::md
