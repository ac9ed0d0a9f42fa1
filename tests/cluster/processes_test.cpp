#include "costate/cluster/processes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <thread>

#include "costate/cluster/threads.h"
#include "costate/cluster/worker.h"
#include "tests/cluster/toy_job.h"
#include "tests/expect_error.h"
#include "tests/fuzz/fuzz_wire.h"

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
  EXPECT_LE(pool.report().efficiency(), 1);
  EXPECT_GT(pool.report().efficiency(), 0);
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
  Identity other = identity_of_machine();
  other.job = "feedfeedfeedfeed";
  const std::string hello = to_bytes(other);
  const Identity driver = identity_of(Described());
  expect_error(
      [&] { return event_of(2, Frame::hello, hello, driver); },
      "worker 2: a worker is refused because its job is feedfeedfeedfeed and the driver's is " + driver.job,
      "files changed");
}

// What tests/fuzz/run looks for at length, some thousand times.
TEST(Wire, HostileBytesAreReadOrRefused) {
  std::mt19937 random(5);
  int read = 0, refused = 0;
  for (int turn = 0; turn < 4000; ++turn) {
    std::string input(std::size_t(1 + random() % 40), '\0');
    for (char& c : input) c = char(random());
    if (turn % 4 != 0) input[0] = char(input[0] | 2);  // edits; otherwise any bytes
    ++(fuzz::fuzz_wire(input) == "read" ? read : refused);
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
  const std::string silent = Writer().text("").text("").text("").integer(0).bytes();
  expect_error([&] { return event_of(0, Frame::error, silent, {}); }, "failed, and did not say what");
  const std::string rude = Writer().text(std::string("\0\33[2J", 5)).text("").text("").integer(0).bytes();
  expect_error([&] { return event_of(0, Frame::error, rude, {}); }, "??[2J");
  EXPECT_EQ(fuzz::fuzz_wire(std::string(1, '\2')), "read");
  EXPECT_EQ(fuzz::fuzz_wire(std::string(1, '\3')), "read");
}

// A worker whose every answer is a lie, of its own kind.
class Liar final : public Transport {
 public:
  explicit Liar(std::function<void(Event&)> lie) : lie_(std::move(lie)) {}
  std::string name() const override { return "liars"; }
  void begin(const Job&) override {
    if (!joined_) events_.push_back({.kind = Event::Kind::joined, .worker = 0});
    joined_ = true;
  }
  void send(int worker, const Work& work) override {
    Event event{.kind = Event::Kind::finished, .worker = worker, .call = work.call, .task = work.task};
    event.part.sums.resize(work.theta->size());
    lie_(event);
    events_.push_back(event);
  }
  Event wait(double) override {
    if (events_.empty()) return {};
    const Event event = events_.front();
    events_.pop_front();
    return event;
  }

 private:
  std::function<void(Event&)> lie_;
  std::deque<Event> events_;
  bool joined_ = false;
};

TEST(Pool, AWorkerThatAnswersWronglyIsRefused) {
  const auto hears = [](const std::function<void(Event&)>& lie) {
    return [lie] {
      Pool pool(std::make_unique<Liar>(lie));
      return pool.value_and_grad(ToyJob(30, 3), some_theta());
    };
  };
  const std::string unasked = "answered what it was not asked for";
  expect_error(hears([](Event& e) { e.task.node.index += 1; }), unasked, "the program that this driver");
  expect_error(hears([](Event& e) { e.task.node.level = -3; }), unasked);
  expect_error(hears([](Event& e) { e.task.node = {60, 1}; }), unasked);
  expect_error(hears([](Event& e) { e.task.point = 7; }), unasked);
  expect_error(hears([](Event& e) { e.call -= 1; }), unasked);
  expect_error(hears([](Event& e) { e.worker = 9; }), unasked);
  expect_error(hears([](Event& e) { e.part.sums.resize(std::size_t(1 + e.task.node.index)); }),
               "gradients of 1 and 2 numbers", "as many numbers for every block");
}

TEST(Processes, AWorkerIsAskedForBlocksThatThereAre) {
  const ToyJob job(30, 3);
  const auto asked = [&](std::int64_t level, std::int64_t index) {
    const std::string task = Writer().integer(1).integer(0).integer(level).integer(index).bytes();
    return answer_to_task(job, some_theta(), Want::gradient, task);
  };
  EXPECT_FALSE(asked(4, 0).empty());
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const auto& [level, index] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {-1, 0}, {0, 10}, {0, -1}, {5, 0}, {64, 0}, {kHuge, 0}, {0, kHuge}, {4, kHuge}, {1, kHuge / 2}})
    expect_error([&] { return asked(level, index); }, "blocks that the job has not");
}

// A block that cannot be computed ends a call, not the pool.
TEST(Processes, GoOnAfterAnError) {
  ToyJob job(60, 10), kills(60, 10);
  kills.always_kills = 2, kills.name = "kills";
  Pool pool(processes(2));
  for (int turn = 0; turn < 2; ++turn) {
    expect_error([&] { return pool.value_and_grad(kills, some_theta()); }, "have ended 4 workers");
    EXPECT_EQ(bits(pool.value_and_grad(job, some_theta())), wanted(job));
  }
}

}  // namespace
}  // namespace costate::cluster::test
