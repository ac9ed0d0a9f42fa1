// Every input the fuzzer found worth keeping, read again: tests/fuzz/corpus.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/float_traps.h"
#include "tests/fuzz/fuzz_problem.h"

namespace costate::io {
namespace {

TEST(FuzzCorpus, EveryInputEndsInASolutionOrAMessage) {
  const costate::test::AllowFloatExceptions allow;  // hostile formulas divide by zero
  int files = 0, solved = 0;
  for (const auto& entry : std::filesystem::directory_iterator(COSTATE_FUZZ_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    SCOPED_TRACE(entry.path().filename());
    solved += fuzz::fuzz_problem(text) == "solved";
    ++files;
  }
  EXPECT_GE(files, 10);
  EXPECT_GE(solved, 3);  // the corpus reaches the solvers, not only the parser
}

}  // namespace
}  // namespace costate::io
