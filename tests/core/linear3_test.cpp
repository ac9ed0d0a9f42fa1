#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "costate/ad/dual.h"
#include "costate/core/mat3.h"
#include "costate/core/quat.h"
#include "costate/core/vec3.h"

namespace costate {
namespace {

using D1 = Dual<double>;
using V = Vec3<double>;
using M = Mat3<double>;
using Q = Quat<double>;

struct Random {
  std::mt19937 engine{5};
  std::normal_distribution<double> normal;
  double number() { return normal(engine); }
  V vector() { return {number(), number(), number()}; }
  M matrix() {
    M r;
    for (auto& row : r.e)
      for (double& x : row) x = number();
    return r;
  }
  Sym3<double> symmetric() { return {number(), number(), number(), number(), number(), number()}; }
  Q rotation() { return normalized(Q{number(), number(), number(), number()}); }
};

void expect_near(const V& a, const V& b, double tolerance = 1e-14) {
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], tolerance) << "component " << i;
}
void expect_near(const M& a, const M& b, double tolerance = 1e-14) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_NEAR(a(i, j), b(i, j), tolerance) << i << ", " << j;
}
// Quaternions q and -q are one rotation: compare what they do.
void expect_same_rotation(const Q& a, const Q& b, double tolerance = 1e-14) {
  expect_near(to_matrix(a), to_matrix(b), tolerance);
}

TEST(Vec3, DotCrossAndNormFollowTheirDefinitions) {
  const V a{1, 2, 3}, b{-4, 5, 0.5};
  EXPECT_EQ(dot(a, b), -4 + 10 + 1.5);
  expect_near(cross(a, b), {2 * 0.5 - 3 * 5, 3 * -4 - 1 * 0.5, 1 * 5 - 2 * -4});
  EXPECT_DOUBLE_EQ(norm(a), std::sqrt(14.0));
  EXPECT_DOUBLE_EQ(norm(normalized(b)), 1);
  expect_near(2 * a - b / 2 + a * 0.5 - (-a), {5.5, 4.5, 10.25});
}

TEST(Vec3, TheZeroVectorHasNoDirectionAndNoNaN) {
  const Vec3<D1> zero{D1::variable(0), D1(0), D1(0)};
  EXPECT_EQ(norm(zero).v, 0);
  EXPECT_EQ(norm(zero).d[0], 0);
  EXPECT_EQ(normalized(zero).x.v, 0);
  EXPECT_TRUE(is_finite(normalized(zero).x));
  Vec3<Pack<double, 4>> p{1.0, 2.0, 2.0};
  p.x.set(2, 0);
  p.y.set(2, 0);
  p.z.set(2, 0);
  EXPECT_EQ(norm(p)[1], 3);
  EXPECT_EQ(norm(p)[2], 0);
  EXPECT_EQ(normalized(p).x[2], 0);
}

TEST(Mat3, ProductsInverseAndDeterminantObeyTheirLaws) {
  Random random;
  for (int trial = 0; trial < 20; ++trial) {
    const M a = random.matrix(), b = random.matrix();
    const V u = random.vector(), v = random.vector();
    expect_near((a * b) * v, a * (b * v), 1e-13);
    expect_near(transpose_times(a, v), transpose(a) * v);
    EXPECT_NEAR(determinant(a * b), determinant(a) * determinant(b), 1e-12);
    expect_near(a * inverse(a), M::identity(), 1e-10);
    expect_near(cofactors(a), determinant(a) * transpose(inverse(a)), 1e-11);
    expect_near(skew(u) * v, cross(u, v));
    expect_near(outer(u, v) * u, dot(v, u) * u);
    EXPECT_NEAR(contract(a, b), trace(transpose(a) * b), 1e-13);
    expect_near(2.0 * a - a + M::zero(), a);
  }
  EXPECT_EQ(determinant(M::diagonal(2, 3, 4)), 24);
}

TEST(Mat3, DerivativeOfTheDeterminantIsTheCofactorMatrix) {
  Random random;
  const M a = random.matrix(), cofactor = cofactors(a);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      Mat3<D1> m;
      for (int k = 0; k < 9; ++k) m.e[k / 3][k % 3] = D1(a.e[k / 3][k % 3]);
      m(i, j).d[0] = 1;
      EXPECT_NEAR(determinant(m).d[0], cofactor(i, j), 1e-14);
    }
  }
}

TEST(Sym3, AgreesWithTheFullMatrix) {
  Random random;
  for (int trial = 0; trial < 20; ++trial) {
    const Sym3<double> s = random.symmetric(), t = random.symmetric();
    const M a = random.matrix();
    const V v = random.vector();
    expect_near(s * v, s.full() * v);
    expect_near((s + t - 0.5 * s).full(), s.full() + t.full() - 0.5 * s.full());
    expect_near(congruence(a, s).full(), a * s.full() * transpose(a), 1e-13);
    EXPECT_NEAR(determinant(s), determinant(s.full()), 1e-13);
    expect_near(inverse(s).full(), inverse(s.full()), 1e-10);
    expect_near(outer(v).full(), outer(v, v));
    expect_near(symmetric_part(a).full(), 0.5 * (a + transpose(a)));
    EXPECT_EQ(trace(s), trace(s.full()));
  }
}

