// Model files with one mistake each, and what loading them says. The first line of a file says what to
// expect:
//
//   <!-- expect: LINE WHAT | ADVICE -->     line of the file ("-" for none) and parts of the message
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "costate/core/error.h"
#include "costate/io/model/load_model.h"

namespace costate::rigid {
namespace {

std::vector<std::filesystem::path> wrong_models() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(COSTATE_IO_TESTS) + "/wrong_models"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

struct Expectation {
  std::string line, what, advice;
};

Expectation expectation_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string first;
  std::getline(in, first);
  const std::string begin = "<!-- expect: ", end = " -->";
  if (!first.starts_with(begin) || !first.ends_with(end)) return {};
  first = first.substr(begin.size(), first.size() - begin.size() - end.size());
  const std::size_t space = first.find(' '), bar = first.find(" | ");
  return {first.substr(0, space), first.substr(space + 1, bar == std::string::npos ? bar : bar - space - 1),
          bar == std::string::npos ? "" : first.substr(bar + 3)};
}

class WrongModel : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(WrongModel, IsReportedWithFileAndLine) {
  const std::string path = GetParam().string();
  const Expectation e = expectation_of(GetParam());
  ASSERT_FALSE(e.what.empty()) << "no expectation in the first line";
  try {
    load(path);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::input);
    EXPECT_EQ(error.message().where, e.line == "-" ? path : path + ":" + e.line) << error.what();
    EXPECT_NE(error.message().what.find(e.what), std::string::npos) << error.what();
    EXPECT_NE(error.message().advice.find(e.advice), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Models, WrongModel, testing::ValuesIn(wrong_models()),
                         [](const auto& test) { return test.param.stem().string(); });

}  // namespace
}  // namespace costate::rigid
