// Transposes of products with a matrix: y = R v and y = R^T v, with R as nine numbers.
#pragma once

#include "costate/core/mat3.h"

namespace costate::geometry {

template <class S>
COSTATE_INLINE void add_to_column(Mat3<S>& m, int j, const Vec3<S>& v) {
  m.e[0][j] += v.x;
  m.e[1][j] += v.y;
  m.e[2][j] += v.z;
}
// y = R v
template <class S>
COSTATE_INLINE void times_vjp(const Mat3<S>& R, const Vec3<S>& v, const Vec3<S>& y_bar, Mat3<S>& R_bar,
                              Vec3<S>& v_bar) {
  R_bar += outer(y_bar, v);
  v_bar += transpose_times(R, y_bar);
}
// y = R^T v
template <class S>
COSTATE_INLINE void transpose_times_vjp(const Mat3<S>& R, const Vec3<S>& v, const Vec3<S>& y_bar,
                                        Mat3<S>& R_bar, Vec3<S>& v_bar) {
  R_bar += outer(v, y_bar);
  v_bar += R * y_bar;
}
// y = v / |v|, given y and 1 / |v|
template <class S>
COSTATE_INLINE Vec3<S> normalized_vjp(const Vec3<S>& y, const S& inverse_length, const Vec3<S>& y_bar) {
  return inverse_length * (y_bar - dot(y, y_bar) * y);
}

}  // namespace costate::geometry