TEST(Quat, ProductComposesRotationsAndTheMatrixAgrees) {
  Random random;
  for (int trial = 0; trial < 20; ++trial) {
    const Q a = random.rotation(), b = random.rotation();
    const V v = random.vector();
    expect_near(rotate(a * b, v), rotate(a, rotate(b, v)), 1e-14);
    expect_near(to_matrix(a) * v, rotate(a, v), 1e-14);
    expect_near(rotate_back(a, rotate(a, v)), v, 1e-14);
    expect_near(to_matrix(a) * transpose(to_matrix(a)), M::identity());
    EXPECT_NEAR(determinant(to_matrix(a)), 1, 1e-14);
  }
  // A quarter turn about z takes x to y.
  expect_near(rotate(Q{std::sqrt(0.5), 0, 0, std::sqrt(0.5)}, V{1, 0, 0}), {0, 1, 0});
}

TEST(Quat, ExpAndLogAreInverseAtEverySizeOfAngle) {
  Random random;
  for (const double angle : {0.0, 1e-300, 1e-12, 1e-5, 0.03, 0.0999, 0.1001, 0.5, 2.0, 3.1}) {
    for (int trial = 0; trial < 5; ++trial) {
      const V phi = angle * normalized(random.vector());
      const Q q = exp_map(phi);
      EXPECT_NEAR(dot(q, q), 1, 1e-15);
      expect_near(log_map(q), phi, 1e-15 + 4e-15 * angle);
      expect_near(log_map(Q{-q.w, -q.x, -q.y, -q.z}), phi, 1e-15 + 4e-15 * angle);
      // Rodrigues' formula.
      const double s = angle > 0 ? std::sin(angle) / angle : 1;
      const double c = angle > 1e-6 ? (1 - std::cos(angle)) / (angle * angle) : 0.5;
      expect_near(to_matrix(q), M::identity() + s * skew(phi) + c * (skew(phi) * skew(phi)), 2e-15);
    }
  }
}

TEST(Quat, IntegratesAConstantRateExactly) {
  const V rate{0.3, -2, 1};
  Q q = exp_map(V{0.2, 0.1, -0.4});
  const Q start = q;
  for (int i = 0; i < 1000; ++i) q = integrate(q, rate, 0.01);
  expect_same_rotation(q, start * exp_map(10.0 * rate), 1e-12);
  EXPECT_NEAR(dot(q, q), 1, 1e-15);
}

// Directional derivative of f: R^3 -> R^n by Dual, against the six-point stencil.
template <class F>
void check_direction(const F& f, const V& at, const V& direction) {
  const double h = 1e-3;
  const auto along = [&](double t) { return f(Vec3<double>(at + t * direction)); };
  const auto dual = f(Vec3<D1>{{at.x, direction.x}, {at.y, direction.y}, {at.z, direction.z}});
  for (int i = 0; i < 3; ++i) {
    const double stencil = (45 * (along(h)[i] - along(-h)[i]) - 9 * (along(2 * h)[i] - along(-2 * h)[i]) +
                            (along(3 * h)[i] - along(-3 * h)[i])) /
                           (60 * h);
    EXPECT_NEAR(dual[i].d[0], stencil, 1e-11) << "component " << i;
  }
}

TEST(Quat, DerivativesOfTheMapsMatchTheStencilAlsoAtZero) {
  Random random;
  const auto rotate_by = [](const auto& phi) {
    using S = std::decay_t<decltype(phi.x)>;
    return rotate(exp_map(phi), Vec3<S>{S(0.3), S(-1), S(2)});
  };
  const auto round_trip = [](const auto& phi) {
    using S = std::decay_t<decltype(phi.x)>;
    return log_map(exp_map(phi) * exp_map(Vec3<S>{S(0.4), S(0.2), S(-0.1)}));
  };
  const auto log_near_identity = [](const auto& phi) { return log_map(exp_map(phi)); };
  for (const double size : {0.0, 1e-8, 0.05, 0.1, 0.7, 2.0}) {
    const V at = size * normalized(random.vector());
    check_direction(rotate_by, at, random.vector());
    check_direction(round_trip, at, random.vector());
    check_direction(log_near_identity, at, random.vector());
  }
}

TEST(Quat, SecondDerivativeOfARotationAtZeroIsTheDoubleCrossProduct) {
  // exp(t w) v = v + t w x v + t^2/2 w x (w x v) + ...
  using D2 = Dual<D1>;
  const V w{0.3, -1, 2}, v{1, 2, -0.5};
  const auto moving = [](double a) { return D2(D1(0, a), D1(a, 0)); };
  const Vec3<D2> r =
      rotate(exp_map(Vec3<D2>{moving(w.x), moving(w.y), moving(w.z)}), Vec3<D2>{D2(v.x), D2(v.y), D2(v.z)});
  expect_near({r.x.d[0].v, r.y.d[0].v, r.z.d[0].v}, cross(w, v));
  expect_near({r.x.d[0].d[0], r.y.d[0].d[0], r.z.d[0].d[0]}, cross(w, cross(w, v)));
}

TEST(Quat, PacksComputeWhatScalarsCompute) {
  using P = Pack<double, 8>;
  Random random;
  V phi[8];
  Vec3<P> packed{P(0.0), P(0.0), P(0.0)};
  for (int i = 0; i < 8; ++i) {
    phi[i] = (i == 3 ? 0.0 : i == 4 ? 1e-9 : 1.0) * random.vector();
    for (int k = 0; k < 3; ++k) packed[k].set(i, phi[i][k]);
  }
  const Vec3<P> r = log_map(integrate(Quat<P>::identity(), packed, P(0.5)));
  for (int i = 0; i < 8; ++i)
    expect_near({r.x[i], r.y[i], r.z[i]}, log_map(integrate(Q::identity(), phi[i], 0.5)), 1e-15);
}

}  // namespace
}  // namespace costate
