#include "costate/core/names.h"

#include <gtest/gtest.h>

namespace costate {
namespace {

TEST(Names, TheNearestIsFoundIfItIsNear) {
  EXPECT_EQ(nearest_name("velocty", {"position", "velocity", "mass"}), "velocity");
  EXPECT_EQ(nearest_name("x", {"position", "velocity"}), "");
  EXPECT_EQ(nearest_name("y", {"x"}), "x");  // one letter may always be wrong
  EXPECT_EQ(nearest_name("", {}), "");
}

TEST(Names, ThreeNearestComeInOrder) {
  EXPECT_EQ(nearest_names("mas", {"length", "mass", "gas", "max"}),
            (std::vector<std::string>{"mass", "gas", "max"}));
}

TEST(Names, LongNamesAreComparedByTheirBeginning) {
  const std::string a(100000, 'a');
  EXPECT_EQ(nearest_name(a, {a + "b"}), a + "b");
}

}  // namespace
}  // namespace costate
