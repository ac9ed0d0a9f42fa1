#include "costate/control/state_space.h"

#include <string>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/quat.h"
#include "costate/rigid/model.h"

namespace costate::control {
namespace {

using Q = Quat<double>;
using V = Vec3<double>;

Q quat_at(const double* x) { return {x[0], x[1], x[2], x[3]}; }
V vector_at(const double* d) { return {d[0], d[1], d[2]}; }
void put(const Q& q, double* x) { x[0] = q.w, x[1] = q.x, x[2] = q.y, x[3] = q.z; }
void put(const V& v, double* d) { d[0] = v.x, d[1] = v.y, d[2] = v.z; }
Q pure(const V& v) { return {0, v.x, v.y, v.z}; }

}  // namespace

StateSpace::StateSpace(int states, std::vector<int> quaternions)
    : states_(states), quaternions_(std::move(quaternions)) {
  for (std::size_t i = 0; i < quaternions_.size(); ++i) {
    const int first = i == 0 ? 0 : quaternions_[i - 1] + 4;
    if (quaternions_[i] < first || quaternions_[i] + 4 > states)
      throw Error("a quaternion at state " + std::to_string(quaternions_[i]) + ", but there are " +
                  std::to_string(states) + " states, and quaternions come in rising order without overlap");
  }
}

// plain(i, j): number i of the state is tangent j. turned(i, j): a quaternion begins at i, its rotation at j.
template <class Plain, class Turned>
void StateSpace::walk(const Plain& plain, const Turned& turned) const {
  std::size_t next = 0;
  for (int i = 0, j = 0; i < states_;) {
    if (next < quaternions_.size() && quaternions_[next] == i)
      turned(i, j), i += 4, j += 3, ++next;
    else
      plain(i, j), ++i, ++j;
  }
}

void StateSpace::move(const double* x, const double* d, double* y) const {
  walk([&](int i, int j) { y[i] = x[i] + d[j]; },
       [&](int i, int j) { put(normalized(quat_at(x + i) * exp_map(vector_at(d + j))), y + i); });
}

void StateSpace::difference(const double* y, const double* x, double* d) const {
  walk([&](int i, int j) { d[j] = y[i] - x[i]; },
       [&](int i, int j) {
         put(log_map(conjugate(normalized(quat_at(x + i))) * normalized(quat_at(y + i))), d + j);
       });
}

void StateSpace::rate_of(const double* x, const double* d, double* x_dot) const {
  walk([&](int i, int j) { x_dot[i] = d[j]; },
       [&](int i, int j) { put(quat_at(x + i) * pure(0.5 * vector_at(d + j)), x_dot + i); });
}

void StateSpace::tangent_of(const double* x, const double* x_dot, double* d) const {
  walk([&](int i, int j) { d[j] = x_dot[i]; },
       [&](int i, int j) { put(2.0 * (conjugate(quat_at(x + i)) * quat_at(x_dot + i)).vec(), d + j); });
}

void StateSpace::pull(const double* x, const double* x_bar, double* d_bar) const {
  walk([&](int i, int j) { d_bar[j] = x_bar[i]; },
       [&](int i, int j) { put(0.5 * (conjugate(quat_at(x + i)) * quat_at(x_bar + i)).vec(), d_bar + j); });
}

void StateSpace::lift(const double* x, const double* d_bar, double* x_bar) const {
  walk([&](int i, int j) { x_bar[i] = d_bar[j]; },
       [&](int i, int j) { put(quat_at(x + i) * pure(2.0 * vector_at(d_bar + j)), x_bar + i); });
}

void StateSpace::bend(const double* x, const double* x_bar, double* H, int stride) const {
  walk([](int, int) {},
       [&](int i, int j) {
         const double curvature = -0.25 * dot(quat_at(x + i), quat_at(x_bar + i));
         for (int a = 0; a < 3; ++a) H[(j + a) * stride + j + a] += curvature;
       });
}

StateSpace space_of(const rigid::Model& model) {
  std::vector<int> quaternions;
  for (const rigid::Joint& joint : model.joints) {
    if (joint.type == rigid::JointType::free) quaternions.push_back(joint.qpos + 3);
    if (joint.type == rigid::JointType::ball) quaternions.push_back(joint.qpos);
  }
  return StateSpace(model.nq + model.nv + model.na, quaternions);
}

}  // namespace costate::control
