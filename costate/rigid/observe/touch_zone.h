// Whether a ray meets the volume of a site: which contacts a touch sensor counts. The site's frame; a number
// of rays, one per world, goes one by one: the answer is yes or no and has no derivative.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/rigid/model.h"

namespace costate::rigid {

// [begin, end] of the ray inside; empty where begin > end.
struct RayPart {
  double begin = -std::numeric_limits<double>::infinity(), end = std::numeric_limits<double>::infinity();
  void cut(double from, double to) {
    begin = std::max(begin, from);
    end = std::min(end, to);
  }
  void none() { begin = 1, end = 0; }
  bool met() const { return begin <= end && end >= 0; }
};

// |scale * (x + t d)| <= 1 over the first n coordinates.
inline void cut_round(const Double3& x, const Double3& d, const Double3& scale, int n, RayPart& part) {
  double a = 0, b = 0, c = -1;
  for (int k = 0; k < n; ++k) {
    const double u = scale[std::size_t(k)] * x[std::size_t(k)], w = scale[std::size_t(k)] * d[std::size_t(k)];
    a += w * w, b += u * w, c += u * u;
  }
  if (a == 0) {
    if (c > 0) part.none();
    return;
  }
  const double root = b * b - a * c;
  if (root < 0) return part.none();
  part.cut((-b - std::sqrt(root)) / a, (-b + std::sqrt(root)) / a);
}
inline void cut_slab(double x, double d, double half, RayPart& part) {
  if (d == 0) {
    if (std::abs(x) > half) part.none();
    return;
  }
  const double one = (-half - x) / d, two = (half - x) / d;
  part.cut(std::min(one, two), std::max(one, two));
}

inline bool ray_meets(GeomType type, const Double3& size, const Double3& x, const Double3& d) {
  RayPart part;
  const double r = 1 / size[0];
  switch (type) {
    case GeomType::box:
      for (std::size_t k = 0; k < 3; ++k) cut_slab(x[k], d[k], size[k], part);
      return part.met();
    case GeomType::ellipsoid:
      cut_round(x, d, {r, 1 / size[1], 1 / size[2]}, 3, part);
      return part.met();
    case GeomType::cylinder:
      cut_round(x, d, {r, r, 0}, 2, part);
      cut_slab(x[2], d[2], size[1], part);
      return part.met();
    case GeomType::capsule: {
      bool met = false;
      for (const double end : {-size[1], size[1]}) {
        RayPart cap;
        cut_round({x[0], x[1], x[2] - end}, d, {r, r, r}, 3, cap);
        met |= cap.met();
      }
      cut_round(x, d, {r, r, 0}, 2, part);
      cut_slab(x[2], d[2], size[1], part);
      return met || part.met();
    }
    default:
      cut_round(x, d, {r, r, r}, 3, part);
      return part.met();
  }
}

}  // namespace costate::rigid
