// Snapshots: the state of a split world in files, written by all ranks at once and read by any number of
// ranks.
//
//   <path>.<rank>.<fingerprint>   what this rank owns: the numbers of its elements, then their rows
//   <path>                        the manifest, a text: the step, the fields, and each file with the count of
//                                 its elements and the fingerprint
//
// The manifest is written last, and replaces the one before at once. So there is a whole snapshot at every
// moment, and a run that is killed while it writes one goes on from the one before. Files of that one are
// deleted after it.
//
// A rank reads every file and keeps what it owns. Files may be hostile: sizes are checked before anything is
// allocated.
// Tests: tests/cluster/snapshot_test.cpp.
#pragma once

#include <string>

#include "costate/system/split_system.h"

namespace costate::cluster {

// By all ranks. Error where a file cannot be written.
template <class Real>
void write_snapshot(const std::string& path, const SplitSystem<Real>& world, const Piece<Real>& x,
                    std::int64_t step);

template <class Real>
struct Snapshot {
  std::int64_t step = 0;
  Piece<Real> x;
};
// By all ranks, of the same world. Error where a file is damaged, or is of another world.
template <class Real>
Snapshot<Real> read_snapshot(const std::string& path, const SplitSystem<Real>& world);

extern template void write_snapshot(const std::string&, const SplitSystem<float>&, const Piece<float>&,
                                    std::int64_t);
extern template void write_snapshot(const std::string&, const SplitSystem<double>&, const Piece<double>&,
                                    std::int64_t);
extern template Snapshot<float> read_snapshot(const std::string&, const SplitSystem<float>&);
extern template Snapshot<double> read_snapshot(const std::string&, const SplitSystem<double>&);

}  // namespace costate::cluster
