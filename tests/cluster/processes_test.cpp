#include "costate/cluster/processes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "costate/cluster/threads.h"
#include "costate/cluster/worker.h"
#include "tests/cluster/toy_job.h"
#include "tests/expect_error.h"

namespace costate::cluster::test {
namespace {

using costate::test::expect_error;

std::string wanted(const Job& job) {
  Pool pool(threads(1));
  return bits(pool.value_and_grad(job, some_theta()));
}

TEST(Processes, HaveTheBitsOfThreads) {
  const ToyJob job(101, 10);
  const std::string one = wanted(job);
  {
    Pool pool(threads(2));
    EXPECT_EQ(bits(pool.value_and_grad(job, some_theta())), one);
  }
  for (const int workers : {1, 2, 3, 4}) {
    Pool pool(processes(workers));
    EXPECT_EQ(bits(pool.value_and_grad(job, some_theta())), one);
    EXPECT_EQ(bits(pool.value_and_grad(job, some_theta())), one) << "again";
    EXPECT_EQ(pool.report().counts.lost, 0);
  }
}

TEST(Processes, AWorkerKilledInEveryBlockIsReplacedAndTheBlockDoneAgain) {
  const Folder folder;
  ToyJob job(60, 10);
  const std::string unharmed = wanted(job);
  job.kills = folder.path;
  Pool pool(processes(2), {.patience = std::numeric_limits<double>::infinity()});  // no copies
  EXPECT_EQ(bits(pool.value_and_grad(job, some_theta())), unharmed);
  EXPECT_EQ(pool.report().counts.lost, 6);
  EXPECT_EQ(pool.report().counts.redone, 6);
}

TEST(Processes, ABlockThatEndsEveryWorkerIsNamed) {
  ToyJob job(60, 10);
  job.always_kills = 4;
  Pool pool(processes(2));
  expect_error([&] { return pool.value_and_grad(job, some_theta()); },
               "block 4: the worlds 40 to 49 have ended 4 workers, the last one by signal 9",
               "run these worlds alone");
}

TEST(Processes, AStragglersBlockIsComputedTwice) {
  const Folder folder;
  ToyJob job(40, 10);
  const std::string unharmed = wanted(job);
  job.kills = folder.path, job.sleeps_once = 1;
  Pool pool(processes(2));
  EXPECT_EQ(bits(pool.value_and_grad(job, some_theta())), unharmed);
  EXPECT_EQ(pool.report().counts.copied, 1);
  EXPECT_EQ(pool.report().counts.lost, 0);
}

TEST(Processes, WorkersJoinAndLeave) {
  ToyJob job(200, 5);
  job.milliseconds = 2;
  Pool* running = nullptr;
  Pool pool(processes(1), {.progress = [&](std::int64_t done, std::int64_t, int) {
              if (done == 10) running->resize(2);
              if (done == 20) running->resize(1);  // the first one leaves
            }});
  running = &pool;
  EXPECT_EQ(bits(pool.value_and_grad(job, some_theta())), wanted(job));
  EXPECT_EQ(pool.report().counts.workers.size(), 2u);
}

TEST(Processes, AnotherJobGetsWorkersOfItsOwn) {
  const ToyJob first(30, 10), second(33, 10);
  Pool pool(processes(2));
  for (int turn = 0; turn < 2; ++turn)
    for (const ToyJob* job : {&first, &second})
      EXPECT_EQ(bits(pool.value_and_grad(*job, some_theta())), wanted(*job));
  EXPECT_EQ(pool.report().counts.redone, 0);
}

TEST(Processes, AreRefusedWhereThereAreThreads) {
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) std::this_thread::yield();
  });
  Pool pool(processes(1));
  expect_error([&] { return pool.value_and_grad(ToyJob(3, 1), some_theta()); }, "this process has 2 threads",
               "before anything runs in parallel");
  done = true;
  other.join();
}

class Described final : public Job {
 public:
  Partition partition() const override { return {4, 1}; }
  std::string identity() const override { return "described"; }
  std::string description() const override { return "a description"; }
  Part part(const std::vector<double>&, const Block&, Want) const override { return {}; }
};

TEST(Processes, AWorkerProgramThatIsNoneIsAnError) {
  const auto with = [](std::vector<std::string> program) {
    return [program] {
      Pool pool(processes(1, program));
      return pool.value(Described(), {1});
    };
  };
  expect_error(with({"/bin/does/not/exist"}), "cannot be started", "in PATH");
  expect_error(with({"false"}), "ended before it was ready, by exit code 1", "by itself: false");
  expect_error(with({"echo", "far too many words for a length"}), "not a message of a worker",
               "print to its output");
  Pool pool(processes(1, {"cat"}));
  expect_error([&] { return pool.value(ToyJob(3, 1), {1}); }, "no description", "leave the program out");
  expect_error([] { return processes(-3); }, "a pool of -3 processes", "one per core");
}

// The refusal happens where the answer is read: another model, the same machine.
TEST(Processes, AWorkerWithAnotherModelIsRefused) {
  const std::string hello = Writer()
                                .text(identity_of_machine().version)
                                .text(identity_of_machine().instruction_set)
                                .text("feedfeedfeedfeed")
                                .bytes();
  const Identity driver = identity_of(Described());
  expect_error(
      [&] { return event_of(2, Frame::hello, hello, driver); },
      "worker 2: a worker is refused because its job is feedfeedfeedfeed and the driver's is " + driver.job,
      "files changed");
}

}  // namespace
}  // namespace costate::cluster::test
