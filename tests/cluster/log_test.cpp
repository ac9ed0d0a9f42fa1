// The log of finished blocks under everything that happens to files: a second writer, a full disk, a torn
// line, a file that is somebody else's.
#include "costate/cluster/log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <sstream>

#include "costate/cluster/threads.h"
#include "tests/cluster/toy_job.h"
#include "tests/expect_error.h"

namespace costate::cluster::test {
namespace {

using costate::test::expect_error;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Part some_part(double value) {
  Part part;
  part.value = value;
  part.sums.assign(100, value / 3);
  return part;
}

TEST(Log, ASecondRunThatWritesTheSameFileIsRefused) {
  const Folder folder;
  const std::string path = folder.path / "fit.log";
  {
    Log first(path, "job");
    expect_error([&] { Log second(path, "job"); }, "another run is writing this log", "its own");
    first.append("k", {0, 0}, some_part(1));
  }
  Log after(path, "job");
  EXPECT_EQ(after.of("k").size(), 1u);
}

// Files of this process may grow by so much, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit less = before_;
    less.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &less);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  sighandler_t handler_;
};

TEST(Log, AFullDiskIsSaidAndLeavesALogToGoOnFrom) {
  const Folder folder;
  const std::string path = folder.path / "fit.log";
  const ToyJob job(40, 4);
  const std::string wanted = [&] {
    Pool pool(threads(1));
    return bits(pool.value_and_grad(job, some_theta()));
  }();
  {
    Pool pool(threads(1), {.log = path});
    const FullDisk full(3000);
    expect_error([&] { return pool.value_and_grad(job, some_theta()); },
                 "the log of finished blocks cannot be written", "make room");
  }
  EXPECT_EQ(text_of(path).back(), '\n') << "half a line is left";
  Pool pool(threads(1), {.log = path});
  EXPECT_EQ(bits(pool.value_and_grad(job, some_theta())), wanted);
  EXPECT_GT(pool.report().counts.resumed, 0);
  EXPECT_LT(pool.report().counts.resumed, 10);
}

TEST(Log, AFileThatIsNotALogStaysAsItIs) {
  const Folder folder;
  const std::string path = folder.path / "data.json";
  for (const std::string precious : {"{\"one\": 1}", "{\"two\":\n 2}\n"}) {
    std::ofstream(path) << precious;
    expect_error([&] { Log log(path, "job"); }, "data.json:1: this is not a line of a log", "another place");
    EXPECT_EQ(text_of(path), precious);
  }
  expect_error([&] { Log log(folder.path, "job"); }, "the log cannot be written", "another place");
  expect_error([&] { Log log("/dev/zero", "job"); }, "not a file", "another place");
  expect_error([&] { Log log(folder.path / "no" / "fit.log", "job"); }, "No such file", "another place");
}

TEST(Log, AHeadThatWasBeingWrittenIsWrittenAgain) {
  const Folder folder;
  const std::string path = folder.path / "fit.log";
  for (const std::string torn : {"", "costate clus", "costate cluster log 1 0123"}) {
    std::ofstream(path) << torn;
    { Log(path, "job").append("k", {0, 1}, some_part(2)); }
    EXPECT_EQ(Log(path, "job").of("k").size(), 1u) << torn;
    std::filesystem::remove(path);
  }
}

// Lines with a right fingerprint that name blocks which are not there.
TEST(Log, NodesThatTheJobHasNotAreNotItsBlocks) {
  const Folder folder;
  const std::string path = folder.path / "fit.log";
  const ToyJob job(5, 1);
  const std::string wanted = [&] {
    Pool pool(threads(1));
    return bits(pool.value_and_grad(job, some_theta()));
  }();
  {
    Log log(path, job.identity());
    const std::string key = Log::key_of(some_theta(), true);
    for (const Node node : {Node{0, 5}, Node{2, 7}, Node{5, 0}, Node{62, 1}, Node{1, std::int64_t(1) << 62}})
      log.append(key, node, some_part(3));
  }
  Pool pool(threads(1), {.log = path});
  EXPECT_EQ(bits(pool.value_and_grad(job, some_theta())), wanted);
  EXPECT_EQ(pool.report().counts.resumed, 0);
  const std::string line = "k -1 3 00";
  std::ofstream(folder.path / "other.log") << "costate cluster log 1 " << fingerprint("job") << "\n"
                                           << line << " " << fingerprint(line) << "\n\n";
  expect_error([&] { Log log(folder.path / "other.log", "job"); }, "other.log:2: this is not a line");
}

}  // namespace
}  // namespace costate::cluster::test
