// NVRTC: CUDA source to the machine code of one GPU, while the program runs. The library is looked for when
// it is first needed: what COSTATE_NVRTC names (nothing: none is wanted), the PyPI package
// nvidia-cuda-nvrtc, the system's. Machine code is kept on disk, so a source is compiled once per machine:
//
//   $COSTATE_CACHE, or $XDG_CACHE_HOME/costate, or ~/.cache/costate
//
// Tests: tests/cuda/device_program_test.cpp.
#pragma once

#include <string>
#include <vector>

namespace costate::cuda {

// Machine code for compute capability major.minor. An Error if there is no NVRTC, with what to install; if
// the source does not compile, with the compiler's words.
std::vector<char> compile(const std::string& source, int major, int minor);

bool has_nvrtc();

// A file that sources include, by the name they include it with.
struct Header {
  std::string name, text;
};
// The same with headers that are taken instead of files on disk, and with options of NVRTC's, for code that
// is compiled when the library is built. depends_on: the text of all files that it includes from disk.
std::vector<char> compile(const std::string& source, const std::vector<Header>& headers,
                          std::vector<std::string> options, const std::string& depends_on);

}  // namespace costate::cuda
