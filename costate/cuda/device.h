// Device: memory that the host cannot read, and the order to wait for it. A GPU (cuda_device.cu), or in tests
// the host in the role of one (tests/cuda/host_device.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace costate::cuda {

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "cuda:0"
  virtual std::int64_t free_bytes() const = 0;

  // Makes this device the calling thread's. Before anything else that a thread asks of it.
  virtual void enter() const = 0;
  virtual void* allocate(std::int64_t bytes) const = 0;
  virtual void release(void* memory) const noexcept = 0;
  // These wait until the copy has been made.
  virtual void upload(void* to, const void* from, std::int64_t bytes) const = 0;
  virtual void download(void* to, const void* from, std::int64_t bytes) const = 0;
  // These do not wait.
  virtual void copy(void* to, const void* from, std::int64_t bytes) const = 0;
  virtual void zero(void* to, std::int64_t bytes) const = 0;
  // Waits for everything launched so far. `doing` completes "cannot ...".
  virtual void finish(const std::string& doing) const = 0;
  // What is launched next waits for what `stream` of another library holds; and the other way round. The host
  // does not wait.
  virtual void wait_for(void* /*stream*/) const {}
  virtual void hold_back(void* /*stream*/) const {}

  // Memory of the host for send() and fetch(), which do not wait for what they copy. What send() reads on the
  // device must not change until sent(): what is launched after that comes after all copies.
  virtual void* allocate_on_host(std::int64_t bytes) const = 0;
  virtual void release_on_host(void* memory) const noexcept = 0;
  virtual void send(void* to_host, const void* from, std::int64_t bytes) const = 0;
  virtual void sent() const = 0;
  virtual void fetch(void* to, const void* from_host, std::int64_t bytes) const = 0;
};

// Numbers on a device: not initialised, kept for reuse. Growing drops the content.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const Device& device) : device_(&device) {}
  DeviceArray(DeviceArray&& other) noexcept
      : device_(other.device_),
        data_(std::exchange(other.data_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(device_, other.device_), std::swap(data_, other.data_), std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~DeviceArray() {
    if (data_) device_->release(data_);
  }

  void reserve(std::int64_t size) {
    if (size <= capacity_) return;
    if (data_) device_->release(std::exchange(data_, nullptr));
    capacity_ = 0;
    data_ = static_cast<T*>(device_->allocate(size * std::int64_t(sizeof(T))));
    capacity_ = size;
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t bytes() const { return capacity_ * std::int64_t(sizeof(T)); }

  void upload(const T* from, std::int64_t count) {
    reserve(count);
    if (count > 0) device_->upload(data_, from, count * std::int64_t(sizeof(T)));
  }
  void download(T* to, std::int64_t count) const {
    if (count > 0) device_->download(to, data_, count * std::int64_t(sizeof(T)));
  }
  std::vector<T> download(std::int64_t count) const {
    std::vector<T> to(static_cast<std::size_t>(count));
    download(to.data(), count);
    return to;
  }
  void copy(const T* from, std::int64_t count) {
    if (count > 0) device_->copy(data_, from, count * std::int64_t(sizeof(T)));
  }
  void zero(std::int64_t count) {
    reserve(count);
    if (count > 0) device_->zero(data_, count * std::int64_t(sizeof(T)));
  }

 private:
  const Device* device_;
  T* data_ = nullptr;
  std::int64_t capacity_ = 0;
};

// Bytes of the host that a device copies to and from: not initialised, kept for reuse.
class HostBytes {
 public:
  explicit HostBytes(const Device& device) : device_(device) {}
  HostBytes(const HostBytes&) = delete;
  HostBytes& operator=(const HostBytes&) = delete;
  ~HostBytes() {
    if (data_) device_.release_on_host(data_);
  }
  void reserve(std::int64_t bytes) {
    if (bytes <= capacity_) return;
    if (data_) device_.release_on_host(std::exchange(data_, nullptr));
    capacity_ = 0;
    data_ = static_cast<char*>(device_.allocate_on_host(bytes));
    capacity_ = bytes;
  }
  char* data() { return data_; }
  std::int64_t bytes() const { return capacity_; }

 private:
  const Device& device_;
  char* data_ = nullptr;
  std::int64_t capacity_ = 0;
};

}  // namespace costate::cuda
