#include "costate/system/devices.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

#include "costate/core/error.h"
#include "costate/core/parallel.h"

namespace costate {
namespace {

std::vector<DeviceKind>& kinds() {
  static std::vector<DeviceKind> all;
  return all;
}

std::string example_of(const DeviceKind& kind) {
  return "\"" + (kind.example.empty() ? kind.name + ":0" : kind.example) + "\"";
}

std::string known() {
  std::string names = "\"cpu\"";
  for (const DeviceKind& kind : kinds()) names += ", " + example_of(kind);
  return names;
}

[[noreturn]] void refuse(const std::string& device, const std::string& why) {
  throw Error(
      {"device = \"" + device + "\": " + why, {}, "use " + known() + "; docs/cuda.md says what a GPU needs"});
}

[[noreturn]] void refuse_choice(const std::string& device, const DeviceKind& kind) {
  const std::string name = kind.name;
  refuse(device, "a " + name + " device is written " + example_of(kind) +
                     (kind.several ? ", several \"" + name + ":0,1\" or \"" + name + ":all\", and \"" + name +
                                         ":0+host\" with snapshots in the memory of the host"
                                   : ""));
}

int index_of(std::string_view text, const std::string& device, const DeviceKind& kind) {
  int index = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, index);
  if (text.empty() || status != std::errc{} || stop != end || index < 0) refuse_choice(device, kind);
  return index;
}

std::vector<int> every_index(const std::string& device, const DeviceKind& kind) {
  std::vector<int> indices(kind.list().size());
  std::iota(indices.begin(), indices.end(), 0);
  if (indices.empty()) refuse(device, "there is no " + kind.name + " device on this machine");
  return indices;
}

// What follows "cuda" in "cuda:0,2+host".
DeviceChoice choice_of(const std::string& device, const DeviceKind& kind) {
  constexpr std::string_view kOnHost = "+host";
  DeviceChoice choice;
  std::string_view rest = std::string_view(device).substr(kind.name.size());
  if (kind.several && rest.ends_with(kOnHost)) {
    choice.snapshots_on_host = true;
    rest.remove_suffix(kOnHost.size());
  }
  if (rest.empty()) return choice;
  rest.remove_prefix(1);
  if (kind.several && rest == "all") {
    choice.indices = every_index(device, kind);
    return choice;
  }
  choice.indices.clear();
  while (true) {
    const std::size_t comma = kind.several ? rest.find(',') : std::string_view::npos;
    choice.indices.push_back(index_of(rest.substr(0, comma), device, kind));
    if (comma == std::string_view::npos) return choice;
    rest.remove_prefix(comma + 1);
  }
}

bool is_of(const std::string& device, const DeviceKind& kind) {
  if (!device.starts_with(kind.name)) return false;
  const std::size_t end = kind.name.size();
  return device.size() == end || device[end] == ':' || (kind.several && device[end] == '+');
}

}  // namespace

bool register_devices(DeviceKind kind) {
  std::erase_if(kinds(), [&](const DeviceKind& k) { return k.name == kind.name; });
  kinds().push_back(std::move(kind));
  return true;
}

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all = {{"cpu", std::to_string(thread_count()) + " threads", 0, 0}};
  for (const DeviceKind& kind : kinds()) {
    const std::vector<DeviceInfo> some = kind.list();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

template <class Real>
std::shared_ptr<const Backend<Real>> backend_of(const std::string& device) {
  if (device == "cpu") return cpu_backend<Real>();
  for (const DeviceKind& kind : kinds()) {
    if (!is_of(device, kind)) continue;
    const DeviceChoice choice = choice_of(device, kind);
    if constexpr (sizeof(Real) == 4)
      return kind.in_float(choice);
    else
      return kind.in_double(choice);
  }
  if (device.starts_with("cuda")) refuse(device, "this program was built without CUDA");
  if (device == "mpi") refuse(device, "this program was built without MPI");
  refuse(device, "there is no such device");
}

template std::shared_ptr<const Backend<float>> backend_of<float>(const std::string&);
template std::shared_ptr<const Backend<double>> backend_of<double>(const std::string&);

}  // namespace costate
