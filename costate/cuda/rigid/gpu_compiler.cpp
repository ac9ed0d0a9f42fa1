// Compiles the kernels of rigid bodies when the library is built:
//
//   costate_gpu_compiler <root of the tree> <architecture, sm_90> <float or double> <output> [options]
//
// The kernels are the CPU's own sources (rigid_entries.h). NVRTC can take every function as one of the device
// (--device-as-default-execution-space), which nvcc cannot. It has no standard library: the headers listed
// here stand in for it and for the few of ours that belong to the host.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "costate/core/error.h"
#include "costate/cuda/nvrtc.h"

namespace costate::cuda {
namespace {

std::vector<Header> headers() {
  std::vector<Header> all;
  for (const char* name : {"algorithm", "array", "cmath", "cstdint", "cstring", "functional",
                           "initializer_list", "iterator", "limits", "memory", "stdexcept", "string",
                           "string_view", "type_traits", "unordered_map", "utility", "vector"})
    all.push_back({name, "#include \"costate/cuda/rigid/device_standard.h\"\n"});
  all.push_back({"costate/core/pack.h", "#include \"costate/cuda/rigid/device_pack.h\"\n"});
  all.push_back({"costate/core/error.h", R"(#pragma once
#include "costate/cuda/rigid/device_standard.h"
namespace costate {
struct Error {
  struct Message {
    std::string what, where, advice;
  };
  Error(Message) {}
  Error(std::string) {}
};
}  // namespace costate
#define throw (void)
)"});
  // A GPU's gradient has no report of contacts.
  all.push_back({"costate/rigid/step/onset_watch.h", R"(#pragma once
#include "costate/rigid/step/step.h"
namespace costate::rigid {
template <class S>
struct OnsetWatch {
  explicit OnsetWatch(const Stepper&) {}
  void see(const mask_t<S>&, const Constraints&, const ConstraintData<S>&, const S*) {}
};
}  // namespace costate::rigid
)"});
  all.push_back({"costate/rigid/step/sweep_watch.h", R"(#pragma once
#include "costate/rigid/step/step.h"
namespace costate::rigid {
template <class S>
struct SweepWatch {
  explicit SweepWatch(const Stepper&) {}
};
}  // namespace costate::rigid
)"});
  all.push_back({"costate/system/signature.h", "#pragma once\nnamespace costate {\nclass Signature;\n}\n"});
  all.push_back({"costate/system/system.h", R"(#pragma once
#include "costate/system/activity.h"
namespace costate {
struct StepContext {
  long k, world;
  unsigned long seed;
};
}  // namespace costate
)"});
  return all;
}

// The text of every file that the kernels may include.
std::string sources(const std::filesystem::path& root) {
  std::set<std::filesystem::path> files = {root / "costate/cuda/lane_thread.h",
                                           root / "costate/system/activity.h"};
  for (const char* layer : {"ad", "core", "geometry", "rigid", "cuda/rigid"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "costate" / layer))
      if (entry.path().extension() == ".h") files.insert(entry.path());
  for (const char* body : {"contact_adjoint.cpp", "contact_penalty.cpp", "contact_rows.cpp", "impact.cpp"})
    files.insert(root / "costate/rigid/contact" / body);
  for (const char* body : {"plane_round.cpp", "round_pairs.cpp"})
    files.insert(root / "costate/geometry" / body);
  std::string text;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    text += std::string(std::istreambuf_iterator<char>(in), {}) + "\n";
  }
  return text;
}

int run(int argc, char** argv) {
  if (argc < 5)
    throw Error("costate_gpu_compiler <root> <architecture> <float or double> <output> [options of NVRTC]");
  std::vector<std::string> options = {std::string("--gpu-architecture=") + argv[2],
                                      "--device-as-default-execution-space", "--no-source-include",
                                      "-DCOSTATE_ON_DEVICE", std::string("-DCOSTATE_REAL=") + argv[3]};
  options.insert(options.end(), argv + 5, argv + argc);
  options.push_back(std::string("-I") + argv[1]);
  const std::vector<char> code =
      compile("#include \"costate/cuda/rigid/rigid_entries.h\"\n", headers(), options, sources(argv[1]));
  std::ofstream(argv[4], std::ios::binary).write(code.data(), std::streamsize(code.size()));
  return 0;
}

}  // namespace
}  // namespace costate::cuda

int main(int argc, char** argv) {
  try {
    return costate::cuda::run(argc, argv);
  } catch (const costate::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
