#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <thread>

#include "costate/cluster/world/channels.h"
#include "tests/expect_error.h"

namespace costate::cluster {
namespace {

TEST(Channel, KeepsTheOrderOfMessagesBetweenTwoRanks) {
  on_ranks(3, [](Channel& channel) {
    const int to = (channel.rank() + 1) % 3, from = (channel.rank() + 2) % 3;
    for (int i = 0; i < 100; ++i) channel.send(to, std::to_string(1000 * channel.rank() + i), Traffic::halo);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(channel.receive(from), std::to_string(1000 * from + i));
    EXPECT_EQ(channel.sent(Traffic::moved), 0);
    EXPECT_GE(channel.sent(Traffic::halo), 100);
  });
}

TEST(Channel, GathersInTheOrderOfTheRanks) {
  for (int ranks : {1, 2, 5}) {
    on_ranks(ranks, [&](Channel& channel) {
      const auto all = channel.gather(std::string(std::size_t(channel.rank()), 'x'));
      ASSERT_EQ(all.size(), std::size_t(ranks));
      for (int r = 0; r < ranks; ++r) EXPECT_EQ(all[std::size_t(r)].size(), std::size_t(r));
    });
  }
}

TEST(Channel, ARankThatFailsEndsTheWaitOfTheOthers) {
  costate::test::expect_error(
      [] {
        on_ranks(4, [](Channel& channel) {
          if (channel.rank() == 2) throw Error({"out of sand", "step 3", "fetch some"});
          channel.receive(2);
        });
      },
      "step 3: out of sand", "fetch some");
}

// Rank 2 still waits in an exchange that the others have ended when one of them fails.
TEST(Channel, AFailureDoesNotOvertakeWhatOthersStillSend) {
  const auto all = channels(3);
  std::latch failed(1);
  std::thread slow([&] {
    failed.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    all[0]->send(2, "of the exchange before", Traffic::sums);
    costate::test::expect_error([&] { all[0]->receive(1); }, "out of sand", "");
  });
  all[1]->fail(Error("out of sand"));
  failed.count_down();
  EXPECT_EQ(all[2]->receive(0), "of the exchange before");
  costate::test::expect_error([&] { all[2]->receive(0); }, "out of sand", "");
  slow.join();
}

}  // namespace
}  // namespace costate::cluster
