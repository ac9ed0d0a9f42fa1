#include "costate/core/pack.h"

#include <gtest/gtest.h>

namespace costate {
namespace {

template <class P>
class PackTest : public testing::Test {};
using Packs = testing::Types<Pack<float, 4>, Pack<float, 8>, Pack<double, 2>, Pack<double, 4>,
                             NativePack<float>, NativePack<double>>;
TYPED_TEST_SUITE(PackTest, Packs);

template <class P>
P counting() {
  P p(0);
  for (int i = 0; i < P::lanes; ++i) p.set(i, typename P::value_type(i + 1));
  return p;
}

TYPED_TEST(PackTest, ArithmeticIsLanewise) {
  using P = TypeParam;
  using T = typename P::value_type;
  const P a = counting<P>();
  const P b = (T(2) * a + P(1)) / a - a;
  for (int i = 0; i < P::lanes; ++i) {
    const T x = T(i + 1);
    EXPECT_NEAR(b[i], (2 * x + 1) / x - x, 1e-6);
  }
}

TYPED_TEST(PackTest, SelectTakesEachLaneFromItsSide) {
  using P = TypeParam;
  const P a = counting<P>();
  const P r = select(a < P(2), a, -a);
  EXPECT_EQ(r[0], 1);
  EXPECT_EQ(r[1], -2);
  EXPECT_TRUE(any(a == P(1)));
  EXPECT_FALSE(all(a == P(1)));
  EXPECT_TRUE(all(!(a > P(1000))));
  EXPECT_TRUE(all(mask_t<P>(true)));
  EXPECT_FALSE(any(mask_t<P>(false)));
}

TYPED_TEST(PackTest, LoadAndStoreRoundTrip) {
  using P = TypeParam;
  alignas(64) typename P::value_type buffer[P::lanes];
  counting<P>().store(buffer);
  EXPECT_TRUE(all(P::load(buffer) == counting<P>()));
}

}  // namespace
}  // namespace costate
