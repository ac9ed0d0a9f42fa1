// Closest points: squared distances, their gradients and curvatures, with digits from mpmath that are those
// of the IPC Toolkit to 1e-15; the barrier; the mollifier of edges.
#include "costate/soft/contact/closest.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/ad/dual.h"
#include "costate/ad/dual_functions.h"
#include "costate/core/philox.h"
#include "costate/soft/contact/pair.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;
using D12 = Dual<double, 12>;

struct Case {
  Closest kind;
  bool edges;
  double x[12], square, gradient[12], curved[12];  // curved: along kW
};
const double kW[12] = {1, -2, 3, 0, 1, -1, 2, 1, 0, -1, 2, 1};
const Case kCases[] = {
    {Closest::face,
     false,
     {0.35, 0.3, 0.25, 0.0, 0.0, 0.0, 1.0, 0.1, 0.05, 0.2, 0.9, -0.1},
     0.06920498084291188,
     {-0.03256704980842912, 0.06513409961685825, 0.5210727969348659, 0.0138049807094595, -0.02760996141891901,
      -0.2208796913513521, 0.01022044997471078, -0.02044089994942155, -0.1635271995953724,
      0.00854161912425884, -0.01708323824851768, -0.1366659059881414},
     {-0.6773855612539719, -0.5104326392475421, 5.449802557214369, 0.3473516904885962, 0.09594551420094287,
      -3.273530239525148, 0.2672579882274378, 0.05083706755128698, -2.585107906732313, 0.06277588253793788,
      0.3636500574953123, 0.4088355890430928}},
    {Closest::edge_01,
     false,
     {0.5, -0.2, 0.1, 0.0, 0.0, 0.0, 1.0, 0.1, 0.05, 0.2, 0.9, -0.1},
     0.06767901234567901,
     {0.04197530864197531, -0.4958024691358025, 0.1520987654320988, -0.0218686175887822, 0.2583069654016156,
      -0.07924157902758726, -0.02010669105319311, 0.2374955037341869, -0.07285718640451151, 0.0, 0.0, 0.0},
     {0.01274196006706295, -6.007120865721689, 7.038414875781131, -0.005143901204461078, 3.111983095019014,
      -3.661511881845774, -0.007598058862601869, 2.895137770702674, -3.376902993935357, 0.0, 0.0, 0.0}},
    {Closest::edge_12,
     false,
     {0.8, 0.7, 0.1, 0.0, 0.0, 0.0, 1.0, 0.1, 0.05, 0.2, 0.9, -0.1},
     0.09535508637236084,
     {0.3769673704414587, 0.4230326295585413, 0.2456813819577735, 0.0, 0.0, 0.0, -0.1939102788451266,
      -0.2176060359341441, -0.1263773711414267, -0.1830570915963322, -0.2054265936243972,
      -0.1193040108163468},
     {-3.707870218574202, -2.349711355322151, 4.162259938623863, 0.0, 0.0, 0.0, 0.8184651757035871,
      -0.01322204736262167, -2.850682326621054, 2.889405042870615, 2.362933402684773, -1.311577612002809}},
    {Closest::edge_20,
     false,
     {-0.2, 0.5, 0.1, 0.0, 0.0, 0.0, 1.0, 0.1, 0.05, 0.2, 0.9, -0.1},
     0.113953488372093,
     {-0.586046511627907, 0.1627906976744186, 0.2930232558139535, 0.3134667387777177, -0.08707409410492158,
      -0.1567333693888588, 0.0, 0.0, 0.0, 0.2725797728501893, -0.07571660356949703, -0.1362898864250946},
     {4.076798269334776, -1.770686857760952, 5.56625202812331, -0.5007609392883645, 0.4804859949438414,
      -3.817223640685726, 0.0, 0.0, 0.0, -3.576037330046411, 1.29020086281711, -1.749028387437584}},
    {Closest::corner_0,
     false,
     {-0.2, -0.15, 0.1, 0.0, 0.0, 0.0, 1.0, 0.1, 0.05, 0.2, 0.9, -0.1},
     0.0725,
     {-0.4, -0.3, 0.2, 0.4, 0.3, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
     {2.0, -6.0, 8.0, -2.0, 6.0, -8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}},
    {Closest::corner_1,
     false,
     {1.3, 0.05, 0.1, 0.0, 0.0, 0.0, 1.0, 0.1, 0.05, 0.2, 0.9, -0.1},
     0.095,
     {0.6, -0.1, 0.1, 0.0, 0.0, 0.0, -0.6, 0.1, -0.1, 0.0, 0.0, 0.0},
     {-2.0, -6.0, 6.0, 0.0, 0.0, 0.0, 2.0, 6.0, -6.0, 0.0, 0.0, 0.0}},
    {Closest::corner_2,
     false,
     {0.2, 1.3, 0.1, 0.0, 0.0, 0.0, 1.0, 0.1, 0.05, 0.2, 0.9, -0.1},
     0.2,
     {0.0, 0.8, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.8, -0.4},
     {4.0, -8.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -4.0, 8.0, -4.0}},
    {Closest::edges,
     true,
     {0.0, 0.0, 0.0, 1.0, 0.1, 0.2, 0.3, -0.5, 0.4, 0.6, 0.7, 0.3},
     0.06724021962937543,
     {0.05372836221511751, -0.03438615181767521, -0.25144873516675, 0.05368412920561001, -0.03435784269159041,
      -0.2512417246822548, -0.05510695767810146, 0.03526845291398493, 0.2579005619335148,
      -0.05230553374262607, 0.03347554159528068, 0.24478989791549},
     {-0.7373216288703237, 0.4899385721812867, -0.8029017567333084, -1.069361653831366, 0.7024293258651594,
      0.7545473989810613, 0.6817621633145183, -0.4548437223011338, 1.172060701147991, 1.124921119387172,
      -0.7375241757453123, -1.123706343395744}},
    {Closest::edge_end_0,
     true,
     {0.0, 0.0, 0.0, 1.0, 0.1, 0.2, 0.5, 0.3, 0.2, 0.6, 0.9, 0.6},
     0.07057142857142857,
     {0.03918367346938776, -0.2246530612244898, -0.08359183673469388, 0.04653061224489796,
      -0.2667755102040816, -0.09926530612244898, -0.08571428571428572, 0.4914285714285714, 0.1828571428571429,
      0.0, 0.0, 0.0},
     {0.1112536443148688, -0.1833236151603499, 1.429271137026239, 0.4765014577259475, -2.192186588921283,
      0.9625655976676385, -0.5877551020408163, 2.375510204081633, -2.391836734693878, 0.0, 0.0, 0.0}},
    {Closest::ends_11,
     true,
     {0.0, 0.0, 0.0, 1.0, 0.1, 0.2, 2.0, 0.9, 0.3, 1.3, 0.2, 0.3},
     0.11,
     {0.0, 0.0, 0.0, -0.6, -0.2, -0.2, 0.0, 0.0, 0.0, 0.6, 0.2, 0.2},
     {0.0, 0.0, 0.0, 2.0, -2.0, -4.0, 0.0, 0.0, 0.0, -2.0, 2.0, 4.0}},
    {Closest::end_0_edge,
     true,
     {0.5, 0.3, 0.2, 0.6, 0.9, 0.6, 0.0, 0.0, 0.0, 1.0, 0.1, 0.2},
     0.07057142857142857,
     {-0.08571428571428572, 0.4914285714285714, 0.1828571428571429, 0.0, 0.0, 0.0, 0.03918367346938776,
      -0.2246530612244898, -0.08359183673469388, 0.04653061224489796, -0.2667755102040816,
      -0.09926530612244898},
     {-1.08843537414966, -7.320272108843537, 4.445170068027211, 0.0, 0.0, 0.0, 0.3970456754130224,
      3.922752186588921, -1.817624878522838, 0.6913896987366375, 3.397519922254616, -2.627545189504373}},
};

// grad_i d^2 = 2 w_i c
template <class S>
void squared_distance(Closest kind, const Vec3<S> (&x)[4], S& square, Vec3<S> (&g)[4]) {
  S w[4];
  closest_weights(kind, x, w);
  const Vec3<S> c = w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + w[3] * x[3];
  square = dot(c, c);
  for (int i = 0; i < 4; ++i) g[i] = (2.0 * w[i]) * c;
}

TEST(Closest, DistancesHaveThePublishedDigits) {
  for (const Case& k : kCases) {
    SCOPED_TRACE(int(k.kind));
    V x[4];
    Vec3<D12> y[4], g[4];
    for (int i = 0; i < 4; ++i) {
      x[i] = {k.x[3 * i], k.x[3 * i + 1], k.x[3 * i + 2]};
      for (int d = 0; d < 3; ++d) y[i][d] = D12::variable(k.x[3 * i + d], 3 * i + d);
    }
    EXPECT_EQ(k.edges ? closest_edges(x) : closest_point_triangle(x), k.kind);
    D12 square;
    squared_distance(k.kind, y, square, g);
    EXPECT_NEAR(square.v, k.square, 1e-15);
    for (int i = 0; i < 12; ++i) {
      EXPECT_NEAR(g[i / 3][i % 3].v, k.gradient[i], 1e-14) << i;
      EXPECT_NEAR(square.d[i], k.gradient[i], 1e-14) << i;  // the weights' own motion does not count
      double along = 0;
      for (int j = 0; j < 12; ++j) along += g[i / 3][i % 3].d[j] * kW[j];
      EXPECT_NEAR(along, k.curved[i], 1e-13) << i;
    }
  }
}

// Every case is the least over the ends and interiors that there are: compared with a fine grid of both
// bodies.
TEST(Closest, CasesAreTheClosest) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    V x[4];
    for (int i = 0; i < 12; ++i) x[i / 3][i % 3] = normal(seed, 1, std::uint64_t(i));
    for (const bool edges : {false, true}) {
      double w[4], least = 1e300;
      closest_weights(edges ? closest_edges(x) : closest_point_triangle(x), x, w);
      const V c = w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + w[3] * x[3];
      constexpr int n = 60;
      for (int i = 0; i <= n; ++i)
        for (int j = 0; j <= (edges ? n : n - i); ++j) {
          const double s = double(i) / n, t = double(j) / n;
          const V r = edges ? (1 - s) * x[0] + s * x[1] - (1 - t) * x[2] - t * x[3]
                            : x[0] - (1 - s - t) * x[1] - s * x[2] - t * x[3];
          least = std::min(least, dot(r, r));
        }
      EXPECT_LE(dot(c, c), least + 1e-12) << seed << edges;
      EXPECT_GE(dot(c, c), least - 0.2) << seed << edges;
      for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::abs(w[i]) <= 1 + 1e-12) << seed;
    }
  }
}

