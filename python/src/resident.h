// Arrays that stay on a GPU, as addresses: costate/gpu.py reads shapes and makes results,
// costate/cuda/resident.h runs them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <string>

namespace costate::python {

namespace nb = nanobind;

// A row for each world, or one row that all worlds share. Address 0: not given.
struct Address {
  std::uintptr_t at = 0;
  bool shared = false;
};

// One call: inputs, and what a run of it reads or writes besides.
struct ResidentCall {
  std::int64_t worlds = 1;
  Address x0, u;
  std::map<std::size_t, Address> parameters;  // by field
  std::uintptr_t stream = 0;
};

// Where final state and kept states, or their cotangents, lie.
struct ResidentStates {
  std::uintptr_t final_state = 0, states = 0;
};

// Where the cotangents of the inputs go.
struct ResidentBars {
  std::uintptr_t x0 = 0, u = 0;
  std::map<std::size_t, std::uintptr_t> parameters;
};

}  // namespace costate::python
