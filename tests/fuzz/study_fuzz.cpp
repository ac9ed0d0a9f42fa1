// libFuzzer target for studies. Build and run: tests/fuzz/run. The corpus is replayed by
// tests/io/fuzz_corpus_test.cpp.
#include <cstdint>

#include "tests/fuzz/fuzz_study.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  costate::fuzz::fuzz_study(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
