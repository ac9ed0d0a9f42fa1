// How atoms lie about each other: the radial distribution and the structure factor of one state, and losses
// of them.
//
//   radial     g(r) = V / (pairs area(r)) sum_pairs N(r_ij - r; width),   area = 4 pi r^2, 2 pi r or 2
//   structure  S(q) = |sum_j exp(i q . x_j)|^2 / N,                       q = 2 pi n / box
//
// N is the normal density: a histogram has no derivative, this has one, and loses detail below `width`. Both
// see nearest images in a periodic box and have gradients with respect to positions and box.
//
// An average over many states is compared with data in two passes: the mean first, then a loss whose weights
// are the differences between mean and data (examples/md_fit_rdf.cpp).
// [Allen, Tildesley: Computer Simulation of Liquids, sections 2.6 and 8.2]
// Tests: tests/md/pair_distribution_test.cpp.
#pragma once

#include <array>
#include <vector>

#include "costate/md/model.h"
#include "costate/system/objective.h"

namespace costate::md {

struct PairDistribution {
  std::vector<double> radii = {};              // radial: where it is wanted, increasing
  double width = 0.05;                         // of the normal density
  std::vector<int> from = {}, to = {};         // atoms of the pairs; empty: all
  std::vector<std::array<int, 3>> waves = {};  // structure factor: whole numbers n
};

// One number per radius, then one per wave.
std::vector<double> pair_distribution(const Model& model, const PairDistribution& what,
                                      const std::vector<double>& x, const std::vector<double>& box);
// Adds bar . d(pair_distribution): x_bar and box_bar have the sizes of x and box.
void pair_distribution_vjp(const Model& model, const PairDistribution& what, const std::vector<double>& x,
                           const std::vector<double>& box, const std::vector<double>& bar, double* x_bar,
                           double* box_bar);

// sum_b weights_b g_b, or with a target sum_b weights_b / 2 (g_b - target_b)^2, at every step of the list.
struct ObserveDistribution {
  PairDistribution of = {};
  std::vector<double> weights = {};      // empty: 1
  std::vector<double> target = {};       // empty: none
  std::vector<std::int64_t> steps = {};  // empty: of the final state
};
template <class Real>
ObjectivePtr<Real> observe(const Model& model, const ObserveDistribution& what);

extern template ObjectivePtr<float> observe(const Model&, const ObserveDistribution&);
extern template ObjectivePtr<double> observe(const Model&, const ObserveDistribution&);

}  // namespace costate::md
