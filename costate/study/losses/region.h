// Losses about a region of space.
//
//   in_region   1/N sum_i w s(d(x_i)/w)       s(z) = log(1 + e^z)
//   spilled     1/N sum_i g((h - y_i)/w) w s(d(x_i)/w)   g(z) = 1/(1 + e^-z)
//
// d is the signed distance to the region, negative inside. Of spilled points only those that have fallen
// below the height h count. A count of the points that miss has no gradient; these have one wherever the
// points are. The fraction inside is reported beside the loss: inside(). Distances of regions: box, sphere,
// cylinder (axis y), exact outside and inside; in 2-D their section z = 0.
// Tests: tests/study/losses_test.cpp.
#pragma once

#include <optional>

#include "costate/study/losses/points.h"

namespace costate::study {

struct Region {
  enum class Kind { box, sphere, cylinder };
  Kind kind = Kind::box;
  Point centre = {0, 0, 0};
  Point size = {1, 1, 1};  // half extents; radius; radius and half height
};
// Signed distance, and its gradient where `gradient` is not null.
double distance_to(const Region& region, const Point& x, Point* gradient);

struct RegionLoss {
  Region region = {};
  double width = 0.01;                // w
  std::optional<double> height = {};  // h of spilled
  std::size_t up = 1;                 // the axis along which heights are measured
  double weight = 1;
};
template <class Real>
ObjectivePtr<Real> in_region(const RegionLoss& loss, const Points& points, std::vector<std::int64_t> steps);
// The fraction of the points inside, at one step. Its derivative is zero.
template <class Real>
ObjectivePtr<Real> inside(const Region& region, const Points& points, std::int64_t step);

}  // namespace costate::study
