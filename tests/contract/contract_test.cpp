#include <gtest/gtest.h>

#include "tests/contract/list.h"

namespace costate::test {
namespace {

class Contracts : public testing::TestWithParam<Listed> {};

TEST_P(Contracts, IsMet) { GetParam().expect(); }

INSTANTIATE_TEST_SUITE_P(Every, Contracts, testing::ValuesIn(every_physics()),
                         [](const auto& listed) { return listed.param.name; });

}  // namespace
}  // namespace costate::test
