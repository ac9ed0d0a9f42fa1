// One large world over ranks: the bits of one System, whatever the number of ranks.
#include <gtest/gtest.h>

#include <mutex>

#include "tests/cluster/split_worlds.h"
#include "tests/expect_error.h"

namespace costate::cluster {
namespace {

using costate::test::expect_error;
using namespace cluster::test;

template <class Real>
void expect_same(const Answer<Real>& one, const Answer<Real>& other, const std::string& where) {
  EXPECT_TRUE(same_bits(one.final_state, other.final_state)) << where << ": final state";
  EXPECT_TRUE(same_bits(one.x0, other.x0)) << where << ": x0";
  EXPECT_TRUE(same_bits(one.controls, other.controls)) << where << ": controls";
  EXPECT_TRUE(same_bits(one.parameters, other.parameters)) << where << ": parameters";
}

template <class Real>
Answer<Real> over(int ranks, const World<Real>& world, const Checkpoints& checkpoints = store_all()) {
  Answer<Real> first;
  std::mutex mutex;
  std::int64_t halo = 0, moved = 0;
  on_ranks(ranks, [&](Channel& channel) {
    const Answer<Real> mine = of_rank(world, channel, checkpoints);
    const std::lock_guard lock(mutex);
    halo += mine.halo, moved += mine.moved;
    if (channel.rank() == 0) first = mine;
  });
  first.halo = halo, first.moved = moved;
  return first;
}

template <class Real>
void expect_the_bits_of_one_system(const World<Real>& world, const std::string& name,
                                   const std::vector<int>& ranks = {1, 2, 3, 4}) {
  const Answer<Real> whole = alone(world), one = over(1, world);
  EXPECT_NEAR(one.value, whole.value, (sizeof(Real) == 8 ? 1e-13 : 1e-5) * std::abs(whole.value)) << name;
  for (int count : ranks) {
    const Answer<Real> split = over(count, world);
    expect_same(whole, split, name + " over " + std::to_string(count));
    EXPECT_EQ(split.value, one.value) << name << " over " << count;
  }
}

TEST(SplitWorld, MaterialPointsHaveTheBitsOfOneSystem) {
  expect_the_bits_of_one_system(points<double>(2, 24), "a beam in the plane");
  expect_the_bits_of_one_system(points<double>(3, 8), "a beam in space", {2, 3});
  expect_the_bits_of_one_system(points<float>(2, 24), "a beam in single precision", {2});
  expect_the_bits_of_one_system(points<double>(2, 12, mpm::Kernel::cubic), "a beam with cubic splines", {3});
}

TEST(SplitWorld, RowsOfCellsHaveTheBitsOfOneSystem) {
  expect_the_bits_of_one_system(wave<double>(), "a wave");
  expect_the_bits_of_one_system(wave<float>(), "a wave in single precision", {3});
  expect_the_bits_of_one_system(warm_ring<double>(), "a warm ring");
  expect_the_bits_of_one_system(warm_plate<double>(), "a warm plate");
  expect_the_bits_of_one_system(lake<double>(), "a lake");
}

TEST(SplitWorld, EveryExactScheduleHasTheSameBits) {
  const auto beam = points<double>(2, 24);
  const auto whole = alone(beam);
  expect_same(whole, over(3, beam, binomial(3)), "binomial");
  expect_same(whole, over(2, beam, segments()), "segments");
  expect_same(alone(wave<double>()), over(2, wave<double>(), binomial(2)), "a wave");
}

TEST(SplitWorld, SendsTheHaloThatItsHeadPredicts) {
  // Rows of nodes: taps - 1 of them, both ways, for the scatter of a step and for that of its transpose.
  const auto beam = points<double>(2, 24);
  const mpm::Model model = test::beam(2);
  const std::int64_t row = 4 * ((model.nodes[1] + 3) / 4 * 4 + 4);
  const auto split = over(3, beam);
  EXPECT_EQ(split.halo, 2 * 24 * 2 * 2 * 2 * row * std::int64_t(sizeof(double)));
  EXPECT_GT(split.moved, 0);
  // Rows of cells: two fields of a wave, both ways, after a step and before its transpose.
  EXPECT_EQ(over(4, wave<double>()).halo, 3 * 9 * 2 * 2 * 2 * 21 * std::int64_t(sizeof(double)));
}

TEST(SplitWorld, AnErrorOfOneRankStopsAllWithTheSameWords) {
  const auto fast = too_fast();
  std::mutex mutex;
  std::vector<std::string> said;
  on_ranks(3, [&](Channel& channel) {
    try {
      of_rank(fast, channel);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      said.push_back(error.message().what);
    }
  });
  ASSERT_EQ(said.size(), 3u);
  EXPECT_NE(said[0].find("moves"), std::string::npos) << said[0];
  EXPECT_EQ(said[0], said[1]);
  EXPECT_EQ(said[0], said[2]);
}

TEST(SplitWorld, RefusesWhatCannotBeSplit) {
  const auto make = [](std::shared_ptr<System<double>> system, int ranks,
                       Checkpoints checkpoints = store_all()) {
    on_ranks(ranks,
             [&](Channel& channel) { SplitRollout<double>(system, {.checkpoints = checkpoints}, channel); });
  };
  auto model = beam(2);
  expect_error([&] { make(mpm::system<double>(model), 8); }, "too short for 8 ranks", "at most 7 ranks");
  model.largest_courant = 5;
  expect_error([&] { make(mpm::system<double>(model), 2); }, "may move 5 cells", "largest_courant");
  model.largest_courant = 1;
  model.bodies = {{.name = "log", .shape = mpm::Shape::sphere(0.1), .position = {1, 1.5, 1}}};
  expect_error([&] { make(mpm::system<double>(model), 2); }, "bodies", "colliders");
  expect_error([&] { make(grid::wave<double>({.nx = 9, .ny = 7}), 4); }, "too few for 4 ranks", "at most 3");
  expect_error([&] { make(wave<double>().system, 2, reversible()); }, "exact states", "binomial");
  expect_error([&] { on_ranks(0, [](Channel&) {}); }, "at least one rank");
}

}  // namespace
}  // namespace costate::cluster
