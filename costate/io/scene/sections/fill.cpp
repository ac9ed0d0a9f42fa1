#include "costate/io/scene/sections/fill.h"

#include <algorithm>
#include <cmath>

#include "costate/core/philox.h"

namespace costate::io {

std::int64_t add_particles(mpm::Model& model, const Fill& fill) {
  const std::size_t dimension = model.dimension;
  std::array<std::int64_t, 3> count = {1, 1, 1};
  double volume = 1;
  for (std::size_t a = 0; a < dimension; ++a) {
    count[a] =
        std::max<std::int64_t>(1, std::int64_t(std::ceil((fill.high[a] - fill.low[a]) / fill.spacing)));
    volume *= fill.spacing;
  }
  mpm::Particles& p = model.particles;
  if (p.x.empty()) p = {.x = {}, .v = {}, .volume = {}, .material = {}, .actuator = {}};
  std::int64_t added = 0;
  for (std::int64_t n = 0; n < count[0] * count[1] * count[2]; ++n) {
    const std::int64_t at[3] = {n / (count[1] * count[2]), n / count[2] % count[1], n % count[2]};
    mpm::Vector x = {0, 0, 0};
    for (std::size_t a = 0; a < dimension; ++a) {
      const double shift = fill.jitter > 0
                               ? fill.jitter * (uniform<double>(fill.seed, std::uint32_t(n),
                                                                std::uint64_t(n) >> 32, std::uint32_t(a)) -
                                                0.5)
                               : 0;
      x[a] = fill.low[a] + (double(at[a]) + 0.5 + shift) * fill.spacing;
    }
    if (!fill.inside(x)) continue;
    for (std::size_t a = 0; a < dimension; ++a) {
      p.x.push_back(x[a]);
      p.v.push_back(fill.velocity[a]);
    }
    p.volume.push_back(volume);
    p.material.push_back(fill.material);
    p.actuator.push_back(-1);
    ++added;
  }
  return added;
}

bool inside_cup(const mpm::Shape& cup, const mpm::Vector& x, double level, double gap) {
  if (x[1] > level) return false;
  const double radius = std::hypot(x[0], x[2]);
  bool walled = false, floored = false;
  for (std::size_t i = 0; i + 1 < cup.profile.size(); ++i) {
    const auto &a = cup.profile[i], &b = cup.profile[i + 1];
    // A piece of wall at this height further out than the point, a piece of floor at this radius below it.
    if (std::min(a[1], b[1]) <= x[1] && x[1] <= std::max(a[1], b[1]) && a[1] != b[1])
      walled = walled || a[0] + (b[0] - a[0]) * (x[1] - a[1]) / (b[1] - a[1]) > radius;
    if (std::min(a[0], b[0]) <= radius && radius <= std::max(a[0], b[0]) && a[0] != b[0])
      floored = floored || a[1] + (b[1] - a[1]) * (radius - a[0]) / (b[0] - a[0]) < x[1];
  }
  return walled && floored && mpm::signed_distance(cup, x) >= gap;
}

}  // namespace costate::io
