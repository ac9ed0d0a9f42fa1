#include "costate/cluster/simulated.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/cluster/toy_job.h"

namespace costate::cluster::test {
namespace {

struct Outcome {
  std::string bits;
  double seconds;
  std::int64_t messages;
  Counts counts;
};

Outcome run(const Job& job, const Simulation& simulation) {
  auto transport = simulated(simulation);
  const Simulated& seen = *transport;
  Pool pool(std::move(transport), {.most_tries = 100});
  const Evaluation e = pool.value_and_grad(job, some_theta());
  return {bits(e), seen.now(), seen.messages(), pool.report().counts};
}

TEST(Simulated, AThousandWorkersHaveTheBitsOfOne) {
  for (const std::int64_t worlds : {1, 2, 37, 1000, 2047}) {
    const ToyJob job(worlds, 2);
    const std::string wanted = run(job, {.workers = 1}).bits;
    for (const int workers : {2, 3, 7, 64, 1024})
      for (const std::uint64_t seed : {1, 2})
        EXPECT_EQ(run(job, {.workers = workers, .seed = seed, .noise = 1}).bits, wanted)
            << worlds << " worlds, " << workers << " workers";
  }
}

TEST(Simulated, AWorkerSendsAtMostTwoLogarithmsOfTheBlocks) {
  for (const std::int64_t blocks : {2, 5, 64, 1000, 1024}) {
    const ToyJob job(blocks, 1);
    for (const int workers : {1, 2, 3, 7, 16, 100, 1024})
      EXPECT_LE(double(run(job, {.workers = workers}).messages), 2 * workers * std::log2(double(blocks)))
          << blocks << " blocks, " << workers << " workers";
  }
}

TEST(Simulated, DeathsChangeNothingButTheReport) {
  const ToyJob job(1000, 3);
  const std::string wanted = run(job, {.workers = 1}).bits;
  for (const std::int64_t most : {std::int64_t(1), std::int64_t(1000)})
    for (const std::uint64_t seed : {3, 4, 5}) {
      const Outcome r = run(job, {.workers = 20, .seed = seed, .chance_of_death = 0.2, .most_blocks = most});
      EXPECT_EQ(r.bits, wanted);
      EXPECT_GT(r.counts.lost, 0);
      EXPECT_LE(r.counts.lost, r.counts.redone + r.counts.copied);
    }
}

// The clock is simulated: this is about the order of events, not about this machine.
TEST(Simulated, OneSlowWorkerHardlyDelaysTheEnd) {
  const ToyJob job(256, 1);
  const Outcome even = run(job, {.workers = 16, .most_blocks = 1});
  const Outcome uneven = run(job, {.workers = 16, .slow_workers = 1, .most_blocks = 1});
  EXPECT_EQ(uneven.bits, even.bits);
  EXPECT_GT(uneven.counts.copied, 0);
  EXPECT_LT(uneven.seconds, 1.3 * even.seconds);
}

TEST(Simulated, TheErrorIsThatOfTheLowestBlock) {
  ToyJob job(100, 5);
  job.fails_at = 63;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Pool pool(simulated({.workers = 9, .seed = seed, .noise = 1}));
    try {
      pool.value_and_grad(job, some_theta());
      ADD_FAILURE() << "there was no Error";
    } catch (const Error& error) {
      EXPECT_EQ(error.message().where, "block 12 (worlds 60 to 64), world 63");
      EXPECT_EQ(error.kind(), Error::Kind::numerics);
    }
    const auto all = pool.population(job, {some_theta(), some_theta()});
    EXPECT_TRUE(std::isinf(all[1].value));
  }
}

TEST(Simulated, MaskedWorldsAreListedWithTheirNumbersInTheWholeJob) {
  ToyJob job(100, 7);
  job.masked = 93;
  Pool pool(simulated({.workers = 5}));
  const Evaluation e = pool.value_and_grad(job, some_theta());
  EXPECT_EQ(e.report.masked_worlds, std::vector<std::int64_t>{93});
  EXPECT_EQ(e.report.worlds, 100);
  ASSERT_FALSE(e.report.advice.empty());
  EXPECT_NE(e.report.advice.back().find("first: world 93"), std::string::npos);
}

}  // namespace
}  // namespace costate::cluster::test
