// Which pairs of shapes may touch, before anyone looks closely.
//
// may_touch: one pair in lanes. Two bounding spheres that overlap, |x2 - x1| <= r1 + r2 + margin; or a plane that reaches into one,
// n.(x2 - x1) <= r2 + margin. It is never false where collide() finds a contact within the margin.
//
// SweepAndPrune: all pairs of n shapes. Boxes around the bounding spheres of every lane, sorted by their lower ends along the axis of largest
// spread; only neighbours in that order whose intervals overlap are compared [1, 7.5]. The order is kept between calls, so a
// world that moves little sorts in linear time, and nothing is allocated after construction.
//
// [1] Ericson: Real-Time Collision Detection, 2005.
// Tests: tests/geometry/broad_phase_test.cpp.
#pragma once

#include <vector>

#include "costate/geometry/contact_point.h"
#include "costate/geometry/scalars.h"

namespace costate::geometry {

// Of a sphere about the shape's centre. A plane has none: it reaches everywhere.
template <class S>
S bounding_radius(ShapeType type, const Shape<S>& shape);

template <class S>
mask_t<S> may_touch(ShapeType first_type, ShapeType second_type, const Shape<S>& first,
                    const Shape<S>& second, const S& margin);

struct Bounds {
  double low[3], high[3];
};

// Around the shape and half the margin, in every lane.
template <class S>
Bounds bounds_of(ShapeType type, const Shape<S>& shape, const S& margin);

class SweepAndPrune {
 public:
  explicit SweepAndPrune(int shapes);

  // visit(i, j), i < j, once for every two overlapping bounds.
  template <class Visit>
  void each_overlap(const Bounds* bounds, const Visit& visit) {
    const int axis = sort(bounds);
    for (std::size_t a = 0; a < order_.size(); ++a) {
      const Bounds& one = bounds[order_[a]];
      for (std::size_t b = a + 1; b < order_.size() && bounds[order_[b]].low[axis] <= one.high[axis]; ++b) {
        const Bounds& two = bounds[order_[b]];
        bool overlap = true;
        for (int k = 0; k < 3; ++k)
          overlap = overlap && one.low[k] <= two.high[k] && two.low[k] <= one.high[k];
        if (!overlap) continue;
        if (order_[a] < order_[b])
          visit(order_[a], order_[b]);
        else
          visit(order_[b], order_[a]);
      }
    }
  }

 private:
  int sort(const Bounds* bounds);

  std::vector<int> order_;
};

}  // namespace costate::geometry
