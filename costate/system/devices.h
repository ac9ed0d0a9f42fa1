// Devices: the places that RolloutOptions::device can name. "cpu" is always there. Others come with a library
// that registers their kind when the program starts: costate/cuda registers "cuda" for cuda:0, cuda:1, ...;
// costate/cluster registers "ranks" for one large world over ranks:2, ranks:3, ...
//
//   cuda:0        the first one; "cuda" alone, too
//   cuda:0,2      several: worlds are dealt out
//   cuda:all      all there are
//   cuda:0+host   snapshots of a gradient lie in the memory of the host; so does cuda:all+host
//
// Tests: tests/system/devices_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "costate/system/backend.h"

namespace costate {

struct DeviceInfo {
  std::string device;       // "cuda:0"
  std::string description;  // "NVIDIA H200, compute capability 9.0"
  std::int64_t memory_bytes = 0, free_bytes = 0;
};

// What the name of a device says after its kind.
struct DeviceChoice {
  std::vector<int> indices = {0};
  bool snapshots_on_host = false;
};

// One kind of device. The functions throw an Error where there is no such device on this machine.
struct DeviceKind {
  std::string name;  // "cuda"
  std::function<std::shared_ptr<const Backend<float>>(const DeviceChoice&)> in_float;
  std::function<std::shared_ptr<const Backend<double>>(const DeviceChoice&)> in_double;
  std::function<std::vector<DeviceInfo>()> list;  // none: an empty list
  std::string example = {};                       // how one is written, for messages; empty: "cuda:0"
  bool several = false;                           // has more than an index: "cuda:0,2", "cuda:all", "+host"
};

// Before any rollout is made: from the initialisation of a static variable. A kind that is there is replaced.
bool register_devices(DeviceKind kind);

// The CPU, then every device of every registered kind.
std::vector<DeviceInfo> devices();

// The backend behind "cpu", "<kind>" or "<kind>:<choice>". An Error that names what there is otherwise.
template <class Real>
std::shared_ptr<const Backend<Real>> backend_of(const std::string& device);

extern template std::shared_ptr<const Backend<float>> backend_of<float>(const std::string&);
extern template std::shared_ptr<const Backend<double>> backend_of<double>(const std::string&);

}  // namespace costate
