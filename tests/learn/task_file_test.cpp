// Files with [task] and [train]: what they say arrives, and what is wrong with them is told at its place.
#include <gtest/gtest.h>

#include <string>

#include "costate/io/scene/load_task.h"
#include "tests/expect_error.h"

namespace costate::io {
namespace {

using costate::test::expect_error;

std::string text(const std::string& task, const std::string& train = "") {
  return "[model]\nfile = \"" COSTATE_SCENES "/cart_pole.xml\"\n[task]\n" + task + "\n[train]\n" + train +
         "\n";
}
const std::string kGood =
    "observe = [\"q[0]\", \"sin(q[1])\"]\nreward = \"alive - last_q[0]^2\"\nalive = \"1 - abs(q[1])\"\n";

TEST(TaskFile, SaysWhatIsToBeLearned) {
  const TaskFile file = parse_task(
      text(kGood + "hold = 3\nuniform = {q = [0.1, 0.2]}\nnormal = 0.5\nvary = {\"body/*/mass\" = 0.2}",
           "worlds = 5\nhidden = [7, 8]\nlambda = 0.9\nmemory = 6\nshortest = 4\nlongest = 64\nstretch = "
           "1.3\nedge = 0.05"),
      "here.toml", {{"train.seed", "4"}});
  EXPECT_EQ(file.task.hold, 3);
  EXPECT_EQ(file.task.observe.output_count(), 2);
  EXPECT_EQ(file.task.uniform, (std::vector<double>{0.1, 0.2, 0, 0}));
  EXPECT_EQ(file.task.normal, std::vector<double>(4, 0.5));
  EXPECT_EQ(file.task.lower, std::vector<double>{-1});
  ASSERT_EQ(file.task.vary.size(), 1u);
  EXPECT_EQ(file.task.vary[0].names, "body/*/mass");
  EXPECT_EQ(file.task.vary[0].by, 0.2);
  EXPECT_EQ(file.options.edge, 0.05);
  EXPECT_EQ(file.options.worlds, 5);
  EXPECT_EQ(file.options.hidden, (std::vector<int>{7, 8}));
  EXPECT_EQ(file.options.memory, 6);
  EXPECT_EQ(file.options.shortest, 4);
  EXPECT_EQ(file.options.longest, 64);
  EXPECT_EQ(file.options.stretch, 1.3);
  EXPECT_EQ(file.options.lambda, 0.9);
  EXPECT_EQ(file.options.seed, 4u);
  EXPECT_DOUBLE_EQ(file.step, 0.03);
}

TEST(TaskFile, MistakesAreToldAtTheirPlace) {
  const auto expect = [](const std::string& file, const char* what, const char* advice) {
    expect_error([&] { return parse_task(file, "here.toml"); }, what, advice);
  };
  expect(text("reward = \"q[0]\""), "observe", "say what the policy sees");
  expect(text("observe = [\"q[0]\"]"), "reward", "say what is good");
  expect(text("observe = []\nreward = \"q[0]\""), "observe has no formula", "at least one");
  expect(text("observe = [\"qq\"]\nreward = \"q[0]\""), "qq", "");
  expect(text(kGood + "uniform = {q = [1, 2, 3]}"), "'q' has 2 numbers, not 3", "one for each");
  expect(text(kGood + "uniform = {w = 1}"), "w", "");
  expect(text(kGood + "vary = {\"body/*/mas\" = 0.2}"), "body/*/mas", "");
  expect(text(kGood + "vary = {\"body/*/mass\" = 1.2}"), "varies by more than itself", "0.2 is 20 %");
  expect(text(kGood, "method = \"sac\""), "sac", "");
  expect(text(kGood, "epochs = 3"), "epochs", "");
  expect("[task]\n" + kGood, "no physics to learn with", "[model]");
  expect("[model]\nfile = \"" COSTATE_SCENES "/cart_pole.xml\"\n", "task", "[task]");
}

}  // namespace
}  // namespace costate::io
