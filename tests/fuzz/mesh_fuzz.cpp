// libFuzzer target for mesh files. Build and run: tests/fuzz/run 300 mesh. The corpus is replayed by
// tests/io/fuzz_corpus_test.cpp.
#include "tests/fuzz/fuzz_mesh.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  costate::fuzz::fuzz_mesh(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
