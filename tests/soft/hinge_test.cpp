// The angle of a hinge, its derivatives, and the energy of bending, against digits from mpmath.
#include <gtest/gtest.h>

#include "costate/soft/elements/hinge.h"
#include "costate/soft/elements/hinge_term.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;
const V kX[4] = {{0, 0, 0}, {1, .1, .05}, {.3, .8, .1}, {.45, -.7, .35}};
const double kW[12] = {1, -2, 3, 0, 1, -1, 2, 1, 0, -1, 2, 1};

TEST(Hinge, AngleGradientAndCurvatureHaveThePublishedDigits) {
  const double gradient[12] = {-0.09525320342101619, 0.2118217290210681,  1.481420610378187,
                               -0.06054524678005189, 0.1398015693082173,  0.9313017969846031,
                               0.05022572720976192,  0.1423062270943255,  -1.289126998383889,
                               0.1055727229913061,   -0.4939295254236109, -1.123595408978901};
  const double curved[12] = {4.382173974787564,   7.173190138248904,   1.909421248321503,  3.285358906191448,
                             -0.2270324347973248, -0.3479685895601322, -5.262363665542492, -3.706902899748498,
                             1.997060158171399,   -2.405169215436519,  -3.239254803703081, -3.55851281693277};
  const HingeAngle angle = hinge_angle(kX);
  const HingeCurvature h = hinge_curvature(kX);
  EXPECT_NEAR(angle.theta, -0.5251418809393405, 1e-15);
  for (int a = 0; a < 4; ++a) {
    V along = V::zero();
    for (int b = 0; b < 4; ++b) along += h.block[a][b] * V{kW[3 * b], kW[3 * b + 1], kW[3 * b + 2]};
    for (int d = 0; d < 3; ++d) {
      EXPECT_NEAR(angle.gradient[a][d], gradient[3 * a + d], 1e-14) << a << d;
      EXPECT_NEAR(along[d], curved[3 * a + d], 1e-13) << a << d;
      for (int b = 0; b < 4; ++b)
        for (int e = 0; e < 3; ++e) EXPECT_NEAR(h.block[a][b](d, e), h.block[b][a](e, d), 1e-13);
    }
  }
}

TEST(Hinge, EnergyHasThePublishedDigits) {
  // Parameters: rest positions, bending, viscosity.
  const std::vector<double> p = {0, 0, 0, 1, 0, 0, .4, .8, 0, .5, -.75, 0, 0.01, 0};
  std::vector<double> x;
  for (const V& v : kX) x.insert(x.end(), {v.x, v.y, v.z});
  const Part part{"two", Cells::triangles, {0, 1, 2, 1, 0, 3}, 0};
  const auto term = hinge_term(part, {.rest = 0, .bending = 12, .viscosity = 13});
  ASSERT_EQ(term->groups().vertex, (std::vector<int>{0, 1, 2, 3}));
  std::vector<double> kept(std::size_t(term->kept()));
  term->keep(p.data(), kept.data());
  const At at{x.data(), x.data(), x.data(), p.data(), nullptr, 1, kept.data()};
  double W = 0, slots[12], blocks[90];
  term->energy(at, &W);
  term->residual(at, slots);
  term->matrix(at, blocks);
  EXPECT_NEAR(W, 0.010675122391606779, 1e-16);
  const double gradient[12] = {0.003872628109162069,  -0.008611855060795898, -0.06022885206164959,
                               0.002461536369755845,  -0.005683792959854618, -0.03786314147540766,
                               -0.002041984479366239, -0.005785622691537678, 0.05241093497040014,
                               -0.004292179999551675, 0.02008127071218819,   0.04568105856665711};
  const double diagonal[12] = {0.008497462435386877,   0.04311747642390284, 0.1224662463665726,
                               -0.00446153227996245,   0.0307442169335919,  0.04266182446292141,
                               -0.0003567944047397976, 0.01642114277818666, 0.114358008057972,
                               0.001610756772899708,   0.0639454338997228,  0.05193376692764511};
  const int own[4] = {0, 4, 7, 9};  // blocks (a, a)
  for (int i = 0; i < 12; ++i) {
    EXPECT_NEAR(slots[i], gradient[i], 1e-15) << i;
    EXPECT_NEAR(blocks[9 * own[i / 3] + 4 * (i % 3)], diagonal[i], 1e-14) << i;
  }
  // With the rest angle from the rest shape.
  const double by_rest[12] = {-0.01067512239160678,
                              0.0006887175736520503,
                              0.05759620629657283,
                              0.01067512239160678,
                              -0.0006887175736520503,
                              0.04743216989129527,
                              0.0,
                              -0.006887175736520503,
                              -0.05082018202638779,
                              0.0,
                              0.006887175736520503,
                              -0.05420819416148031};
  const double h = 1e-4;
  for (int i = 0; i < 12; ++i) {
    double slope = 0;
    for (int k = 1; k <= 3; ++k)
      for (const int side : {-1, 1}) {
        std::vector<double> moved = p;
        moved[std::size_t(i)] += side * k * h;
        At there = at;
        there.p = moved.data();
        term->keep(moved.data(), kept.data());
        term->energy(there, &W);
        slope += side * (k == 1 ? 45 : k == 2 ? -9 : 1) / (60 * h) * W;
      }
    EXPECT_NEAR(slope, by_rest[i], 1e-12) << i;
  }
}

}  // namespace
}  // namespace costate::soft
