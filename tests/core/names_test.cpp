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

TEST(Names, TheOtherCaseIsNearerThanAnotherLetter) {
  EXPECT_EQ(nearest_name("Q", {"e", "q"}), "q");
  EXPECT_EQ(nearest_name("GRAVITY", {"e", "gravity"}), "gravity");
}

TEST(Names, ThingsAreCounted) {
  EXPECT_EQ(counted(1, "world"), "1 world");
  EXPECT_EQ(counted(0, "world"), "0 worlds");
  EXPECT_EQ(counted(2, "body", "bodies"), "2 bodies");
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