TEST(Barrier, HasThePublishedDigits) {
  const struct {
    double d, b, slope, curve, by_reach;
  } rows[] = {{0.001, 6.893946676179452, -1011.802695047406, 1002010.815510558, 14.79969604740631},
              {0.1, 1.865093925325177, -12.24465316738928, 121.6051701859881, 4.954653167389282},
              {0.5, 0.1732867951399863, -1.193147180559945, 6.386294361119891, 0.9431471805599453},
              {0.9, 0.001053605156578263, -0.03218321424267637, 0.6675111547724427, 0.03107210313156526}};
  for (const auto& r : rows) {
    const Barrier<double> b = barrier(r.d, 1.0);
    EXPECT_NEAR(b.value, r.b, 1e-14 * r.b);
    EXPECT_NEAR(b.slope, r.slope, -1e-13 * r.slope);
    EXPECT_NEAR(b.curve, r.curve, 1e-13 * r.curve);
    EXPECT_NEAR(b.by_reach, r.by_reach, 1e-13 * r.by_reach);
  }
}

TEST(Slip, HasThePublishedDigits) {
  const double rows[][4] = {
      {0.001, 0.00343, 0.19, 180}, {0.004, 0.00472, 0.64, 120}, {0.009, 0.009003333333333333, 0.99, 20}};
  for (const auto& r : rows) {
    const Slip<double> s = slip(r[0], 0.01);
    EXPECT_NEAR(s.value, r[1], 1e-16);
    EXPECT_NEAR(s.over * r[0], r[2], 1e-15);
    EXPECT_NEAR(s.over + s.over_slope * r[0] * r[0], r[3], 1e-11);
  }
}

// Nearly parallel edges: the gradient is that of the energy, also with respect to the rest shape's number.
TEST(Pair, MollifiedEdgesHaveTheGradientOfTheirEnergy) {
  const double at[12] = {0, 0, 0, 1, 0, 0, .1, -.01, .05, .95, .012, .052};
  Vec3<D12> x[4];
  for (int i = 0; i < 12; ++i) x[i / 3][i % 3] = D12::variable(at[i], i);
  const PairNumbers<D12> p{1000.0, 0.1, 0.00081};
  const D12 w = pair_energy(true, Closest::edges, x, p);
  Vec3<D12> g[4];
  pair_gradient(true, Closest::edges, x, p, g);
  ASSERT_TRUE(pair_state(true, Closest::edges, x, p.parallel).m.active);
  for (int i = 0; i < 12; ++i) {
    EXPECT_NEAR(g[i / 3][i % 3].v, w.d[i], 1e-12 * w.v * 1e3) << i;
    for (int j = 0; j < 12; ++j) EXPECT_NEAR(g[i / 3][i % 3].d[j], g[j / 3][j % 3].d[i], 1e-9) << i << j;
  }
}

}  // namespace
}  // namespace costate::soft
