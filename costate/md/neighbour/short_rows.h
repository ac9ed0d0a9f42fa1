// Rows of a Verlet list, cut down to the atoms that are hardly farther than the law reaches.
//
// Nearly half of a list is out of reach. A pass over its rows that cuts keeps what is nearer than
// reach + margin; until some atom has moved by half of the margin this is all that can be within reach, and
// the passes after it walk along the short rows and do not ask the list. The order is that of the list: what
// is within reach is the same, in the same order, and results do not depend on it to the bit.
//
//   if (!rows.begin(x, box, reach)) { list.update(...); rows.restart(x, margin, list.capacity()); }
//   rows.pass()    what this pass does with every atom i:
//       Pass::list    walk along the list's row
//       Pass::cut     the same, and leave what is near in row(i): close(i, size)
//       Pass::rows    walk along row(i)
//   rows.end()
//
// Positions lie as four numbers per atom (lanes.h).
// Tests: tests/md/large_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "costate/core/parallel.h"

namespace costate::md {

template <class Real>
class ShortRows {
 public:
  enum class Pass { list, cut, rows };

  explicit ShortRows(int atoms)
      : atoms_(atoms),
        sizes_(std::size_t(atoms), 0),
        cut_at_(4 * std::size_t(atoms), Real(0)),
        stayed_(std::size_t((atoms + kChunk - 1) / kChunk), 0) {}

  // Whether the rows that there are serve this pass.
  bool begin(const std::vector<Real>& x, const std::vector<double>& box, double reach) {
    changing_ = box != box_ || reach != reach_;
    box_ = box, reach_ = reach;
    pass_ = good_ && !changing_ && all_stayed(x) ? Pass::rows : Pass::list;
    return pass_ == Pass::rows;
  }
  // If not. Rows are not cut while box or reach change from pass to pass, because they would not last.
  void restart(const std::vector<Real>& x, double margin, int capacity) {
    good_ = false;
    const std::int64_t numbers = std::int64_t(atoms_) * (capacity + kPack);
    if (margin <= 0 || numbers > kMostNumbers) return;
    if (capacity + kPack != stride_) {
      stride_ = capacity + kPack;
      rows_ = std::make_unique_for_overwrite<int[]>(std::size_t(numbers));
    }
    if (changing_) return;
    pass_ = Pass::cut;
    most2_ = Real(0.24 * margin * margin);  // a little less than (margin / 2)^2, for rounding
    parallel_for(atoms_, kChunk, [&](std::int64_t begin, std::int64_t end) {
      std::copy(x.begin() + 4 * begin, x.begin() + 4 * end, cut_at_.begin() + 4 * begin);
    });
  }
  void end() { good_ = pass_ != Pass::list; }

  Pass pass() const { return pass_; }
  int* row(int i) { return rows_.get() + std::int64_t(i) * stride_; }
  int size(int i) const { return sizes_[std::size_t(i)]; }
  // The row has so many atoms. It is read in whole packs: what follows them must be atoms that exist.
  void close(int i, int size) {
    sizes_[std::size_t(i)] = size;
    std::fill_n(row(i) + size, kPack, i);
  }

 private:
  static constexpr std::int64_t kChunk = 4096;              // atoms
  static constexpr std::int64_t kMostNumbers = 64'000'000;  // of all rows: 256 MB
  static constexpr int kPack = 16;                          // the widest

  bool all_stayed(const std::vector<Real>& x) {
    parallel_for(atoms_, kChunk, [&](std::int64_t begin, std::int64_t end) {
      bool stayed = true;
      for (auto i = std::size_t(4 * begin); i < std::size_t(4 * end); i += 4) {
        const Real d[3] = {x[i] - cut_at_[i], x[i + 1] - cut_at_[i + 1], x[i + 2] - cut_at_[i + 2]};
        stayed &= d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= most2_;  // not where it is no number
      }
      stayed_[std::size_t(begin / kChunk)] = stayed;
    });
    return std::all_of(stayed_.begin(), stayed_.end(), [](char stayed) { return stayed != 0; });
  }

  int atoms_, stride_ = 0;
  std::unique_ptr<int[]> rows_;  // the threads that cut them are the first to touch them
  std::vector<int> sizes_;
  std::vector<Real> cut_at_;  // where the atoms were
  std::vector<char> stayed_;  // of chunks of atoms
  std::vector<double> box_;
  double reach_ = -1;
  Real most2_ = 0;
  bool good_ = false, changing_ = true;
  Pass pass_ = Pass::list;
};

}  // namespace costate::md
