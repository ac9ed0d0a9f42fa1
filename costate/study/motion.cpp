#include "costate/study/motion.h"

#include "costate/core/quat.h"

namespace costate::study {
namespace {

using Vec = Vec3<double>;
Vec vec(const std::array<double, 3>& a) { return {a[0], a[1], a[2]}; }

}  // namespace

BodyState motion_at(const Motion& motion, const std::vector<Path>& paths, double duration, double t) {
  const Path& turn = paths[motion.angle];
  const double angle = turn.at(t, duration), rate = turn.at(t, duration, 1);
  const Vec n = vec(motion.axis), arm = rotate(exp_map(angle * n), vec(motion.pivot)), swing = cross(n, arm);
  BodyState s;
  for (int i = 0; i < 3; ++i) {
    const std::size_t k = i;
    const Path& path = paths[motion.position[k]];
    s.position[k] = path.at(t, duration) - arm[i];
    s.velocity[k] = path.at(t, duration, 1) - rate * swing[i];
    s.rotation[k] = angle * n[i];
    s.angular_velocity[k] = rate * n[i];
  }
  return s;
}

void motion_at_vjp(const Motion& motion, const std::vector<Path>& paths, double duration, double t,
                   const BodyState& bar, std::vector<Path>& paths_bar) {
  const Path& turn = paths[motion.angle];
  const double angle = turn.at(t, duration), rate = turn.at(t, duration, 1);
  const Vec n = vec(motion.axis), arm = rotate(exp_map(angle * n), vec(motion.pivot)), swing = cross(n, arm);
  const auto add = [&](std::size_t path, int derivative, double value_bar) {
    add_transpose(paths[path].weights(t, duration, derivative), value_bar, paths_bar[path].points);
  };
  for (std::size_t k = 0; k < 3; ++k) {
    add(motion.position[k], 0, bar.position[k]);
    add(motion.position[k], 1, bar.velocity[k]);
  }
  add(motion.angle, 0,
      dot(n, vec(bar.rotation)) - dot(swing, vec(bar.position)) -
          rate * dot(cross(n, swing), vec(bar.velocity)));
  add(motion.angle, 1, dot(n, vec(bar.angular_velocity)) - dot(swing, vec(bar.velocity)));
}

}  // namespace costate::study
