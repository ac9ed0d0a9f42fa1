#include "costate/rigid/dynamics/so3.h"

#include <gtest/gtest.h>

#include "costate/ad/dual.h"
#include "costate/rigid/dynamics/kinematics.h"

namespace costate::rigid {
namespace {

using D = Dual<double, 6>;

Vec3<D> variables(const Vec3<double>& v, int first) {
  return {D::variable(v.x, first), D::variable(v.y, first + 1), D::variable(v.z, first + 2)};
}
double component(const Vec3<double>& v, int i) { return v[i]; }

// Small angles are summed as series, large ones evaluated: both sides of the change, and zero.
const double kLengths[] = {0, 1e-8, 1e-3, 0.0999, 0.1001, 1.0, 2.5, 3.1};

TEST(So3, TransposedJacobianOfExpMatchesDual) {
  for (double length : kLengths) {
    const Vec3<double> phi = length * Vec3<double>{0.6, -0.48, 0.64}, bar{0.3, -0.7, 1.1};
    // Body rate of exp along d phi_i: 2 vec(conj(q) dq_i).
    const Quat<D> q = exp_map(variables(phi, 0));
    const Quat<double> value{q.w.v, q.x.v, q.y.v, q.z.v};
    const Vec3<double> transposed = exp_jacobian_transpose(phi, bar);
    for (int i = 0; i < 3; ++i) {
      const Quat<double> rate{q.w.d[i], q.x.d[i], q.y.d[i], q.z.d[i]};
      EXPECT_NEAR(component(transposed, i), dot(bar, 2.0 * (conjugate(value) * rate).vec()), 1e-13) << length;
    }
  }
}

TEST(So3, LogJacobianInvertsThatOfExp) {
  for (double length : kLengths) {
    const Vec3<double> phi = length * Vec3<double>{0.6, -0.48, 0.64}, e{0.3, -0.7, 1.1};
    const Vec3<double> back = exp_jacobian_transpose(phi, log_jacobian_transpose(phi, e));
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(component(back, i), component(e, i), 1e-12) << length;
  }
}

TEST(So3, TransposeOfTheLogJacobiansProductMatchesDual) {
  for (double length : kLengths) {
    const Vec3<double> phi = length * Vec3<double>{0.6, -0.48, 0.64}, w{-0.4, 1.2, 0.5}, bar{0.3, -0.7, 1.1};
    const Vec3<D> r = log_jacobian(variables(phi, 0), variables(w, 3));
    Vec3<double> phi_bar, w_bar;
    log_jacobian_vjp(phi, w, bar, phi_bar, w_bar);
    for (int i = 0; i < 3; ++i) {
      const auto slope = [&](int k) { return bar.x * r.x.d[k] + bar.y * r.y.d[k] + bar.z * r.z.d[k]; };
      EXPECT_NEAR(component(phi_bar, i), slope(i), 1e-11) << length;
      EXPECT_NEAR(component(w_bar, i), slope(3 + i), 1e-12) << length;
    }
  }
}

TEST(So3, CotangentOfAQuaternionIsOrthogonalToIt) {
  const double raw[4] = {1.2, -0.4, 0.7, 0.3};
  double inverse;
  const Quat<double> unit = unit_quat(raw, inverse);
  const Quat<double> bar = quat_cotangent(unit, inverse, Vec3<double>{0.3, -0.7, 1.1});
  EXPECT_NEAR(dot(bar, unit), 0, 1e-15);
}

}  // namespace
}  // namespace costate::rigid
