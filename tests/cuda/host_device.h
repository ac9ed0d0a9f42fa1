// The host in the role of a GPU: memory of its own, which holds garbage when it is new, and kernels as loops.
// What DeviceBlock and the threads do is tested with it in every build; on a GPU the same tests run again.
#pragma once

#include <cstdlib>
#include <cstring>
#include <limits>

#include "costate/core/parallel.h"
#include "costate/cuda/device.h"

namespace costate::test {

struct HostExec {
  template <class Body>
  void launch(std::int64_t count, const Body& body) const {
    parallel_for(count, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    });
  }
  template <class Body>
  void launch_cells(int nx, int ny, const Body& body) const {
    parallel_for(ny, 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j)
        for (int i = 0; i < nx; ++i) body(i, int(j));
    });
  }
};

class HostDevice final : public cuda::Device {
 public:
  std::int64_t memory = std::numeric_limits<std::int64_t>::max() / 2;  // that it says is free

  std::string name() const override { return "host:0"; }
  std::int64_t free_bytes() const override { return memory; }
  void enter() const override {}
  void* allocate(std::int64_t bytes) const override {
    return std::memset(std::malloc(std::size_t(bytes)), 0xff, std::size_t(bytes));
  }
  void release(void* block) const noexcept override { std::free(block); }
  void upload(void* to, const void* from, std::int64_t bytes) const override {
    std::memcpy(to, from, std::size_t(bytes));
  }
  void download(void* to, const void* from, std::int64_t bytes) const override {
    std::memcpy(to, from, std::size_t(bytes));
  }
  void copy(void* to, const void* from, std::int64_t bytes) const override {
    std::memcpy(to, from, std::size_t(bytes));
  }
  void zero(void* to, std::int64_t bytes) const override { std::memset(to, 0, std::size_t(bytes)); }
  void finish(const std::string&) const override {}
};

}  // namespace costate::test
