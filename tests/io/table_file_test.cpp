#include "costate/io/text/table_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/expect_error.h"

namespace costate::io {
namespace {

using costate::test::expect_error;

class TableFile : public testing::Test {
 protected:
  std::string file(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  ~TableFile() override { std::filesystem::remove(path_); }
  const std::string path_ = testing::TempDir() + "table_file_" +
                            std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                            testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv";
};

TEST_F(TableFile, ColumnsAreFoundByName) {
  const auto columns = read_columns(file("# a log\r\nt; \"angle\" ;rate\r\n0;+0.5;1e-3\r\n\r\n0.1;;-2\r\n"),
                                    {"rate", "angle"});
  EXPECT_EQ(columns[0], (std::vector<double>{1e-3, -2}));
  EXPECT_EQ(columns[1][0], 0.5);
  EXPECT_TRUE(std::isnan(columns[1][1]));
}

TEST_F(TableFile, FilesOfSpreadsheetsAndOfNumpyAreRead) {
  const std::vector<double> expected = {0.5, -2};
  EXPECT_EQ(read_columns(file("\xEF\xBB\xBFt,a\n0,0.5\n1,-2\n"), {"a"})[0], expected);
  EXPECT_EQ(read_columns(file("# made by hand\n# t,a\n0,0.5\n1,-2\n"), {"a"})[0], expected);
  EXPECT_EQ(read_columns(file("t,a\n0,0.5,\n1,-2,\n"), {"a"})[0], expected);
}

TEST_F(TableFile, ADecimalCommaIsNotTakenForTwoCells) {
  expect_error([&] { return read_columns(file("t;a\n0,0;0,5\n"), {"a"}); },
               ".csv:2: this line has 4 cells, and there are names for 2", "a point instead of a comma");
  expect_error([&] { return read_columns(file("a,t,a\n1,2,3\n"), {"a"}); },
               ".csv:1: there are two columns 'a'");
  expect_error([&] { return read_columns(file("0,1\n"), {"a"}); }, "there is no column 'a'");
}

TEST_F(TableFile, MistakesAreToldWithTheirLine) {
  expect_error(
      [&] {
        return read_columns(file("t,a\n0,1\n1,x2\n"), {"t", "a"});
      },
      ".csv:3: 'x2' is not a number", "leave the cell empty");
  expect_error([&] { return read_columns(file("t,a\n0,inf\n"), {"a"}); }, "'inf' is not a number");
  expect_error(
      [&] {
        return read_columns(file("t,angle\n0,1\n"), {"t", "angel"});
      },
      "there is no column 'angel'", "there is: t, angle");
  expect_error([&] { return read_columns(file("t,a\n0\n"), {"t", "a"}); }, "this line has 1 cells");
  expect_error([&] { return read_columns(file("t,a\n"), {"t", "a"}); }, "no rows of numbers");
  expect_error([&] { return read_columns("/nonexistent/x.csv", {"t"}); }, "there is no such file");
}

}  // namespace
}  // namespace costate::io
