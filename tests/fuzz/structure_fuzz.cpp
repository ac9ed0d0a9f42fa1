// libFuzzer target for files of atoms. Build and run: tests/fuzz/run 300 structure. The corpus is replayed by
// tests/md/structure_test.cpp.
#include "tests/fuzz/fuzz_structure.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  costate::fuzz::fuzz_structure(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
