// What the compiler must get right for anything else to be.
#include <gtest/gtest.h>

namespace costate {
namespace {

struct Point {
  double x, y, z;
};
struct Tensor {
  double xx, yy, zz, xy, xz, yz;
};
inline Tensor diagonal(const double& a, const double& b, const double& c) { return {a, b, c, 0, 0, 0}; }
struct Receiver {
  double seen[6];
  Receiver& take(double mass, Point centre, Tensor t);
};
[[gnu::noinline]] Receiver& Receiver::take(double, Point, Tensor t) {
  const double values[6] = {t.xx, t.yy, t.zz, t.xy, t.xz, t.yz};
  for (int i = 0; i < 6; ++i) seen[i] = values[i];
  return *this;
}

// g++ 12.2 -O2 with AVX-512 and without -fno-dse: the fourth number arrives as 1.
TEST(Compiler, PassesStructuresByValueWhole) {
  Receiver r;
  r.take(1, {0, 0, 0}, diagonal(1, 1, 1));
  const double expected[6] = {1, 1, 1, 0, 0, 0};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(r.seen[i], expected[i]) << i;
}

}  // namespace
}  // namespace costate
