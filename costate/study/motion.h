// Motion: how a collider moves, as four paths, and the transpose of that.
//
// p(t) is the path of a pivot (a point c fixed to the shape: the lip of a jug), theta(t) the angle about a
// fixed axis n. With R = exp([theta n]x) and c_t = R c, the origin of the shape has
//
//   position          x = p - c_t                    x_theta = -n x c_t
//   rotation          phi = theta n
//   velocity          v = p' - theta' n x c_t         v_theta = -theta' n x (n x c_t),  v_theta' = -n x c_t
//   angular velocity  omega = theta' n
//
// so the velocities are the derivatives of the pose, which the physics does not enforce. In two dimensions n
// is the z axis.
// Tests: tests/study/path_test.cpp.
#pragma once

#include <array>
#include <string>

#include "costate/study/path.h"

namespace costate::study {

struct Motion {
  std::string collider;
  std::array<std::size_t, 3> position = {0, 1, 2};  // which paths of the inputs, all of them splines
  std::size_t angle = 3;
  std::array<double, 3> axis = {0, 0, 1}, pivot = {0, 0, 0};
};

// Of the shape's origin.
struct BodyState {
  std::array<double, 3> position = {}, rotation = {}, velocity = {}, angular_velocity = {};
};
BodyState motion_at(const Motion& motion, const std::vector<Path>& paths, double duration, double t);
// Adds to the points of paths_bar, which have the lengths of those of `paths`.
void motion_at_vjp(const Motion& motion, const std::vector<Path>& paths, double duration, double t,
                   const BodyState& bar, std::vector<Path>& paths_bar);

}  // namespace costate::study
