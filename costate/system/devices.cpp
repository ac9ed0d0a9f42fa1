#include "costate/system/devices.h"

#include <algorithm>
#include <charconv>

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

// The index in "cuda:1"; "cuda" alone is the first.
int index_of(const std::string& device, const DeviceKind& kind) {
  if (device == kind.name) return 0;
  int index = 0;
  const char *first = device.data() + kind.name.size() + 1, *last = device.data() + device.size();
  const auto [end, status] = std::from_chars(first, last, index);
  if (first == last || status != std::errc{} || end != last || index < 0)
    refuse(device, "a " + kind.name + " device is written " + example_of(kind));
  return index;
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
    if (device != kind.name && !device.starts_with(kind.name + ":")) continue;
    const int index = index_of(device, kind);
    if constexpr (sizeof(Real) == 4)
      return kind.in_float(index);
    else
      return kind.in_double(index);
  }
  if (device.starts_with("cuda")) refuse(device, "this program was built without CUDA");
  if (device == "mpi") refuse(device, "this program was built without MPI");
  refuse(device, "there is no such device");
}

template std::shared_ptr<const Backend<float>> backend_of<float>(const std::string&);
template std::shared_ptr<const Backend<double>> backend_of<double>(const std::string&);

}  // namespace costate
