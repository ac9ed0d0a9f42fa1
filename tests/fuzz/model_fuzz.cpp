// libFuzzer target for model files. Build and run: tests/fuzz/run 300 model. The corpus is replayed by
// tests/io/fuzz_corpus_test.cpp.
#include "tests/fuzz/fuzz_model.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  costate::fuzz::fuzz_model(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
