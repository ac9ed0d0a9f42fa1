#include "costate/geometry/widest_four.h"

#include <cmath>

namespace costate::geometry {

namespace {

void widest_of_many(const Vec3<double>* v, int count, int* chosen) {
  Vec3<double> n = Vec3<double>::zero();
  for (int k = 0; k < count; ++k) n += cross(v[k] - v[0], v[(k + 1) % count] - v[0]);
  const auto farthest = [&](int a, int c, int from, int to, double& height) {
    int best = from;
    height = -1;
    for (int k = from; k < to; ++k) {
      const double h = std::abs(dot(n, cross(v[c] - v[a], v[k] - v[a])));
      if (h > height * (1 + 1e-9)) {
        height = h;
        best = k;
      }
    }
    return best;
  };
  double most = -1;
  for (int a = 0; a + 3 < count; ++a)
    for (int c = a + 2; c + 1 < count; ++c) {
      double near, far;
      const int b = farthest(a, c, a + 1, c, near), d = farthest(a, c, c + 1, count, far);
      if (near + far > most * (1 + 1e-9)) {
        most = near + far;
        chosen[0] = a;
        chosen[1] = b;
        chosen[2] = c;
        chosen[3] = d;
      }
    }
}

}  // namespace

int widest_four(const Vec3<double>* v, int count, int* chosen) {
  if (count <= 4) {
    for (int k = 0; k < count; ++k) chosen[k] = k;
    return count;
  }
  if (count > 12) {
    widest_of_many(v, count, chosen);
    return 4;
  }
  double most = -1;
  for (int a = 0; a < count; ++a)
    for (int b = a + 1; b < count; ++b)
      for (int c = b + 1; c < count; ++c)
        for (int d = c + 1; d < count; ++d) {
          const double area = squared_norm(cross(v[c] - v[a], v[d] - v[b]));
          if (area > most * (1 + 1e-9)) {
            most = area;
            chosen[0] = a;
            chosen[1] = b;
            chosen[2] = c;
            chosen[3] = d;
          }
        }
  return 4;
}

}  // namespace costate::geometry
