#include "costate/cuda/nvrtc.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "costate/core/error.h"

namespace costate::cuda {
namespace {

namespace fs = std::filesystem;

// The few functions of nvrtc.h that are used, by their documented signatures; nvrtcResult is an int, 0 is
// success.
struct Nvrtc {
  using Handle = void*;
  int (*create)(Handle*, const char* source, const char* name, int headers, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(Handle, int options, const char* const*) = nullptr;
  int (*log_size)(Handle, std::size_t*) = nullptr;
  int (*log)(Handle, char*) = nullptr;
  int (*code_size)(Handle, std::size_t*) = nullptr;
  int (*code)(Handle, char*) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*version)(int*, int*) = nullptr;
};

void* open_library() {
  std::vector<std::string> names;
  if (const char* own = std::getenv("COSTATE_NVRTC")) names.emplace_back(own);
  // Beside a Python package of this process: site-packages/costate/_core.so, site-packages/nvidia/*/lib.
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&open_library), &self) != 0 && self.dli_fname != nullptr) {
    const fs::path site = fs::path(self.dli_fname).parent_path().parent_path() / "nvidia";
    std::error_code none;
    for (const char* folder : {"cu13/lib", "cuda_nvrtc/lib"})
      for (const auto& entry : fs::directory_iterator(site / folder, none))
        if (entry.path().filename().string().starts_with("libnvrtc.so"))
          names.push_back(entry.path().string());
  }
  for (const char* name :
       {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"})
    names.emplace_back(name);
  for (const std::string& name : names)
    if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

const Nvrtc* nvrtc() {
  static const Nvrtc* const found = []() -> const Nvrtc* {
    void* const library = open_library();
    if (library == nullptr) return nullptr;
    static Nvrtc n;
    bool all = true;
    const auto get = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      all = all && function != nullptr;
    };
    get(n.create, "nvrtcCreateProgram"), get(n.compile, "nvrtcCompileProgram");
    get(n.log_size, "nvrtcGetProgramLogSize"), get(n.log, "nvrtcGetProgramLog");
    get(n.code_size, "nvrtcGetCUBINSize"), get(n.code, "nvrtcGetCUBIN");
    get(n.destroy, "nvrtcDestroyProgram"), get(n.version, "nvrtcVersion");
    return all ? &n : nullptr;
  }();
  return found;
}

// 128 bits of FNV-1a, in two halves with different starts.
std::string fingerprint(const std::string& text) {
  std::string name;
  for (std::uint64_t hash : {14695981039346656037U, 1099511628211U * 31}) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    name += digits;
  }
  return name;
}

fs::path cache_folder() {
  if (const char* own = std::getenv("COSTATE_CACHE")) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME")) return fs::path(xdg) / "costate";
  if (const char* home = std::getenv("HOME")) return fs::path(home) / ".cache/costate";
  return {};
}

std::vector<char> read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A wish: a cache that cannot be written to costs time and nothing else. Other processes see all of it or
// nothing.
void write(const fs::path& path, const std::vector<char>& code) {
  std::error_code trouble;
  fs::create_directories(path.parent_path(), trouble);
  const fs::path draft = path.string() + "." + std::to_string(getpid());
  std::ofstream(draft, std::ios::binary).write(code.data(), std::streamsize(code.size()));
  fs::rename(draft, path, trouble);
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& text : texts) all.push_back(text.c_str());
  return all;
}

std::vector<char> run_compiler(const Nvrtc& n, const std::string& source, const std::vector<Header>& headers,
                               const std::vector<std::string>& options) {
  Nvrtc::Handle handle = nullptr;
  std::vector<std::string> names, texts;
  for (const Header& header : headers) names.push_back(header.name), texts.push_back(header.text);
  n.create(&handle, source.c_str(), "physics.cu", int(headers.size()), pointers(texts).data(),
           pointers(names).data());
  const int status = n.compile(handle, int(options.size()), pointers(options).data());
  std::size_t size = 0;
  std::vector<char> result;
  if (status == 0) {
    n.code_size(handle, &size);
    result.resize(size);
    n.code(handle, result.data());
    n.destroy(&handle);
    return result;
  }
  n.log_size(handle, &size);
  std::string log(size, '\0');
  n.log(handle, log.data());
  n.destroy(&handle);
  throw Error({"NVRTC cannot compile this physics with " + options.front() + ": " + log.substr(0, 2000),
               {},
               "use device = \"cpu\", and report the message: it is a mistake of this library"});
}

// What make() returns, kept on disk under the fingerprint of `key`, which says all that it depends on.
template <class Make>
std::vector<char> kept(const std::string& key, const Make& make) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const fs::path folder = cache_folder(), file = folder / (fingerprint(key) + ".cubin");
  if (!folder.empty()) {
    if (std::vector<char> code = read(file); !code.empty()) return code;
  }
  std::vector<char> code = make();
  if (!folder.empty()) write(file, code);
  return code;
}

}  // namespace

bool has_nvrtc() {
  const char* const own = std::getenv("COSTATE_NVRTC");
  const bool unwanted = own && *own == '\0';
  return !unwanted && nvrtc() != nullptr;
}

std::vector<char> compile(const std::string& source, int major, int minor) {
  const std::string arch = "sm_" + std::to_string(major) + std::to_string(minor);
  return kept(arch + "\n" + source, [&] {
    const Nvrtc* const n = nvrtc();
    if (n == nullptr)
      throw Error(
          {"physics given as equations is compiled for a GPU by NVRTC, which was not found",
           {},
           "pip install nvidia-cuda-nvrtc, or name the library: COSTATE_NVRTC=/path/to/libnvrtc.so; or use "
           "device = \"cpu\""});
    return run_compiler(*n, source, {}, {"--gpu-architecture=" + arch, "--std=c++20"});
  });
}

std::vector<char> compile(const std::string& source, const std::vector<Header>& headers,
                          std::vector<std::string> options, const std::string& depends_on) {
  const Nvrtc* const n = nvrtc();
  if (n == nullptr) throw Error("NVRTC was not found: set COSTATE_NVRTC to /path/to/libnvrtc.so");
  options.emplace_back("--std=c++20");
  int major = 0, minor = 0;
  n->version(&major, &minor);
  std::string key = source + depends_on + std::to_string(major) + "." + std::to_string(minor);
  for (const Header& header : headers) key += "\n" + header.name + "\n" + header.text;
  for (const std::string& option : options)
    if (!option.starts_with("-I")) key += "\n" + option;
  return kept(key, [&] { return run_compiler(*n, source, headers, options); });
}

}  // namespace costate::cuda
