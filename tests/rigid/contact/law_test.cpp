// The force law of a contact point: minus the gradient of its cost, and the derivatives of that.
#include "costate/rigid/contact/contact_law.h"

#include <gtest/gtest.h>

#include "costate/ad/dual.h"

namespace costate::rigid {
namespace {

struct Case {
  const char* name;
  bool elliptic;
  int rows;
  double y[6];
  double zone;  // expected
};

constexpr double kD = 3.7, kMu[6] = {0.55, 0.7, 0.6, 0.05, 0.02, 0.03};

// Zones of a pyramid: bit 2k-2 the edge +k, bit 2k-1 the edge -k.
const Case kCases[] = {
    {"apart, frictionless", false, 1, {0.4}, 0},
    {"pushing, frictionless", false, 1, {-0.4}, 1},
    {"apart, pyramid", false, 3, {0.9, 0.2, -0.3}, 0},
    {"all edges", false, 3, {-0.9, 0.2, -0.3}, 15},
    {"two of four edges", false, 3, {-0.05, -1.2, 0.9}, 1 + 8},
    {"one edge lifts the body", false, 3, {0.3, -1.2, 0.2}, 1},
    {"with spin", false, 4, {-0.01, 0.5, -0.2, 1.4}, 2 + 4 + 32},
    {"with rolling", false, 6, {-0.01, 0.5, -0.2, 1.4, 2.0, 0.1}, 2 + 4 + 32 + 128 + 256 + 512},
    {"apart, ellipse", true, 3, {0.9, 0.2, -0.3}, 0},
    {"sticking", true, 3, {-2.0, 0.2, -0.3}, 1},
    {"slipping", true, 3, {-0.1, 0.9, -0.7}, 2},
    {"slipping and lifting", true, 3, {0.2, 0.9, -0.7}, 2},
    {"slipping with spin", true, 4, {-0.1, 0.3, -0.7, 1.2}, 2},
    {"slipping with rolling", true, 6, {-0.1, 0.3, -0.7, 1.2, -2.0, 3.0}, 2},
    {"sticking with rolling", true, 6, {-1.0, 0.1, -0.1, 0.2, -0.3, 0.4}, 1},
    {"on the axis, sticking", true, 3, {-0.3, 0, 0}, 1},
    {"on the axis, apart", true, 3, {0.3, 0, 0}, 0},
};

template <class S>
ContactForce<S> evaluate(const Case& c, const S& D, const S* mu, const S* y) {
  ContactForce<S> f;
  contact_force(c.elliptic, c.rows, ContactStiffness<S>{D, mu}, y, f);
  return f;
}

// The cost as the head of the file writes it.
template <class S>
S cost(const Case& c, const S& D, const S* mu, const S* y) {
  const auto negative = [](const S& x) { return x < S(0) ? x : S(0); };
  const S half(0.5);
  if (c.rows == 1) return half * D * negative(y[0]) * negative(y[0]);
  S sum(0);
  if (!c.elliptic) {
    for (int k = 1; k < c.rows; ++k) {
      const S plus = negative(y[0] + mu[k] * y[k]), minus = negative(y[0] - mu[k] * y[k]);
      sum += half * D * (plus * plus + minus * minus);
    }
    return sum;
  }
  for (int k = 1; k < c.rows; ++k) sum += mu[k] * mu[k] * y[k] * y[k];
  const S T = sum == S(0) ? S(0) : sqrt(sum);
  if (y[0] >= T) return S(0);
  if (mu[0] * mu[0] * y[0] + T <= S(0)) return half * D * (y[0] * y[0] + sum / (mu[0] * mu[0]));
  return half * D * (y[0] - T) * (y[0] - T) / (S(1) + mu[0] * mu[0]);
}

TEST(ContactLaw, EveryZoneIsFoundAndItsForceIsMinusTheGradientOfTheCost) {
  using Y = Dual<double, 6>;
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    Y y[6], mu[6];
    for (int i = 0; i < 6; ++i) {
      y[i] = Y::variable(c.y[i], i);
      mu[i] = Y(kMu[i]);
    }
    const Y s = cost(c, Y(kD), mu, y);
    const ContactForce<double> f = evaluate<double>(c, kD, kMu, c.y);
    EXPECT_EQ(f.zone, c.zone);
    for (int i = 0; i < c.rows; ++i) EXPECT_NEAR(f.force[i], -s.d[i], 1e-14) << i;
  }
}

TEST(ContactLaw, TheBlockIsTheSlopeOfTheForce) {
  using Y = Dual<double, 6>;
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    Y y[6], mu[6];
    for (int i = 0; i < 6; ++i) {
      y[i] = Y::variable(c.y[i], i);
      mu[i] = Y(kMu[i]);
    }
    const ContactForce<Y> f = evaluate<Y>(c, Y(kD), mu, y);
    for (int i = 0; i < c.rows; ++i) {
      for (int j = 0; j <= i; ++j) EXPECT_NEAR(f.block[block_at(i, j)].v, -f.force[i].d[j], 1e-13) << i << j;
    }
  }
}

TEST(ContactLaw, CotangentsOfTheFrictionCoefficientsMatchDual) {
  using Y = Dual<double, 6>;
  const double m[6] = {0.3, -0.8, 0.5, 1.1, -0.4, 0.9};
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    Y y[6], mu[6];
    for (int i = 0; i < 6; ++i) {
      y[i] = Y(c.y[i]);
      mu[i] = Y::variable(kMu[i], i);
    }
    const ContactForce<Y> f = evaluate<Y>(c, Y(kD), mu, y);
    double bar[6] = {};
    contact_friction_vjp<double>(c.elliptic, c.rows, {kD, kMu}, c.y, m, bar);
    for (int k = c.elliptic ? 0 : 1; k < c.rows; ++k) {
      double expected = 0;
      for (int i = 0; i < c.rows; ++i) expected += m[i] * f.force[i].d[k];
      EXPECT_NEAR(bar[k], expected, 1e-13) << k;
    }
  }
}

TEST(ContactLaw, AnAbsentPointHasNoForceAndNoZone) {
  for (const Case& c : kCases) {
    const ContactForce<double> f = evaluate<double>(c, 0.0, kMu, c.y);
    EXPECT_EQ(f.zone, 0) << c.name;
    for (int i = 0; i < c.rows; ++i) EXPECT_EQ(f.force[i], 0) << c.name;
  }
}

}  // namespace
}  // namespace costate::rigid
