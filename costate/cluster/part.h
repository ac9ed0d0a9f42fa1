// Part: what some blocks of worlds add to a value and its gradient.
//
//   sum(a, b) = (a.value + b.value, a.sums + b.sums, the reports merged)
//
// A sum of doubles depends on its order, so Parts are added in one order only: that of tree.h. A block that
// cannot be computed is a Part too. It absorbs what it is added to, so the error that a caller gets is always
// the one of the lowest block.
//
// Of two reports, the norms of the adjoint are those of all worlds together, sqrt(a^2 + b^2); residuals,
// drifts and memory are the larger ones; lists are united; the label is the one that promises less.
// Tests: tests/cluster/tree_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costate/core/error.h"
#include "costate/system/gradient_report.h"

namespace costate::cluster {

struct Part {
  double value = 0;
  std::vector<double> sums;  // the gradient; of least squares J'r, J'J and the number of residuals
  GradientReport report;     // masked_worlds are numbers of the whole job
  struct Failure {
    Error::Message message;
    Error::Kind kind = Error::Kind::numerics;
  };
  std::optional<Failure> failure;
};

// Takes away the advice that conclude() gives of a block: it is given again of the whole. What the physics
// itself had to say stays.
void keep_findings(GradientReport& report);

// In this order: `lower` has the lower block numbers. Error where the two are not of one job.
Part sum(Part lower, const Part& upper);

std::string to_bytes(const Part& part);
// Error where that is not a Part.
Part part_of(std::string_view bytes);

}  // namespace costate::cluster
