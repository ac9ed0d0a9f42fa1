// Observed: a quantity of a model, resolved to indices and addresses. resolve.h makes it of a path.
#pragma once

#include <vector>

#include "costate/rigid/dynamics/kinematics.h"

namespace costate::rigid {

// Numbers [at, at + size) of what is observed.
struct Observed {
  enum class Kind {
    state,
    // of one frame: observe.h
    position,
    axis,
    quaternion,
    field,
    velocity,
    angular_velocity,
    acceleration,
    angular_acceleration,
    // of several bodies: observe_sums.h
    mean,
    mean_velocity,
    angular_momentum,
    kinetic,
    weight,
    spring,
    tendon_length,
    tendon_velocity,
    // of forces: observe_forces.h
    force,
    torque,
    contact,
    contact_torque,
    touch,
    actuator_force,
    actuator_length,
    actuator_velocity,
  } kind = Kind::state;
  int at = 0, size = 1;
  int state = 0;  // of Kind::state: first number of the state
  int body = 0;
  int column = 0;      // of Kind::axis
  int element = -1;    // actuator, tendon, the site of a touch, the geom of a contact (-1: all of the body)
  bool local = false;  // in the axes of its own frame
  bool weightless = true;  // of an acceleration: without the -gravity that an accelerometer feels
  double cutoff = 0;       // > 0: what a sensor shows at most
  // The frame in its body; where these are parameters, their addresses.
  Double3 pos = {0, 0, 0};
  Double4 quat = kNoRotation;
  int pos_parameter = kAbsent, quat_parameter = kAbsent, inverse_quat_norm = kAbsent;
  Double3 vector = {0, 0, 0};    // of Kind::field, world axes
  std::vector<int> bodies = {};  // of sums; of a force those that the body carries, with itself first

  // The accelerations of the state are needed, and with them its contacts.
  bool needs_accelerations() const {
    return kind == Kind::acceleration || kind == Kind::angular_acceleration || kind == Kind::force ||
           kind == Kind::torque || of_contact() || kind == Kind::touch;
  }
  bool of_contact() const { return kind == Kind::contact || kind == Kind::contact_torque; }
  bool of_actuator() const {
    return kind == Kind::actuator_force || kind == Kind::actuator_length || kind == Kind::actuator_velocity;
  }
  bool needs_controls() const { return needs_accelerations() || kind == Kind::actuator_force; }
};

template <class S>
COSTATE_INLINE Vec3<S> constant(const Double3& v) {
  using Real = value_t<S>;
  return {S(Real(v[0])), S(Real(v[1])), S(Real(v[2]))};
}
template <class S>
COSTATE_INLINE Vec3<S> local_position(const Observed& o, const S* p) {
  return o.pos_parameter >= 0 ? vec3_at(p + o.pos_parameter) : constant<S>(o.pos);
}
template <class S>
COSTATE_INLINE Quat<S> local_frame(const Observed& o, const S* p) {
  using Real = value_t<S>;
  if (o.quat_parameter >= 0) return quat_at(p + o.quat_parameter);
  return {S(Real(o.quat[0])), S(Real(o.quat[1])), S(Real(o.quat[2])), S(Real(o.quat[3]))};
}
// X: about the origin of its tree.
template <class S>
COSTATE_INLINE Vec3<S> arm_of(const Observed& o, const S* p, const Data<S>& d) {
  return d.x[o.body] + d.R[o.body] * local_position(o, p);
}
// From its own axes to the world's.
template <class S>
COSTATE_INLINE Mat3<S> frame_of(const Observed& o, const S* p, const Data<S>& d) {
  return d.R[o.body] * to_matrix(local_frame(o, p));
}
// In the axes that are asked for, and back.
template <class S>
COSTATE_INLINE Vec3<S> shown(const Observed& o, const S* p, const Vec3<S>& world, const Data<S>& d) {
  return o.local ? transpose_times(frame_of(o, p, d), world) : world;
}
template <class S>
COSTATE_INLINE Vec3<S> world_cotangent(const Observed& o, const S* p, const S* z_bar, const Data<S>& d) {
  const Vec3<S> bar = vec3_at(z_bar + o.at);
  return o.local ? frame_of(o, p, d) * bar : bar;
}

// Cotangents of a frame's own place and turn in its body, given those in the world (a force and a moment).
template <class S>
COSTATE_INLINE void shift_vjp(const Observed& o, const Vec3<S>& force, S* p_bar, const Data<S>& d) {
  if (p_bar && o.pos_parameter >= 0) add_to(p_bar + o.pos_parameter, transpose_times(d.R[o.body], force));
}
template <class S>
COSTATE_INLINE void turn_vjp(const Observed& o, const S* p, const Vec3<S>& moment, S* p_bar,
                             const Data<S>& d) {
  if (!p_bar || o.quat_parameter < 0) return;
  const Quat<S> frame = local_frame(o, p);
  add_to(p_bar + o.quat_parameter, quat_cotangent(frame, p[o.inverse_quat_norm],
                                                  rotate_back(frame, transpose_times(d.R[o.body], moment))));
}

}  // namespace costate::rigid
