#include "costate/geometry/contact_frame.h"

#include "tests/geometry/pair_check.h"

namespace costate::geometry::test {
namespace {

Mat3<double> frame_of(Vec3<double> n, Vec3<double> t) { return contact_frame(n, t); }

TEST(ContactFrame, PrefersYThenZWithoutAHint) {
  EXPECT_EQ(frame_of({0, 0, 1}, {0, 0, 0}).row(1).y, 1);
  EXPECT_EQ(frame_of({0, 1, 0}, {0, 0, 0}).row(1).z, 1);
}
TEST(ContactFrame, TakesTheHint) {
  const Mat3<double> f = frame_of({0, 0, 1}, {0.6, 0.8, 0});
  EXPECT_NEAR(f.row(1).x, 0.6, 1e-15);
  EXPECT_NEAR(f.row(2).x, -0.8, 1e-15);
}
TEST(ContactFrame, IsOrthonormalEvenWhenTheHintIsTheNormal) {
  std::mt19937 rng(1);
  for (int i = 0; i < 200; ++i) {
    const Vec3<double> n = random_direction(rng);
    const Mat3<double> f = frame_of(n, i % 2 ? n : random_direction(rng));
    const Mat3<double> unit = f * transpose(f);
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) EXPECT_NEAR(unit.e[r][c], double(r == c), 1e-14);
    EXPECT_NEAR(determinant(f), 1, 1e-14);
  }
}
TEST(ContactFrame, TransposeMatchesDual) {
  std::mt19937 rng(2);
  for (int sample = 0; sample < 300; ++sample) {
    const Vec3<double> n = random_direction(rng);
    const Vec3<double> t = sample % 3 == 0   ? Vec3<double>::zero()
                           : sample % 3 == 1 ? n
                                             : random_direction(rng);
    Mat3<double> bar;
    for (int i = 0; i < 9; ++i) bar.e[i / 3][i % 3] = uniform(rng, -1, 1);
    Vec3<double> n_bar = Vec3<double>::zero(), t_bar = Vec3<double>::zero();
    contact_frame_vjp(n, t, bar, n_bar, t_bar);
    for (int i = 0; i < 6; ++i) {
      Vec3<Dual<double>> nd = {n.x, n.y, n.z}, td = {t.x, t.y, t.z};
      (i < 3 ? nd[i] : td[i - 3]).d[0] = 1;
      const Mat3<Dual<double>> f = contact_frame(nd, td);
      double found = 0;
      for (int k = 0; k < 9; ++k) found += bar.e[k / 3][k % 3] * f.e[k / 3][k % 3].d[0];
      const double expected = i < 3 ? n_bar[i] : t_bar[i - 3];
      EXPECT_NEAR(found, expected, 1e-12 * (1 + std::abs(expected)));
    }
  }
}

}  // namespace
}  // namespace costate::geometry::test
