// The host in the role of a GPU: memory of its own, which holds garbage when it is new, and kernels as loops.
// What DeviceBlock and the threads do is tested with it in every build; on a GPU the same tests run again.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

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
  mutable std::atomic<std::int64_t> allocated = 0, fetched = 0;        // bytes, since it is there

  explicit HostDevice(int index = 0) : index_(index) {}
  std::string name() const override { return "host:" + std::to_string(index_); }
  std::int64_t free_bytes() const override { return memory; }
  void enter() const override {}
  void* allocate(std::int64_t bytes) const override {
    allocated += bytes;
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

  // What is sent arrives when it has to, and not before: who reads or overwrites it too early finds garbage.
  void* allocate_on_host(std::int64_t bytes) const override {
    return std::memset(std::malloc(std::size_t(bytes)), 0xff, std::size_t(bytes));
  }
  void release_on_host(void* block) const noexcept override {
    sent();
    std::free(block);
  }
  void send(void* to_host, const void* from, std::int64_t bytes) const override {
    const std::lock_guard lock(mutex_);
    on_the_way_.push_back({to_host, from, bytes});
  }
  void sent() const override {
    const std::lock_guard lock(mutex_);
    for (const auto& [to, from, bytes] : std::exchange(on_the_way_, {})) download(to, from, bytes);
  }
  void fetch(void* to, const void* from_host, std::int64_t bytes) const override {
    fetched += bytes;
    upload(to, from_host, bytes);
  }

 private:
  struct Sent {
    void* to;
    const void* from;
    std::int64_t bytes;
  };
  int index_;
  mutable std::mutex mutex_;
  mutable std::vector<Sent> on_the_way_;
};

// "host:<index>", as rollouts have it.
const HostDevice& host_device(int index);

}  // namespace costate::test
