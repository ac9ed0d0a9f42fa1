// Poses and sums of bodies in another precision: the numbers of a Mechanism are double, those of the
// particles need not be.
#pragma once

#include "costate/mpm/bodies/body_motion.h"
#include "costate/mpm/bodies/collider.h"

namespace costate::mpm {

namespace body_detail {

// One number in another precision, with its tangent.
template <class To, class From>
To number_as(const From& a) {
  if constexpr (is_dual<From>)
    return To(value_t<To>(a.v), value_t<To>(a.d[0]));
  else
    return To(a);
}
template <class To, class From>
Vec3<To> vector_as(const Vec3<From>& v) {
  return {number_as<To>(v.x), number_as<To>(v.y), number_as<To>(v.z)};
}

template <class To, class From>
BodySums<To> sums_as(const BodySums<From>& from) {
  BodySums<To> to;
  to.J = vector_as<To>(from.J), to.L = vector_as<To>(from.L);
  for (int i = 0; i < 6; ++i) to.K[i] = number_as<To>(from.K[i]), to.Kw[i] = number_as<To>(from.Kw[i]);
  for (int i = 0; i < 9; ++i) to.Kvw[i] = number_as<To>(from.Kvw[i]);
  return to;
}
template <class To, class From>
Pose<To> pose_as(const Pose<From>& from) {
  Pose<To> to;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) to.R.e[i][j] = number_as<To>(from.R.e[i][j]);
  to.c = vector_as<To>(from.c), to.V = vector_as<To>(from.V), to.W = vector_as<To>(from.W);
  to.mu = number_as<To>(from.mu);
  return to;
}

}  // namespace body_detail

}  // namespace costate::mpm
