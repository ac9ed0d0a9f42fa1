#include <gtest/gtest.h>

#include "tests/float_traps.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  costate::test::enable_float_traps();
  return RUN_ALL_TESTS();
}
