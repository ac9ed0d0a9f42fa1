#include "costate/study/variables.h"

#include <gtest/gtest.h>

namespace costate::study {
namespace {

const Inputs kInputs{.x0 = {1, 2}, .p = {3, 4, 5}, .paths = {{.points = {6, 7, 8, 9}}}};
const std::vector<Variable> kVariables = {
    {.name = "start.b", .where = Variable::Where::state, .index = 1, .start = 2, .scale = 0.5},
    {.name = "parameters.c", .where = Variable::Where::parameter, .index = 2, .start = 5},
    {.name = "controls.u[3]", .where = Variable::Where::path, .index = 3, .path = 0, .start = 9, .scale = 3}};

TEST(Variables, StandForNumbersOfTheInputsInUnitsOfTheirScales) {
  EXPECT_EQ(start_of(kVariables), (std::vector<double>{4, 5, 3}));
  const Inputs moved = with_values(kInputs, kVariables, {10, 20, 30});
  EXPECT_EQ(moved.x0, (std::vector<double>{1, 5}));
  EXPECT_EQ(moved.p, (std::vector<double>{3, 4, 20}));
  EXPECT_EQ(moved.paths[0].points, (std::vector<double>{6, 7, 8, 90}));
}

// <pull_back(bar), dz> = <bar, d inputs> for every direction.
TEST(Variables, TheTransposeGathersAndScales) {
  Inputs bar = kInputs.zeros();
  EXPECT_EQ(bar.paths[0].points, (std::vector<double>(4, 0.0)));
  for (std::size_t i = 0; i < kVariables.size(); ++i) number_of(bar, kVariables[i]) = double(i + 1);
  std::vector<double> z_bar(3);
  pull_back(bar, kVariables, z_bar.data());
  EXPECT_EQ(z_bar, (std::vector<double>{0.5, 2, 9}));
}

}  // namespace
}  // namespace costate::study
