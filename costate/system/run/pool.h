// Pool: things that are dear to make and that one thread uses at a time, kept for the next one who asks.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace costate {

template <class T>
class Pool {
 public:
  explicit Pool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}

  std::unique_ptr<T> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto thing = std::move(idle_.back());
        idle_.pop_back();
        return thing;
      }
    }
    return make_();
  }
  void give_back(std::unique_ptr<T> thing) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(thing));
  }

 private:
  std::function<std::unique_ptr<T>()> make_;
  std::vector<std::unique_ptr<T>> idle_;
  std::mutex mutex_;
};

}  // namespace costate
