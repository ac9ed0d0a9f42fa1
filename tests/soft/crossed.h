// Whether surfaces pass through each other, by nothing of the engine's own.
#pragma once

#include <vector>

#include "costate/core/mat3.h"

namespace costate::soft::test {

// Whether the segment p, q passes through the triangle, by signs of volumes: nothing of the engine's own.
inline bool pierces(const Vec3<double>& p, const Vec3<double>& q, const Vec3<double>& a,
                    const Vec3<double>& b, const Vec3<double>& c) {
  const auto volume = [](const Vec3<double>& u, const Vec3<double>& v, const Vec3<double>& w,
                         const Vec3<double>& x) { return dot(u - x, cross(v - x, w - x)); };
  if ((volume(a, b, c, p) > 0) == (volume(a, b, c, q) > 0)) return false;
  const bool s = volume(p, q, a, b) > 0;
  return s == (volume(p, q, b, c) > 0) && s == (volume(p, q, c, a) > 0);
}
inline bool crossed(const std::vector<int>& triangles, const double* x) {
  const auto at = [&](int i) { return Vec3<double>{x[3 * i], x[3 * i + 1], x[3 * i + 2]}; };
  for (std::size_t s = 0; s < triangles.size(); s += 3)
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t t = 0; t < triangles.size(); t += 3) {
        const int p = triangles[s + k], q = triangles[s + (k + 1) % 3];
        const int a = triangles[t], b = triangles[t + 1], c = triangles[t + 2];
        if (p == a || p == b || p == c || q == a || q == b || q == c) continue;
        if (pierces(at(p), at(q), at(a), at(b), at(c))) return true;
      }
  return false;
}

}  // namespace costate::soft::test
