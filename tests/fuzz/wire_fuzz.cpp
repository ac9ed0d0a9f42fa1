// libFuzzer target for messages between drivers and workers. Build and run: tests/fuzz/run 300 wire.
// tests/cluster/processes_test.cpp replays some thousand edits.
#include "tests/fuzz/fuzz_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  costate::fuzz::fuzz_wire(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
