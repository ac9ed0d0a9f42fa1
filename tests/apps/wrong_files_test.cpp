// Files with one mistake each, and what the tool says about it. The first lines of a file say what to expect:
//
//   # expect: CODE LINE:COLUMN TEXT      exit code, place ("-" for none) and part of the message
//   # command: grad --set parameters.k=x   the command and further arguments; "grad" without this line
//
// Every mistake is one message: the place, what is wrong, the line with a caret under the place, and perhaps
// advice.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "tests/apps/run_tool.h"

namespace costate::app::test {
namespace {

std::vector<std::filesystem::path> wrong_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(COSTATE_WRONG_FILES))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

struct Expectation {
  int code = -1;
  std::string place, text, command = "grad";
};

Expectation read_expectation(const std::string& file) {
  Expectation e;
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line) && line.starts_with("#");) {
    std::istringstream words(line);
    std::string hash, key;
    words >> hash >> key;
    if (key == "expect:") {
      words >> e.code >> e.place >> std::ws;
      std::getline(words, e.text);
    } else if (key == "command:") {
      words >> std::ws;
      std::getline(words, e.command);
    }
  }
  return e;
}

class WrongFile : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(WrongFile, IsReportedWithCodePlaceAndText) {
  const std::filesystem::path& path = GetParam();
  const Expectation e = read_expectation(read_file(path));
  ASSERT_GE(e.code, 0) << "no '# expect:' line";
  ASSERT_FALSE(e.text.empty());
  const std::size_t space = e.command.find(' ');
  const Outcome outcome = run_tool(e.command.substr(0, space) + " '" + path.string() + "'" +
                                   (space == std::string::npos ? "" : e.command.substr(space)));
  EXPECT_EQ(outcome.code, e.code) << outcome.err;
  if (e.code == 0) {  // not a mistake, but a note
    EXPECT_NE(outcome.out.find(e.text), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.err, "");
    return;
  }
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(e.text), std::string::npos) << outcome.err;
  if (e.place == "-") return;
  EXPECT_TRUE(outcome.err.starts_with(path.string() + ":" + e.place + ": ")) << outcome.err;
  // The caret is in the third line, under the column named.
  std::istringstream lines(outcome.err);
  std::string message, shown, caret;
  std::getline(lines, message);
  std::getline(lines, shown);
  std::getline(lines, caret);
  const std::size_t column = std::stoul(e.place.substr(e.place.find(':') + 1));
  if (column <= 60) {
    EXPECT_EQ(caret, std::string(column + 1, ' ') + "^") << outcome.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, WrongFile, testing::ValuesIn(wrong_files()),
                         [](const auto& f) { return f.param.stem().string(); });

TEST(WrongFiles, ThereAreThirtyOrMore) { EXPECT_GE(wrong_files().size(), 30u); }

}  // namespace
}  // namespace costate::app::test
