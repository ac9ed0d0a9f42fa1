#include "costate/ad/dual.h"

#include <gtest/gtest.h>

#include "tests/float_traps.h"

namespace costate {
namespace {

using D1 = Dual<double>;
using D2 = Dual<D1>;

// f'(x) by the six-point central stencil: error h^6, so at h = 1e-2 scaled about 1e-13 of the function's
// size.
template <class F>
double stencil(const F& f, double x, double h) {
  return (45 * (f(x + h) - f(x - h)) - 9 * (f(x + 2 * h) - f(x - 2 * h)) + (f(x + 3 * h) - f(x - 3 * h))) /
         (60 * h);
}

D2 second_order_variable(double x) { return D2(D1(x, 1), D1(1, 0)); }

// In lanes, in one direction and in several. (A function of its own: g++ 13 gives up on one that holds all.)
template <class F>
[[gnu::noinline]] void check_lanes(const F& f, double x, double slope) {
  using P = Pack<double, 8>;
  Dual<P, 3> several(P(0.0));
  several.v = P(x);
  several.d[1] = P(1.0);
  several.d[2] = P(-2.0);
  const Dual<P, 3> w = f(several);
  EXPECT_EQ(w.d[0][7], 0);
  EXPECT_NEAR(w.d[1][0], slope, 1e-14 * std::fabs(slope));
  EXPECT_NEAR(w.d[2][5], -2 * slope, 2e-14 * std::fabs(slope));
}

// Everything about a derivative: the value is the plain one, first and second order agree with a stencil of
// the order below, with lanes and without, in one direction and in several.
template <class F>
void check_derivatives(const char* name, const F& f, std::initializer_list<double> points) {
  for (const double x : points) {
    SCOPED_TRACE(testing::Message() << name << " at " << x);
    const double h = 1e-3 * std::max(1e-1, std::fabs(x));
    const D1 y = f(D1::variable(x));
    const D2 z = f(second_order_variable(x));
    const double first = stencil(f, x, h);
    const double second = stencil([&](double t) { return f(D1::variable(t)).d[0]; }, x, h);
    EXPECT_NEAR(y.v, f(x), 4e-16 * std::fabs(f(x)));
    EXPECT_NEAR(y.d[0], first, 1e-9 * std::max(1.0, std::fabs(first)));
    EXPECT_NEAR(z.v.v, y.v, 4e-16 * std::fabs(y.v));
    EXPECT_NEAR(z.v.d[0], y.d[0], 1e-14 * std::fabs(y.d[0]));
    EXPECT_NEAR(z.d[0].v, y.d[0], 1e-14 * std::fabs(y.d[0]));
    EXPECT_NEAR(z.d[0].d[0], second, 1e-8 * std::max(1.0, std::fabs(second)));
    check_lanes(f, x, y.d[0]);
    const Dual<float> single = f(Dual<float>::variable(float(x)));
    EXPECT_NEAR(single.d[0], f(D1::variable(float(x))).d[0], 2e-5 * std::max(1.0, std::fabs(y.d[0])));
  }
}

#define CHECK_DERIVATIVES(name, ...) check_derivatives(#name, [](auto x) { return name(x); }, {__VA_ARGS__})

TEST(Dual, DerivativesOfFunctionsOfOneArgumentMatchTheStencil) {
  CHECK_DERIVATIVES(sin, -3.1, 0.0, 0.4, 20.0);
  CHECK_DERIVATIVES(cos, -3.1, 0.0, 0.4, 20.0);
  CHECK_DERIVATIVES(tan, -1.1, 0.0, 0.4, 3.0);
  CHECK_DERIVATIVES(exp, -2.0, 0.0, 1.5);
  CHECK_DERIVATIVES(expm1, -2.0, 0.0, 1.5);
  CHECK_DERIVATIVES(log, 0.2, 1.0, 7.0);
  CHECK_DERIVATIVES(log1p, -0.4, 0.0, 7.0);
  CHECK_DERIVATIVES(log2, 0.2, 1.0, 7.0);
  CHECK_DERIVATIVES(sinh, -2.0, 0.0, 1.5);
  CHECK_DERIVATIVES(cosh, -2.0, 0.0, 1.5);
  CHECK_DERIVATIVES(tanh, -2.0, 0.0, 0.3, 1.5);
  CHECK_DERIVATIVES(asin, -0.8, 0.0, 0.5);
  CHECK_DERIVATIVES(acos, -0.8, 0.0, 0.5);
  CHECK_DERIVATIVES(atan, -3.0, 0.0, 0.5);
  CHECK_DERIVATIVES(sqrt, 0.3, 1.0, 7.0);
  CHECK_DERIVATIVES(cbrt, -4.0, 0.3, 7.0);
  CHECK_DERIVATIVES(abs, -4.0, 0.3);
  CHECK_DERIVATIVES(floor, -4.3, 0.3);
  CHECK_DERIVATIVES(trunc, -4.3, 0.3);
  CHECK_DERIVATIVES(round, -4.3, 0.3);
  CHECK_DERIVATIVES(sign, -4.3, 0.3);
}

#define CHECK_IN_EACH(expression, ...) \
  check_derivatives(#expression, [](auto x) { return expression; }, {__VA_ARGS__})

TEST(Dual, DerivativesOfFunctionsOfTwoArgumentsMatchTheStencil) {
  CHECK_IN_EACH(pow(x, 2.5), 0.3, 1.0, 4.0);
  CHECK_IN_EACH(pow(x, 3), -2.0, 0.3, 1.0, 4.0);
  CHECK_IN_EACH(pow(x, -2), -2.0, 0.5, 4.0);
  CHECK_IN_EACH(pow(1.7, x), -2.0, 0.0, 3.0);
  CHECK_IN_EACH(pow(x, x), 0.3, 1.0, 2.2);
  CHECK_IN_EACH(pow(x, sin(x)), 0.3, 1.0, 3.0);
  CHECK_IN_EACH(atan2(x, 0.7), -2.0, 0.0, 3.0);
  CHECK_IN_EACH(atan2(-0.7, x), -2.0, 0.1, 3.0);
  CHECK_IN_EACH(atan2(sin(x), x), -2.0, 0.3, 3.0);
  CHECK_IN_EACH(hypot(x, 0.7), -2.0, 0.0, 3.0);
  CHECK_IN_EACH(hypot(1.0 + x, exp(x)), -2.0, 0.0, 3.0);
  CHECK_IN_EACH(min(x, 1.0), -2.0, 3.0);
  CHECK_IN_EACH(max(1.0, x), -2.0, 3.0);
  CHECK_IN_EACH(max(x * x, x), -2.0, 0.3, 3.0);
  CHECK_IN_EACH(copysign(x, -1.0), -2.0, 3.0);
  CHECK_IN_EACH(copysign(x * x, x), -2.0, 3.0);
  CHECK_IN_EACH(fma(x, x, 3.0), -2.0, 3.0);
  CHECK_IN_EACH(fma(2.0, x, x), -2.0, 3.0);
}

TEST(Dual, OperatorsFollowTheRulesOfCalculusWithDualsAndConstants) {
  CHECK_IN_EACH((x * x - 3 * x + 1) / (x + 5.0), -2.0, 0.0, 3.0);
  CHECK_IN_EACH(2 / x - x / 4 + 1.0f - x, -2.0, 0.5);
  CHECK_IN_EACH(-x * (+x) / (2.0 - x), -2.0, 0.5);
  CHECK_IN_EACH(([x] {
                  auto y = x;
                  y += 2;
                  y *= x;
                  y -= x * 0.5;
                  y /= 3;
                  y /= x + 9.0;
                  return y;
                }()),
                -2.0, 0.5);
}

TEST(Dual, GradientOfSeveralVariablesComesInOneSweep) {
  using G = Dual<double, 3>;
  const G x = G::variable(0.5, 0), y = G::variable(-1.5, 1), z = G::variable(2, 2);
  const G f = x * sin(y) / z + exp(x * z);
  EXPECT_NEAR(f.d[0], std::sin(-1.5) / 2 + 2 * std::exp(1.0), 1e-14);
  EXPECT_NEAR(f.d[1], 0.5 * std::cos(-1.5) / 2, 1e-15);
  EXPECT_NEAR(f.d[2], -0.5 * std::sin(-1.5) / 4 + 0.5 * std::exp(1.0), 1e-14);
}

TEST(Dual, ThirdDerivativeOfSineIsMinusCosine) {
  using D3 = Dual<D2>;
  const D3 x(second_order_variable(0.8), D2(1));
  EXPECT_NEAR(sin(x).d[0].d[0].d[0], -std::cos(0.8), 1e-15);
  EXPECT_NEAR(tanh(D3(second_order_variable(0.0), D2(1))).d[0].d[0].d[0], -2, 1e-14);
}

TEST(Dual, MixedSecondDerivativeOfPowerAtExponentZero) {
  // d2/dx dy x^y = x^(y-1) (1 + y log x): 1/x at y = 0.
  const D2 x(D1(2.0, 1), D1(0, 0)), y(D1(0, 0), D1(1, 0));
  EXPECT_NEAR(pow(x, y).d[0].d[0], 0.5, 1e-15);
}

TEST(Dual, PlainConstantsAndInnerDualsMix) {
  const D2 x = second_order_variable(3);
  EXPECT_EQ((x * D1(2, 0)).v.d[0], 2);
  EXPECT_EQ((D1(2, 5) * x).v.d[0], 2 + 15);
  EXPECT_EQ((2 * x + 1.0f).v.v, 7);
  EXPECT_TRUE(x > 2.5);
  EXPECT_FALSE(x == 2);
}

TEST(Dual, TraitsSeeThroughTheNesting) {
  using P = Pack<float, 8>;
  static_assert(lanes_of<Dual<Dual<P, 2>>> == 8);
  static_assert(std::is_same_v<value_t<Dual<Dual<P>>>, float>);
  static_assert(std::is_same_v<mask_t<Dual<Dual<P>>>, mask_t<P>>);
  static_assert(std::is_trivially_copyable_v<Dual<Dual<P>>>);
  const Dual<P> x = Dual<P>::variable(P(2));
  const Dual<P> y = select(x < 3, x * x, Dual<P>(7));
  EXPECT_EQ(y.v[4], 4);
  EXPECT_EQ(y.d[0][4], 4);
  EXPECT_EQ(primal(Dual<Dual<P>>(y))[1], 4);
}

// --- the conventions at corners, with traps on: none of these may divide by zero ------------------

TEST(Dual, AbsIsFlatAtZeroAndRoundingIsFlatEverywhere) {
  const D1 zero = D1::variable(0);
  EXPECT_EQ(abs(zero).d[0], 0);
  EXPECT_EQ(floor(D1::variable(2)).d[0], 0);
  EXPECT_EQ(round(D1::variable(2.5)).d[0], 0);
  EXPECT_EQ(sign(zero).d[0], 0);
}

TEST(Dual, MinAndMaxOfEqualsTakeTheFirstTangent) {
  const D1 a(1, 10), b(1, 20);
  EXPECT_EQ(min(a, b).d[0], 10);
  EXPECT_EQ(max(a, b).d[0], 10);
  EXPECT_EQ(max(a, 1.0).d[0], 10);
  EXPECT_EQ(max(1.0, a).d[0], 0);
}

TEST(Dual, HypotAndAtan2AreFlatAtTheOrigin) {
  const D1 zero = D1::variable(0);
  EXPECT_EQ(hypot(zero, zero).v, 0);
  EXPECT_EQ(hypot(zero, zero).d[0], 0);
  EXPECT_EQ(atan2(zero, zero).d[0], 0);
  EXPECT_EQ(atan2(zero, -zero).v, std::atan2(0.0, -0.0));
  EXPECT_EQ(hypot(second_order_variable(0), D2(0)).d[0].d[0], 0);
  EXPECT_TRUE(is_finite(atan2(second_order_variable(0), second_order_variable(0))));
}

TEST(Dual, PowerAtZeroHasFiniteSlopeForExponentsFromOne) {
  const D1 zero = D1::variable(0);
  EXPECT_EQ(pow(zero, 1).d[0], 1);
  EXPECT_EQ(pow(zero, 1.5).d[0], 0);
  EXPECT_EQ(pow(zero, 2).d[0], 0);
  EXPECT_EQ(pow(zero, 0).d[0], 0);
  EXPECT_EQ(pow(zero, D1(2, 1)).d[0], 0);
  EXPECT_EQ(pow(zero, D1(0, 1)).d[0], 0);
  EXPECT_EQ(pow(second_order_variable(0), 2).d[0].d[0], 2);
  EXPECT_EQ(pow(D1::variable(-2), 3).d[0], 12);
  EXPECT_EQ(pow(D1::variable(-2), D1(3)).d[0], 12);
}

TEST(Dual, SlopesOfSaturatedFunctionsKeepTheirDigits) {
  // 1 - tanh^2 and 1 + expm1 would be zero or noise here.
  EXPECT_NEAR(tanh(D1::variable(19)).d[0] / (4 * std::exp(-38.0)), 1, 1e-14);
  EXPECT_NEAR(expm1(D1::variable(-50)).d[0] / std::exp(-50.0), 1, 1e-15);
  EXPECT_EQ(tanh(D1::variable(1000)).d[0], 0);
  EXPECT_TRUE(is_finite(tanh(Dual<Dual<float>>(Dual<float>(39.f, 1.f), Dual<float>(1.f, 0.f)))));
}

TEST(Dual, FinitenessIncludesTheTangents) {
  const test::AllowFloatExceptions allow;
  EXPECT_TRUE(is_finite(D1(1, 2)));
  EXPECT_FALSE(is_finite(D1(1, NAN)));
  EXPECT_FALSE(is_finite(sqrt(D1::variable(0))));
}

}  // namespace
}  // namespace costate
