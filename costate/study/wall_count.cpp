#include "costate/study/wall_count.h"

#include <algorithm>

#include "costate/core/text.h"
#include "costate/mpm/bodies/collider.h"

namespace costate::study {

WallCount::WallCount(const mpm::Model& model)
    : model_(model),
      seen_(model.colliders.size(), std::vector<Seen>(std::size_t(mpm::particle_count(model)))) {}

void WallCount::look(std::size_t collider, const std::array<double, 3>& position,
                     const std::array<double, 3>& rotation, const double* x) {
  const mpm::Collider& c = model_.colliders[collider];
  if (c.contact == mpm::Contact::none) return;
  const std::size_t dimension = std::size_t(model_.dimension);
  const Mat3<double> R = mpm::rotation_matrix(Vec3<double>{rotation[0], rotation[1], rotation[2]});
  const double far = 4 * model_.dx * model_.dx;
  for (std::size_t i = 0; i < seen_[collider].size(); ++i) {
    Vec3<double> y = Vec3<double>::zero();
    for (std::size_t d = 0; d < dimension; ++d) y[int(d)] = x[i * dimension + d] - position[d];
    const Vec3<double> l = transpose_times(R, y);
    Seen& before = seen_[collider][i];
    const double at[3] = {l.x, l.y, l.z};
    const bool inside = mpm::distance(c.shape, at, model_.dimension) < 0;
    if (!inside && !before.inside) continue;
    const Vec3<double> n = mpm::distance_at(c.shape, l, model_.dimension).gradient;
    if (before.inside) {
      const Vec3<double> was{before.normal[0], before.normal[1], before.normal[2]},
          way{l.x - before.at[0], l.y - before.at[1], l.z - before.at[2]};
      if (dot(n, was) < -0.5 && dot(way, way) < far) before.crossed = !before.crossed;
    }
    if (!inside) {
      before.passed = before.passed || before.crossed;
      before.crossed = false;
    }
    before.inside = inside;
    for (int a = 0; a < 3; ++a) {
      before.at[std::size_t(a)] = float(l[a]);
      before.normal[std::size_t(a)] = float(n[a]);
    }
  }
}

std::vector<std::string> WallCount::notes() const {
  std::vector<std::string> list;
  for (std::size_t c = 0; c < seen_.size(); ++c) {
    const auto passed =
        std::count_if(seen_[c].begin(), seen_[c].end(), [](const Seen& s) { return s.passed; });
    if (passed == 0) continue;
    list.push_back(std::to_string(passed) + " of " + std::to_string(seen_[c].size()) +
                   " particles have passed through the wall of '" + model_.colliders[c].name +
                   "': make it six cells thick (" + number(6 * model_.dx, 3) + "), raise its band above " +
                   number(model_.colliders[c].band, 3) + ", or reduce dx");
  }
  return list;
}

}  // namespace costate::study
