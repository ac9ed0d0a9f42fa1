#include "costate/cluster/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "costate/cluster/bytes.h"
#include "costate/cluster/call.h"
#include "tests/cluster/toy_job.h"
#include "tests/expect_error.h"

namespace costate::cluster {
namespace {

using costate::test::expect_error;

Part leaf(std::int64_t block) {
  Part part;
  part.value = std::exp(7 * std::sin(double(block)));
  part.sums = {part.value / 3, -part.value / 7};
  return part;
}

// The definition, without any cleverness.
Part by_definition(Node node, std::int64_t blocks) {
  if (node.level == 0) return leaf(node.index);
  const Part lower = by_definition(node.lower(), blocks);
  return node.upper().first() < blocks ? sum(lower, by_definition(node.upper(), blocks)) : lower;
}

TEST(TreeSum, HasTheSameBitsInEveryOrderOfArrival) {
  std::mt19937 random(1);
  for (const std::int64_t blocks : {1, 2, 3, 5, 8, 13, 64, 100}) {
    const std::string wanted = to_bytes(by_definition(root(blocks), blocks));
    std::vector<std::int64_t> order;
    for (std::int64_t b = 0; b < blocks; ++b) order.push_back(b);
    for (int shuffle = 0; shuffle < 5; ++shuffle) {
      TreeSum tree(blocks);
      for (const std::int64_t b : order) {
        EXPECT_FALSE(tree.complete());
        tree.put({0, b}, leaf(b));
      }
      ASSERT_TRUE(tree.complete());
      EXPECT_EQ(to_bytes(tree.total()), wanted) << blocks << " blocks";
      std::shuffle(order.begin(), order.end(), random);
    }
  }
}

TEST(TreeSum, TakesNodesThatAWorkerHasAddedUp) {
  const std::int64_t blocks = 13;
  TreeSum tree(blocks);
  for (const Node node : {Node{2, 2}, Node{0, 12}, Node{1, 0}, Node{1, 1}, Node{2, 1}})
    tree.put(node, by_definition(node, blocks));
  ASSERT_TRUE(tree.complete());
  EXPECT_EQ(to_bytes(tree.total()), to_bytes(by_definition(root(blocks), blocks)));
}

TEST(Part, SurvivesTheJourney) {
  Part part = leaf(3);
  part.report.label = "biased: a window";
  part.report.masked_worlds = {4, 9};
  part.report.energy_drift = 0.25;
  part.report.advice = {"be careful"};
  part.failure = {{"what", "where", "advice"}, Error::Kind::input};
  const std::string bytes = to_bytes(part);
  const Part back = part_of(bytes);
  EXPECT_EQ(to_bytes(back), bytes);
  EXPECT_EQ(back.report.masked_worlds, part.report.masked_worlds);
  EXPECT_EQ(back.failure->message.advice, "advice");
  EXPECT_FALSE(back.report.spot_check);
  for (const std::size_t length : {std::size_t(0), std::size_t(9), bytes.size() / 2, bytes.size() - 1})
    expect_error([&] { return part_of(bytes.substr(0, length)); }, "a message");
  expect_error([&] { return part_of(bytes + "x"); }, "longer than it says");
  std::string endless = bytes;
  endless[14] = '\x7f';  // a length that no memory holds
  expect_error([&] { return part_of(endless); }, "items follow");
}

TEST(Part, MergesReports) {
  Part a, b;
  a.report.adjoint_norm = {3, 1}, b.report.adjoint_norm = {4, 0};
  a.report.sampled_steps = b.report.sampled_steps = {0, 5};
  a.report.masked_worlds = {1}, b.report.masked_worlds = {7};
  a.report.mode_switches = {2, 9}, b.report.mode_switches = {1, 9};
  b.report.label = "grazing", b.report.energy_drift = 0.1;
  const GradientReport both = sum(a, b).report;
  EXPECT_EQ(both.adjoint_norm, (std::vector<double>{5, 1}));
  EXPECT_EQ(both.masked_worlds, (std::vector<std::int64_t>{1, 7}));
  EXPECT_EQ(both.mode_switches, (std::vector<std::int64_t>{1, 2, 9}));
  EXPECT_EQ(both.label, "grazing");
  EXPECT_EQ(both.energy_drift, 0.1);
  b.sums = {1};
  expect_error([&] { return sum(a, b); }, "gradients of 0 and 1 numbers", "as many numbers for every block");
}

TEST(Part, AdviceOfABlockIsGivenAgainOfTheWhole) {
  GradientReport report;
  report.advice = {"the foot grazes the floor"};
  report.mode_switches = {4};
  report.conclude(1e-16);
  ASSERT_EQ(report.advice.size(), 2u);
  keep_findings(report);
  EXPECT_EQ(report.advice, std::vector<std::string>{"the foot grazes the floor"});
}

TEST(Call, DealsEveryBlockOnceAndTakesLostOnesBack) {
  Call call(2, {.worlds = 13, .block = 3});
  std::vector<Task> seen;
  const auto first = call.next(0, 2, 0.0);
  const auto second = call.next(1, 2, 0.0);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(call.next(0, 2, 0.0)) << "it is computing already";
  call.lost(0, "a test");
  for (int turn = 0; !call.complete(); ++turn) {
    const auto task = turn == 0 ? second : call.next(1, 1, 1.0);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->node.level, 0);
    seen.push_back(*task);
    EXPECT_TRUE(call.finished(1, *task, leaf(task->node.index), 0.1));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(call.counts().redone, 1);
  EXPECT_EQ(call.counts().lost, 1);
  EXPECT_EQ(to_bytes(call.total(1)), to_bytes(by_definition(root(5), 5)));
}

TEST(Call, AStragglerIsCopiedOnceAndTheFirstAnswerCounts) {
  Call call(1, {.worlds = 2, .block = 1});
  const Task slow = *call.next(0, 2, 0.0), quick = *call.next(1, 2, 0.0);
  call.finished(1, quick, leaf(1), 1.0);
  EXPECT_FALSE(call.next(1, 2, 1.0)) << "not yet";
  EXPECT_DOUBLE_EQ(call.next_look(1.0), 1.5);
  ASSERT_EQ(call.next(1, 2, 1.6), slow);
  EXPECT_FALSE(call.next(2, 3, 9.0)) << "twice is enough";
  EXPECT_TRUE(call.finished(1, slow, leaf(0), 1.0));
  EXPECT_FALSE(call.finished(0, slow, leaf(0), 9.0));
  EXPECT_TRUE(call.complete());
  EXPECT_EQ(call.counts().copied, 1);
  EXPECT_EQ(call.counts().redone, 0);
}

TEST(Job, AJobWithoutWorldsIsRefused) {
  expect_error([] { return Call(1, {.worlds = 0, .block = 4}); }, "a job of 0 worlds in blocks of 4",
               "at least 1");
  expect_error([] { return Call(0, {.worlds = 4, .block = 4}); }, "no point", "at least one");
}

}  // namespace
}  // namespace costate::cluster
