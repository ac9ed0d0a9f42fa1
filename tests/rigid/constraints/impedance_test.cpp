#include "costate/rigid/constraints/impedance.h"

#include <gtest/gtest.h>

#include "costate/ad/dual.h"

namespace costate::rigid {
namespace {

// Numbers of one row: solref, solimp, dt, then r, e, vel, weight.
using Row = std::array<double, 12>;
constexpr SoftnessParameters kAt{0, 2};

template <class S>
RowReference<S> evaluate(const std::array<S, 12>& x, bool friction) {
  return row_reference(x.data(), kAt, x[7], true, friction, RowInput<S>{x[8], x[9], x[10], x[11]});
}

const Row kRows[] = {
    {0.05, 0.7, 0.8, 0.97, 0.01, 0.4, 3, 0.002, -0.003, 0.003, 0.5, 1.2},  // below the midpoint
    {0.05, 0.7, 0.8, 0.97, 0.01, 0.4, 3, 0.002, -0.008, 0.008, 0.5, 1.2},  // above it
    {0.05, 0.7, 0.8, 0.97, 0.01, 0.4, 3, 0.002, -0.03, 0.03, -0.5, 1.2},   // saturated
    {0.02, 1.0, 0.9, 0.95, 0.001, 0.5, 2, 0.02, -0.0004, 0.0004, 0.5, 2},  // time constant held at 2 dt
    {-300, -20, 0.9, 0.95, 0.001, 0.5, 2, 0.002, -0.0004, 0.0004, 0.5,
     2},  // stiffness and damping themselves
    {0.02, 1.0, 0.9, 0.95, 0.001, 0.5, 1, 0.002, -0.0004, 0.0004, 0.5, 2},  // linear
    {0.02, 1.0, 0.9, 0.95, 0, 0.5, 2, 0.002, -0.0004, 0.0004, 0.5, 2},      // without a width
};

TEST(Impedance, FollowsItsCurve) {
  const double solimp[] = {0.8, 0.97, 0.01, 0.4, 3};
  EXPECT_DOUBLE_EQ(impedance(solimp, 0.0).value, 0.8);
  EXPECT_DOUBLE_EQ(impedance(solimp, 0.004).value, 0.8 + 0.4 * 0.17);  // y(midpoint) = midpoint
  EXPECT_DOUBLE_EQ(impedance(solimp, 0.02).value, 0.97);
}

// As MuJoCo's: halfway, at every violation.
TEST(Impedance, WithoutAWidthItIsHalfway) {
  const double solimp[] = {0.99, 0.9999, 0, 0.5, 2};
  for (const double violation : {0.0, 1e-16, 0.006})
    EXPECT_DOUBLE_EQ(impedance(solimp, violation).value, 0.99495);
}

TEST(Impedance, CriticallyDampedRowHasItsTimeConstant) {
  // With dmax = 1 nearly: K = 1/(T z)^2, B = 2/T.
  const Row row = {0.1, 1, 0.9999, 0.9999, 0.001, 0.5, 2, 0.001, -0.2, 0.2, 0.3, 1};
  EXPECT_NEAR(evaluate<double>(row, false).aref, -20 * 0.3 + 100 * 0.2, 0.01);
}

TEST(Impedance, TransposeMatchesDual) {
  using D = Dual<double, 12>;
  for (const bool friction : {false, true}) {
    for (const Row& row : kRows) {
      std::array<D, 12> x;
      for (int i = 0; i < 12; ++i)
        x[static_cast<std::size_t>(i)] = D::variable(row[static_cast<std::size_t>(i)], i);
      const RowReference<D> dual = evaluate(x, friction);
      const double aref_bar = 0.7, D_bar = -1.3;
      double bar[12] = {};
      const RowInput<double> in_bar = row_reference_vjp(row.data(), kAt, row[7], true, friction,
                                                        RowInput<double>{row[8], row[9], row[10], row[11]},
                                                        aref_bar, D_bar, bar, bar + 2, bar[7]);
      bar[8] = in_bar.r;
      bar[9] = in_bar.e;
      bar[10] = in_bar.vel;
      bar[11] = in_bar.weight;
      for (int i = 0; i < 12; ++i) {
        const double expected = aref_bar * dual.aref.d[i] + D_bar * dual.D.d[i];
        EXPECT_NEAR(bar[i], expected, 1e-12 * std::max(1.0, std::abs(expected))) << "number " << i;
      }
    }
  }
}

}  // namespace
}  // namespace costate::rigid
