// Every input the fuzzers found worth keeping, read again: tests/fuzz/corpus, model_corpus,
// mesh_corpus.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/float_traps.h"
#include "tests/fuzz/fuzz_mesh.h"
#include "tests/fuzz/fuzz_model.h"
#include "tests/fuzz/fuzz_study.h"

namespace costate::io {
namespace {

TEST(FuzzCorpus, EveryInputEndsInASolutionOrAMessage) {
  const costate::test::AllowFloatExceptions allow;  // hostile formulas divide by zero
  int files = 0, solved = 0;
  for (const auto& entry : std::filesystem::directory_iterator(COSTATE_FUZZ_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    SCOPED_TRACE(entry.path().filename());
    solved += fuzz::fuzz_study(text) == "solved";
    ++files;
  }
  EXPECT_GE(files, 10);
  EXPECT_GE(solved, 3);  // the corpus reaches the solvers, not only the parser
}

TEST(FuzzCorpus, EveryModelIsCompiledOrAMessage) {
  const costate::test::AllowFloatExceptions allow;
  int files = 0, compiled = 0;
  for (const auto& entry : std::filesystem::directory_iterator(COSTATE_FUZZ_MODELS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    SCOPED_TRACE(entry.path().filename());
    compiled += fuzz::fuzz_model(text) == "compiled";
    ++files;
  }
  EXPECT_GE(files, 9);
  EXPECT_GE(compiled, 8);  // the corpus reaches the compiler, not only the parser
}

TEST(FuzzCorpus, EveryMeshIsReadOrAMessage) {
  int files = 0, read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(COSTATE_FUZZ_MESHES)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    SCOPED_TRACE(entry.path().filename());
    read += fuzz::fuzz_mesh(text) == "read";
    ++files;
  }
  EXPECT_GE(files, 10);
  EXPECT_GE(read, 9);
}

}  // namespace
}  // namespace costate::io
